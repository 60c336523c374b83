package exchange

import (
	"context"
	"time"

	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

// locate finds the session with the longest prefix of the conversation, or names a new
// one. The store may know a longer prefix than the sessions in memory: from a session that
// is no longer there, or from another replica.
func (rw *Rewriter) locate(
	ctx context.Context, from lineage.Caller, req *protocol.Request,
) (key store.SessionKey, known bool, err error) {
	if err := rw.pool.written(ctx, false); err != nil {
		return key, false, err
	}
	inMemory, size := rw.pool.lookup(from.Scope, req.Prefixes)
	if follows, err := rw.follows(ctx, inMemory, size, req); follows || err != nil {
		return inMemory, follows, err
	}
	key, err = rw.archive.Longest(ctx, from.Scope, req.Prefixes, size)
	switch none := (store.SessionKey{}); {
	case err != nil || key != none:
		return key, err == nil, err
	case size > 0:
		return inMemory, true, nil
	}
	return from.Scope.NewSession(req), false, nil
}

// follows reports whether a request, of which the conversation in memory knows size messages,
// follows at once on an answer of this replica that the store does not have yet: then nobody
// else can know more. Otherwise another replica may have answered meanwhile, and what is on
// its way to the store has to be there before anything is looked up.
func (rw *Rewriter) follows(ctx context.Context, key store.SessionKey, size int, req *protocol.Request) (bool, error) {
	c := rw.pool.get(key)
	if c == nil {
		return false, nil
	}
	newest := rw.pool.newest(key)
	ahead, err := c.behind.Ahead()
	if !ahead || err != nil {
		return false, nil
	}
	if newest.Client == size && newest.LeadsTo(req) {
		return true, nil
	}
	_ = c.behind.Wait(ctx) // if that fails, the session is read anew
	return false, ctx.Err()
}

// following returns the session whose newest answer a request follows on at once. Once a run that
// is sent again has a fork, its next requests go on there, though an older session has them, too.
func (rw *Rewriter) following(s lineage.Scope, req *protocol.Request) (key store.SessionKey) {
	key, size := rw.pool.lookup(s, req.Prefixes[:len(req.Prefixes)-1])
	if newest := rw.pool.newest(key); newest.Client == size && newest.LeadsTo(req) {
		return key
	}
	return store.SessionKey{}
}

// open returns the conversation from memory or opens it.
func (rw *Rewriter) open(ctx context.Context, key store.SessionKey, req *protocol.Request, from lineage.Caller) (*conversation, error) {
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
	if c.track.Mode.Recall == "" {
		if err := rw.pool.written(ctx, true); err != nil { // it may continue one of them
			return nil, err
		}
		before, err := rw.archive.Before(ctx, from, req)
		if err != nil {
			return nil, err
		}
		if before != nil && before.Key != key {
			c.track.Before = before.Key
		}
		c.track.Mode = rw.o.newMode(req, before).Free(req)
		if c.pages, err = rw.pages(ctx, before, req, c.track.Mode.Prefix); err != nil {
			rw.o.Logger.Warn("there is no page of what the client has compacted", "session", key.String(), "err", err)
		}
	} else {
		c.track.Rename(c.track.Mode.Free(req)) // its client may have tools by names of ours since
	}
	if err := rw.start(ctx, c, req, from); err != nil {
		return nil, err
	}
	return rw.pool.keep(c, from.Scope), nil
}

// Close closes all sessions and waits for what they do in the background.
func (rw *Rewriter) Close() error {
	rw.pool.close()
	rw.closing.Wait()
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	return rw.book.Wait(ctx)
}
