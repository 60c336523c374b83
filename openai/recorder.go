package openai

import (
	"errors"
	"fmt"
	"io"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/sse"
)

// DefaultLimit is how many bytes of an answer a recorder keeps if it is not told.
const DefaultLimit = 64 << 20

// ErrTooLarge reports an answer above a recorder's limit.
var ErrTooLarge = errors.New("answer too large to record")

// stream is what the two recorders have in common: reading events, without ever
// failing the stream that they are read from.
type stream struct {
	parser sse.Parser
	size   int   // bytes kept
	limit  int   // how many may be
	err    error // why nothing is collected any more
	ended  bool
}

// write feeds bytes of the stream.
func (st *stream) write(p []byte, limit int, event func(data []byte)) {
	if st.err != nil || st.ended {
		return
	}
	if st.parser.OnEvent == nil {
		if limit <= 0 {
			limit = DefaultLimit
		}
		st.limit = limit
		st.parser.Limit = limit
		st.parser.OnEvent = func(ev sse.Event) { st.event(ev, event) }
	}
	if _, err := st.parser.Write(p); err != nil {
		st.fail(fmt.Errorf("%w: %w", ErrTooLarge, err))
	}
}

func (st *stream) event(ev sse.Event, event func(data []byte)) {
	if st.err == nil {
		event(ev.Data)
	}
}

// end takes the last event of a stream that closed without an empty line behind it.
func (st *stream) end(event func(data []byte)) {
	if st.ended {
		return
	}
	st.ended = true
	if ev, ok := st.parser.Pending(); ok && st.err == nil {
		st.event(ev, event)
		if errors.Is(st.err, errEvent) {
			st.err = nil // it was cut off, as streams are
		}
	}
}

// errEvent says that the data of an event is not what it should be.
var errEvent = errors.New("read event")

func (st *stream) fail(err error) {
	if st.err == nil {
		st.err = err
	}
}

// room takes n bytes of what may be kept, if there are as many left.
func (st *stream) room(n int) bool {
	if st.size += n; st.size > st.limit {
		st.fail(fmt.Errorf("%w: more than %d bytes", ErrTooLarge, st.limit))
	}
	return st.err == nil
}

// keep appends to what is kept, within the limit.
func (st *stream) keep(dst []byte, piece string) []byte {
	if !st.room(len(piece)) {
		return dst
	}
	return append(dst, piece...)
}

// result completes a reply: an error inside the stream is an answer, a stream without
// an end is not.
func (st *stream) result(r pleat.Reply, complete bool) (pleat.Reply, error) {
	switch {
	case st.err != nil:
		return r, fmt.Errorf("record answer: %w", st.err)
	case !complete && r.Err == nil:
		return r, fmt.Errorf("record answer: the stream broke off: %w", io.ErrUnexpectedEOF)
	}
	return r, nil
}
