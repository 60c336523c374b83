package openai

import (
	"fmt"
	"io"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
)

// DefaultLimit is how many bytes of an answer a recorder keeps if it is not told.
const DefaultLimit = wire.DefaultLimit

// ErrTooLarge reports an answer above a recorder's limit.
var ErrTooLarge = wire.ErrTooLarge

// stream is what the two recorders have in common. Nothing is collected any more after
// something went wrong.
type stream struct{ wire.Stream }

// keep appends to what is kept, within the limit.
func (st *stream) keep(dst []byte, piece string) []byte {
	if st.Err != nil || !st.Room(len(piece)) {
		return dst
	}
	return append(dst, piece...)
}

// result completes a reply: an error inside the stream is an answer, a stream without
// an end is not.
func (st *stream) result(r model.Reply, complete bool) (model.Reply, error) {
	switch {
	case st.Err != nil:
		return r, fmt.Errorf("record answer: %w", st.Err)
	case !complete && r.Err == nil:
		return r, fmt.Errorf("record answer: the stream broke off: %w", io.ErrUnexpectedEOF)
	}
	return r, nil
}
