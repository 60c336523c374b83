package pleat

import (
	"context"
	"reflect"

	"github.com/pleat-dev/pleat/transcript"
)

// MeasureStretch measures a stretch as planning does.
func MeasureStretch(s *Session, start, end int) (h transcript.Hash, bytes, lines int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, bytes, lines, err := s.st.Measure(context.Background(), start, end)
	if err != nil {
		panic(err)
	}
	return h, bytes, lines
}

// RenderStretch is the text that unfolding a stretch shows.
func RenderStretch(s *Session, start, end int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := s.st.RenderText(context.Background(), start, end)
	if err != nil {
		panic(err)
	}
	return text
}

// HoldsPlan reports whether the session holds what the last plan's pages were made from.
func HoldsPlan(s *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return reflect.ValueOf(s.pages).Elem().FieldByName("stretches").Len() > 0
}

// Follow does what Sync does, but leaves s where it is, and returns the session that has the history.
func Follow(ctx context.Context, s *Session, history []Message) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := readHistory(history)
	if err != nil {
		return s, err
	}
	next, _, err := s.followLocked(ctx, h)
	return next, err
}
