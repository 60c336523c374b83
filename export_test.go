package pleat

import (
	"reflect"

	"github.com/pleat-dev/pleat/transcript"
)

// MeasureStretch measures a stretch as planning does.
func MeasureStretch(s *Session, start, end int) (h transcript.Hash, bytes, lines int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.Measure(start, end)
}

// RenderStretch is the text that unfolding a stretch shows.
func RenderStretch(s *Session, start, end int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.RenderText(start, end)
}

// HoldsPlan reports whether the session holds what the last plan's pages were made from.
func HoldsPlan(s *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return reflect.ValueOf(s.miner).Elem().FieldByName("stretches").Len() > 0
}
