package wire

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/sse"
	"github.com/pleat-dev/pleat/model"
)

// DefaultLimit is how many bytes of an answer are kept unless a limit is set. It is far more
// than any model writes in one answer.
const DefaultLimit = 64 << 20

// The errors of a [Stream].
var (
	ErrTooLarge = errors.New("answer too large to record")
	// ErrEvent reports an event whose data is not JSON.
	ErrEvent = errors.New("read event")
)

// Stream reads the events of an answer whose bytes pass by, and counts what is kept of them. It is what
// the recorders of all formats have in common. It never fails the stream: Err has the first thing that
// went wrong.
type Stream struct {
	OnDelta func(model.Delta)                     // gets each piece of the answer; may be nil
	Limit   int                                   // bytes of memory for the answer; 0: [DefaultLimit]
	Event   func(raw []byte, data jsonspan.Value) // takes an event whose data is JSON
	Answer  model.Reply                           // what is known of it without its messages
	Over    bool                                  // the provider has ended the answer
	Err     error

	split sse.Splitter
	size  int // bytes kept
	ended bool
}

func (s *Stream) limit() int { return cmp.Or(max(s.Limit, 0), DefaultLimit) }

// Write takes the next bytes. After End, or an event above the limit, it does nothing.
func (s *Stream) Write(p []byte) (int, error) {
	if s.ended {
		return len(p), nil
	}
	s.split.Limit = s.limit()
	if err := s.split.Feed(p, s.event); err != nil {
		s.ended = true
		s.Fail(fmt.Errorf("%w: %w", ErrTooLarge, err))
	}
	return len(p), nil
}

// event takes an event, as long as nothing went wrong.
func (s *Stream) event(raw, data []byte) {
	switch v := jsonspan.Value(data); {
	case len(data) == 0 || s.Err != nil:
	case string(data) == "[DONE]":
		s.Over = true
	default:
		if err := v.Valid(jsonspan.Invalid); err != nil {
			s.Fail(fmt.Errorf("%w: %w", ErrEvent, err))
			return
		}
		s.Event(raw, v)
	}
}

// End takes the last event of a stream that closed without a final empty line. If that gives
// an [ErrEvent], the event was cut off and is ignored.
func (s *Stream) End() {
	if s.ended {
		return
	}
	s.ended = true
	before := s.Err
	if s.event(s.split.Rest()); errors.Is(s.Err, ErrEvent) {
		s.Err = before
	}
}

// Done reports whether the answer is over: the provider has ended it or sent an error.
func (s *Stream) Done() bool { return s.Over || s.Answer.Err != nil }

// Fail notes the first thing that went wrong.
func (s *Stream) Fail(err error) {
	if s.Err == nil {
		s.Err = err
	}
}

// Keep appends to what is kept, within the limit and as long as nothing went wrong.
func (s *Stream) Keep(dst []byte, piece string) []byte {
	if s.Err != nil || !s.Room(len(piece)) {
		return dst
	}
	return append(dst, piece...)
}

// Room takes n bytes of what may be kept, and reports whether there were that many left.
func (s *Stream) Room(n int) bool {
	s.size += n
	if s.size > s.limit() {
		s.Fail(fmt.Errorf("%w: more than %d bytes", ErrTooLarge, s.limit()))
	}
	return s.size <= s.limit()
}

// Finish completes the reply that was made of the stream. An error that the provider sent
// inside the stream is an answer; a stream without an end is not.
func (s *Stream) Finish(r model.Reply) (model.Reply, error) {
	switch {
	case s.Err != nil:
		return r, fmt.Errorf("record answer: %w", s.Err)
	case !s.Over && r.Err == nil:
		return r, fmt.Errorf("record answer: the stream broke off: %w", io.ErrUnexpectedEOF)
	}
	return r, nil
}
