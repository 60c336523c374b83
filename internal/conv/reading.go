package conv

import (
	"context"

	"github.com/pleat-dev/pleat/transcript"
)

// Reading reads messages for one page or one search. It keeps the first error, so that code which
// looks through hundreds of blocks need not ask each time. With an error nothing that was made of them
// is given out.
type Reading struct {
	Ctx  context.Context
	From interface {
		Facts() transcript.Facts
		Message(ctx context.Context, i int) (transcript.Message, error)
	}
	Err error
}

// Message reads message i, or returns one with empty blocks.
func (r *Reading) Message(i int) transcript.Message {
	m, err := r.From.Message(r.Ctx, i)
	if err == nil {
		return m
	}
	if r.Err == nil {
		r.Err = err
	}
	return r.From.Facts().Blank(i)
}

// Block returns a block, or an empty one.
func (r *Reading) Block(ref transcript.BlockRef) transcript.Block {
	return r.Message(ref.Message).Blocks().At(ref.Block)
}
