package exchange

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// mostTries is how often a request whose session changes meanwhile is tried.
const mostTries = 20

// begin finds the session of a request, brings it up to date and makes the request that goes out.
// The turn is nil, without an error, for a new conversation while the proxy is draining. With
// resume it goes on with hidden rounds of the same request whose answer did not end.
//
// A session that changed meanwhile, because another replica wrote to it, or because it was deleted
// or could not be stored, is tried again, at most mostTries times.
func (rw *Rewriter) begin(ctx context.Context, req request, resume bool) (*turn, error) {
	unstored := false
	for try := 1; ; try++ {
		key, known, err := rw.locate(ctx, req)
		if err != nil || !known && rw.draining.Load() {
			return nil, err
		}
		t, c, err := rw.enter(ctx, key, req, resume)
		if err == nil || c == nil || try == mostTries {
			return t, err
		}
		switch _, failed := c.behind.Ahead(); {
		case errors.Is(err, store.ErrNotFound):
			rw.pool.lost(c)
		case errors.Is(err, store.ErrConflict):
		case failed == nil || unstored:
			return nil, err
		default:
			unstored = true // the session is read anew, and gets what could not be written from this request
		}
	}
}

// enter takes a request to the first session that takes it, beginning at key. A session that has gone
// another way sends it on, to the one that has the next answer or to a fork; none gets it twice,
// and a new fork takes it. The conversation is the last that was tried, nil if that could not be opened.
func (rw *Rewriter) enter(
	ctx context.Context, key store.SessionKey, req request, resume bool,
) (*turn, *conversation, error) {
	for left := make(map[store.SessionKey]bool); !left[key]; {
		left[key] = true
		c, err := rw.open(ctx, key, req)
		if err != nil {
			return nil, nil, err
		}
		t, p, err := rw.rewrite(ctx, c, req, resume)
		if errors.Is(err, lineage.ErrDiverged) {
			if key, err = rw.findOther(ctx, c, p, req); err == nil {
				req.report.Forked = req.report.Forked || key != rw.following(req)
				continue
			}
		}
		return t, c, err
	}
	return nil, nil, lineage.ErrDiverged
}

// locate finds the session with the longest prefix of the conversation, or names a new
// one. The store may know a longer prefix than the sessions in memory: from a session that
// is no longer there, or from another replica.
func (rw *Rewriter) locate(ctx context.Context, req request) (key store.SessionKey, known bool, err error) {
	if err := rw.pool.written(ctx, false); err != nil {
		return key, false, err
	}
	c, size, newest := rw.pool.lookup(req.from.Scope, req.Prefixes)
	if c != nil {
		if ahead, failed := c.behind.Ahead(); ahead && failed == nil {
			// Nobody else can know more of a request that follows at once on an answer of this replica
			// which the store does not have yet. Otherwise another replica may have answered meanwhile:
			// what is on its way to the store has to be there before anything is looked up.
			if newest.Client == size && newest.LeadsTo(req.Request) {
				return c.key, true, nil
			}
			_ = c.behind.Wait(ctx) // if that fails, the session is read anew
			if ctx.Err() != nil {
				return key, false, ctx.Err()
			}
		}
	}
	key, err = rw.archive.Longest(ctx, req.from.Scope, req.Prefixes, size)
	switch {
	case err != nil || key != store.SessionKey{}:
		return key, err == nil, err
	case c != nil:
		return c.key, true, nil
	}
	if key, err = rw.archive.First(ctx, req.from.Scope, req.Request); err != nil || key != (store.SessionKey{}) {
		return key, err == nil, err
	}
	return req.from.Scope.NewSession(req.Request), false, nil
}

// following returns the session whose newest answer a request follows on at once. Once a run that
// is sent again has a fork, its next requests go on there, though an older session has them, too.
func (rw *Rewriter) following(req request) (key store.SessionKey) {
	n := lineage.LastAnswer(req.Messages)
	for n > 0 && lineage.IsAnswer(req.Messages[n-1]) {
		n--
	}
	c, size, newest := rw.pool.lookup(req.from.Scope, req.Prefixes[:n])
	if c != nil && newest.Client == size && newest.LeadsTo(req.Request) {
		return c.key
	}
	return store.SessionKey{}
}

// open returns the conversation from memory or opens it.
func (rw *Rewriter) open(ctx context.Context, key store.SessionKey, req request) (*conversation, error) {
	if c := rw.pool.get(key); c != nil {
		if _, err := c.behind.Ahead(); err == nil {
			return c, nil
		}
		rw.pool.lost(c)
	}
	c, err := rw.newConversation(ctx, key)
	if err != nil {
		return nil, err
	}
	if c.track.Mode.Recall == "" {
		if err := rw.pool.written(ctx, true); err != nil { // it may continue one of them
			return nil, err
		}
		before, err := rw.archive.Before(ctx, req.from, req.Request)
		if err != nil {
			return nil, err
		}
		if before != nil && before.Key != key {
			c.track.Before = before.Key
		}
		c.track.Mode = rw.o.newMode(req, before).Free(req.Request)
		if why := c.track.Mode.Why; why != "" {
			const text = "a conversation is folded only where it must be: its model cannot ask for what is folded"
			rw.o.Logger.Warn(text, "session", key.String(), "why", why)
		}
		if c.pages, err = rw.pages(ctx, before, req, c.track.Mode.Prefix); err != nil {
			rw.o.Logger.Warn("there is no page of what the client has compacted", "session", key.String(), "err", err)
		}
	}
	if err := rw.start(ctx, c, req); err != nil {
		return nil, err
	}
	return rw.pool.keep(c, req.from.Scope), nil
}

// Close closes all sessions and waits for what they do in the background. Then it closes the unused
// connections of a transport of its own.
func (rw *Rewriter) Close() error {
	rw.pool.close()
	rw.closing.Wait()
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	err := rw.book.Wait(ctx)
	if rw.o.OwnTransport {
		(&http.Client{Transport: rw.o.Transport}).CloseIdleConnections()
	}
	return err
}

// findOther finds the session of a request whose own has gone on without it: the one that has its next
// answer, or a fork.
func (rw *Rewriter) findOther(
	ctx context.Context, c *conversation, p lineage.Place, req request,
) (store.SessionKey, error) {
	if p.Mark.Client == len(req.Messages) {
		if next := rw.following(req); next != (store.SessionKey{}) && next != c.key {
			return next, nil
		}
	}
	if p.Holder != (store.SessionKey{}) {
		return p.Holder, nil
	}
	return rw.fork(ctx, c, p, req)
}

// fork makes a session for a conversation that went another way than the session it was
// found in: the same up to the last request that they share, or to the answer to it, if it
// has hidden rounds.
func (rw *Rewriter) fork(
	ctx context.Context, c *conversation, p lineage.Place, req request,
) (store.SessionKey, error) {
	upTo, err := lineage.Shared(ctx, c.behind, c.key, p.Seq)
	if err != nil {
		return store.SessionKey{}, err
	}
	key := req.from.Scope.Fork(c.key, upTo, p, req.Request)
	if upTo == 0 { // they share no request: a conversation that was never finished has taken the name
		return key, nil
	}
	codecs := map[transcript.Format]transcript.Codec{req.Protocol.Format: req.Protocol.Codec}
	if err := pleat.Fork(ctx, rw.o.Store, c.key, upTo, key, codecs); err != nil && !errors.Is(err, store.ErrConflict) {
		return store.SessionKey{}, err
	}
	return key, nil
}
