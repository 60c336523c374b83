package wire

import (
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/sse"
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

// Stream reads the events of an answer whose bytes pass by, and counts what is kept of
// them. It never fails the stream: Err has the first thing that went wrong.
type Stream struct {
	Err error

	parser sse.Parser
	size   int // bytes kept
	limit  int // how many may be
	ended  bool
}

// Write takes the next bytes. The limit and the function for events are those of the first
// call; a limit of zero means [DefaultLimit]. After End it does nothing.
func (s *Stream) Write(p []byte, limit int, event func(sse.Event)) {
	if s.ended {
		return
	}
	if s.parser.OnEvent == nil {
		if s.limit = limit; limit <= 0 {
			s.limit = DefaultLimit
		}
		s.parser.Limit, s.parser.OnEvent = s.limit, event
	}
	if _, err := s.parser.Write(p); err != nil {
		s.Fail(fmt.Errorf("%w: %w", ErrTooLarge, err))
	}
}

// End takes the last event of a stream that closed without a final empty line. If that gives
// an [ErrEvent], the event was cut off and is ignored.
func (s *Stream) End(event func(sse.Event)) {
	if s.ended {
		return
	}
	s.ended = true
	if e, ok := s.parser.Pending(); ok {
		before := s.Err
		if event(e); errors.Is(s.Err, ErrEvent) {
			s.Err = before
		}
	}
}

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
	if s.size > s.limit {
		s.Fail(fmt.Errorf("%w: more than %d bytes", ErrTooLarge, s.limit))
	}
	return s.size <= s.limit
}
