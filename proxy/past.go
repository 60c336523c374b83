package proxy

import (
	"context"
	"iter"

	"github.com/pleat-dev/pleat/store"
)

// replay makes the turn of a request that came before and comes again after its session has gone
// on, as when a job is run again: the same bytes, from the session as it was then, without
// storing anything. Only an answer with hidden rounds, or a request that no longer fits, needs a
// fork; if the model says something else, the client's next request does. The turn is nil if the
// session has to store something before the request can go out.
func (rw *rewriter) replay(ctx context.Context, c *conversation, p position, req *request, from caller) *turn {
	upTo, err := rw.shared(ctx, c, p.mark.seq)
	if err != nil {
		return nil
	}
	was, err := rw.stored(ctx, c.key, past{rw.o.Store, upTo})
	if err != nil {
		return nil
	}
	was.past = true
	if err := rw.start(ctx, was, req, from); err != nil {
		return nil
	}
	t, _, err := rw.advance(ctx, was, req, from, false)
	if err != nil {
		return nil
	}
	return t
}

// past is a store in which a session ends with an entry, and takes no more.
type past struct {
	store.Store
	upTo uint64
}

func (p past) Append(context.Context, store.SessionKey, uint64, ...store.Entry) (uint64, error) {
	return 0, errMoved
}

func (p past) Scan(
	ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind,
) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range p.Store.Scan(ctx, key, from, kinds...) {
			if err == nil && e.Seq > p.upTo || !yield(e, err) {
				return
			}
		}
	}
}
