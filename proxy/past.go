package proxy

import (
	"context"
	"iter"

	"github.com/pleat-dev/pleat/store"
)

// apart finds the session of a request whose own has gone on without it: the one that has its next
// answer, or a fork. A request that came before, with resume, needs neither: it gets a turn.
func (rw *rewriter) apart(
	ctx context.Context, c *conversation, p position, req *request, from caller, resume bool,
) (*turn, store.SessionKey, error) {
	if p.mark.Client == len(req.messages) {
		if next := rw.following(from.scope, req); next != (store.SessionKey{}) && next != c.key {
			return nil, next, nil
		}
		if resume {
			if t := rw.replay(ctx, c, p, req, from); t != nil {
				return t, c.key, nil
			}
		}
	}
	if p.holder != (store.SessionKey{}) {
		return nil, p.holder, nil
	}
	next, err := rw.fork(ctx, c, p, req, from.scope)
	return nil, next, err
}

// following returns the session whose newest answer a request follows on at once. Once a run that
// is sent again has a fork, its next requests go on there, though an older session has them, too.
func (rw *rewriter) following(s scope, req *request) (key store.SessionKey) {
	key, size := rw.lookup(s, req.prefixes[:len(req.prefixes)-1])
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if e, held := rw.sessions[key]; held {
		if newest := e.Value.(*conversation).newest; newest.client == size && newest.leadsTo(req) {
			return key
		}
	}
	return store.SessionKey{}
}

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
