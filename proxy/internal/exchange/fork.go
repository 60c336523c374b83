package exchange

import (
	"context"
	"errors"
	"iter"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// elsewhere finds the session of a request whose own has gone on without it: the one that has its next
// answer, or a fork. A request that came before, with resume, needs neither: it gets a turn.
func (rw *Rewriter) elsewhere(
	ctx context.Context, c *conversation, p lineage.Place, req *protocol.Request, from lineage.Caller, resume bool,
) (*turn, store.SessionKey, error) {
	if p.Mark.Client == len(req.Messages) {
		if next := rw.following(from.Scope, req); next != (store.SessionKey{}) && next != c.key {
			return nil, next, nil
		}
		if resume {
			if t := rw.replay(ctx, c, p, req, from); t != nil {
				return t, c.key, nil
			}
		}
	}
	if p.Holder != (store.SessionKey{}) {
		return nil, p.Holder, nil
	}
	next, err := rw.fork(ctx, c, p, req, from.Scope)
	return nil, next, err
}

// fork makes a session for a conversation that went another way than the session it was
// found in: the same up to the last request that they share, or to the answer to it, if it
// has hidden rounds.
func (rw *Rewriter) fork(
	ctx context.Context, c *conversation, p lineage.Place, req *protocol.Request, s lineage.Scope,
) (store.SessionKey, error) {
	upTo, err := rw.shared(ctx, c, p.Seq)
	if err != nil {
		return store.SessionKey{}, err
	}
	key := s.Fork(c.key, upTo, p, req)
	if upTo == 0 { // they share no request: a conversation that was never finished has taken the name
		return key, nil
	}
	codecs := map[transcript.Format]transcript.Codec{req.Protocol.Format: req.Protocol.Codec}
	if err := pleat.Fork(ctx, rw.o.Store, c.key, upTo, key, codecs); err != nil && !errors.Is(err, store.ErrConflict) {
		return store.SessionKey{}, err
	}
	return key, nil
}

// shared is archive.shared once the mark is in the store.
func (rw *Rewriter) shared(ctx context.Context, c *conversation, mark uint64) (upTo uint64, err error) {
	if mark == 0 {
		return 0, nil
	}
	if err := c.behind.Wait(ctx); err != nil {
		return 0, err
	}
	return rw.archive.Shared(ctx, c.key, mark)
}

// replay makes the turn of a request that came before and comes again after its session has gone
// on, as when a job is run again: the same bytes, from the session as it was then, without
// storing anything. Only an answer with hidden rounds, or a request that no longer fits, needs a
// fork; if the model says something else, the client's next request does. The turn is nil if the
// session has to store something before the request can go out.
func (rw *Rewriter) replay(ctx context.Context, c *conversation, p lineage.Place, req *protocol.Request, from lineage.Caller) *turn {
	upTo, err := rw.shared(ctx, c, p.Mark.Seq)
	if err != nil {
		return nil
	}
	was, err := rw.newConversation(ctx, c.key, past{rw.o.Store, upTo})
	if err != nil {
		return nil
	}
	was.past = true
	if err := rw.start(ctx, was, req, from); err != nil {
		return nil
	}
	t, _, err := rw.rewrite(ctx, was, req, from, false)
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
	return 0, lineage.ErrDiverged
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
