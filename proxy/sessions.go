package proxy

import (
	"context"
	"time"

	"github.com/pleat-dev/pleat/store"
)

// locate finds the session with the longest prefix of the conversation, or names a new
// one. The store may know a longer prefix than the sessions in memory: from a session that
// is no longer there, or from another replica.
func (rw *rewriter) locate(
	ctx context.Context, from caller, req *request,
) (key store.SessionKey, known bool, err error) {
	if err := rw.pool.written(ctx, false); err != nil {
		return key, false, err
	}
	inMemory, size := rw.pool.lookup(from.scope, req.prefixes)
	if follows, err := rw.follows(ctx, inMemory, size, req); follows || err != nil {
		return inMemory, follows, err
	}
	key, err = rw.archive.longest(ctx, from.scope, req.prefixes, size)
	switch none := (store.SessionKey{}); {
	case err != nil || key != none:
		return key, err == nil, err
	case size > 0:
		return inMemory, true, nil
	}
	return from.scope.newSession(req), false, nil
}

// follows reports whether a request, of which the conversation in memory knows size messages,
// follows at once on an answer of this replica that the store does not have yet: then nobody
// else can know more. Otherwise another replica may have answered meanwhile, and what is on
// its way to the store has to be there before anything is looked up.
func (rw *rewriter) follows(ctx context.Context, key store.SessionKey, size int, req *request) (bool, error) {
	c := rw.pool.get(key)
	if c == nil {
		return false, nil
	}
	newest := rw.pool.newest(key)
	ahead, err := c.behind.Ahead()
	if !ahead || err != nil {
		return false, nil
	}
	if newest.client == size && newest.leadsTo(req) {
		return true, nil
	}
	_ = c.behind.Wait(ctx) // if that fails, the session is read anew
	return false, ctx.Err()
}

// following returns the session whose newest answer a request follows on at once. Once a run that
// is sent again has a fork, its next requests go on there, though an older session has them, too.
func (rw *rewriter) following(s scope, req *request) (key store.SessionKey) {
	key, size := rw.pool.lookup(s, req.prefixes[:len(req.prefixes)-1])
	if newest := rw.pool.newest(key); newest.client == size && newest.leadsTo(req) {
		return key
	}
	return store.SessionKey{}
}

// open returns the conversation from memory or opens it.
func (rw *rewriter) open(ctx context.Context, key store.SessionKey, req *request, from caller) (*conversation, error) {
	if c := rw.pool.get(key); c != nil {
		if _, err := c.behind.Ahead(); err == nil {
			return c, nil
		}
		rw.pool.lost(c)
	}
	c, err := rw.newConversation(ctx, key, rw.o.Store)
	if err != nil {
		return nil, err
	}
	if c.track.mode.Recall == "" {
		if err := rw.pool.written(ctx, true); err != nil { // it may continue one of them
			return nil, err
		}
		before, err := rw.archive.before(ctx, from, req)
		if err != nil {
			return nil, err
		}
		if before != nil && before.key != key {
			c.track.before = before.key
		}
		c.track.mode = rw.o.newMode(req, before).free(req)
		if c.pages, err = rw.pages(ctx, before, req, c.track.mode.Prefix); err != nil {
			rw.o.Logger.Warn("there is no page of what the client has compacted", "session", key.String(), "err", err)
		}
	} else {
		c.track.rename(c.track.mode.free(req)) // its client may have tools by names of ours since
	}
	if err := rw.start(ctx, c, req, from); err != nil {
		return nil, err
	}
	return rw.pool.keep(c, from.scope), nil
}

// close closes all sessions and waits for what they do in the background.
func (rw *rewriter) close() error {
	rw.pool.close()
	rw.closing.Wait()
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	return rw.book.Wait(ctx)
}
