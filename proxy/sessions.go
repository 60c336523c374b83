package proxy

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/behind"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// lookup finds the session in memory with the longest prefix of a conversation, and the
// length of that prefix; 0: none.
func (rw *rewriter) lookup(s scope, prefixes []transcript.Hash) (key store.SessionKey, size int) {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	for i, h := range slices.Backward(prefixes) {
		if key, ok := rw.index[indexKey{s, h}]; ok {
			return key, i + 1
		}
	}
	return key, 0
}

// locate finds the session with the longest prefix of the conversation, or names a new
// one. The store may know a longer prefix than the sessions in memory: from a session that
// is no longer there, or from another replica.
func (rw *rewriter) locate(
	ctx context.Context, from caller, req *request,
) (key store.SessionKey, known bool, err error) {
	prefixes := req.prefixes
	if err := rw.written(ctx, false); err != nil {
		return key, false, err
	}
	inMemory, least := rw.lookup(from.scope, prefixes)
	if follows, err := rw.follows(ctx, inMemory, least, req); follows || err != nil {
		return inMemory, follows, err
	}
	for end, size := len(prefixes), 32; end > least; size *= 8 {
		start := max(end-size, least)
		labels := make([]string, 0, end-start)
		for _, h := range prefixes[start:end] {
			labels = append(labels, from.scope.label(h))
		}
		found, err := rw.o.Store.Find(ctx, from.scope.tenant, store.EntryPrefix, labels...)
		if err != nil {
			return key, false, fmt.Errorf("find conversation: %w", err)
		}
		best := -1
		for _, f := range found {
			if i := slices.Index(labels, f.Entry.Label); i > best {
				best, key = i, f.Key
			}
		}
		if best >= 0 {
			return key, true, nil
		}
		end = start
	}
	if least > 0 {
		return inMemory, true, nil
	}
	name := short(from.scope.label(prefixes[len(prefixes)-1]))
	return store.SessionKey{Tenant: from.scope.tenant, Session: name}, false, nil
}

// follows reports whether a request, of which the conversation in memory knows size messages,
// follows at once on an answer of this replica that the store does not have yet: then nobody
// else can know more. Otherwise another replica may have answered meanwhile, and what is on
// its way to the store has to be there before anything is looked up.
func (rw *rewriter) follows(ctx context.Context, key store.SessionKey, size int, req *request) (bool, error) {
	c := rw.inMemory(key)
	if c == nil {
		return false, nil
	}
	rw.mu.Lock()
	newest := c.newest
	rw.mu.Unlock()
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

// written waits until what has left memory is in the store; with all, also what has not. What
// could not be written is as if it had not been sent.
func (rw *rewriter) written(ctx context.Context, all bool) error {
	rw.mu.Lock()
	list := slices.Collect(maps.Keys(rw.leaving))
	for e := rw.recent.Front(); all && e != nil; e = e.Next() {
		list = append(list, e.Value.(*conversation))
	}
	rw.mu.Unlock()
	for _, c := range list {
		if err := c.behind.Wait(ctx); ctx.Err() != nil {
			return err
		}
	}
	return nil
}

func (rw *rewriter) inMemory(key store.SessionKey) *conversation {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	e, ok := rw.sessions[key]
	if !ok {
		return nil
	}
	rw.recent.MoveToFront(e)
	return e.Value.(*conversation)
}

// open returns the conversation from memory or opens it.
func (rw *rewriter) open(ctx context.Context, key store.SessionKey, req *request, from caller) (*conversation, error) {
	if c := rw.inMemory(key); c != nil {
		if _, err := c.behind.Ahead(); err == nil {
			return c, nil
		}
		rw.lost(c)
	}
	c, err := rw.stored(ctx, key, rw.o.Store)
	if err != nil {
		return nil, err
	}
	if c.mode.Recall == "" {
		if err := rw.written(ctx, true); err != nil { // it may continue one of them
			return nil, err
		}
		before, err := rw.before(ctx, from, req)
		if err != nil {
			return nil, err
		}
		if before != nil && before.key != key {
			c.before = before.key
		}
		c.mode = rw.o.newMode(req, before).free(req)
		if c.pages, err = rw.pages(ctx, before, req, c.mode.Prefix); err != nil {
			rw.o.Logger.Warn("there is no page of what the client has compacted", "session", key.String(), "err", err)
		}
	} else {
		c.rename(c.mode.free(req)) // its client may have tools by names of ours since
	}
	if err := rw.start(ctx, c, req, from); err != nil {
		return nil, err
	}
	return rw.keep(c, from.scope), nil
}

// stored reads what a store has of a conversation, without its session.
func (rw *rewriter) stored(ctx context.Context, key store.SessionKey, st store.Store) (*conversation, error) {
	c := &conversation{
		key: key, marks: make(map[transcript.Hash]mark),
		replies: make(map[int]reply), hidden: make(map[int]transcript.Message),
	}
	c.behind = behind.New(st, rw.closing.Go, func(err error) {
		const text = "what a client sent could not be stored; it is read again with its next request"
		rw.o.Logger.Warn(text, "session", key.String(), "err", err)
	})
	if err := c.load(ctx, math.MaxUint64); err != nil {
		return nil, fmt.Errorf("open conversation: %w", err)
	}
	return c, nil
}

// keep puts a conversation into memory, and drops the least recently used one. If another
// request was faster, its conversation is returned: two of them would write past each other.
func (rw *rewriter) keep(c *conversation, s scope) *conversation {
	c.publish() // nobody else has it yet
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if e, ok := rw.sessions[c.key]; ok {
		other := e.Value.(*conversation)
		if _, err := other.behind.Ahead(); err == nil {
			rw.closing.Go(func() { _ = c.sess.Close() }) // it only waits
			return other
		}
		rw.drop(e)
	}
	rw.sessions[c.key] = rw.recent.PushFront(c)
	c.sum = &rw.weight
	c.sum.Add(c.weight.Load())
	bySeq := func(a, b transcript.Hash) int { return cmp.Compare(c.marks[a].seq, c.marks[b].seq) }
	for _, h := range slices.SortedFunc(maps.Keys(c.marks), bySeq) {
		rw.remember(c, indexKey{s, h})
	}
	for rw.recent.Len() > rw.o.Sessions {
		rw.drop(rw.recent.Back())
	}
	return c
}

// lost takes a conversation out of memory that has what the store has not: it is read anew
// with its next request.
func (rw *rewriter) lost(c *conversation) {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if e, held := rw.sessions[c.key]; held && e.Value == any(c) {
		rw.drop(e)
	}
}

// drop takes a conversation out of memory and closes its session, without waiting for
// that. Requests that are under way can still use it. The caller holds the lock.
func (rw *rewriter) drop(e *list.Element) {
	old := rw.recent.Remove(e).(*conversation)
	rw.weight.Add(-old.weight.Swap(-1))
	rw.leaving[old] = true
	rw.closing.Go(func() {
		_ = old.behind.Wait(context.Background()) // its error is logged
		rw.mu.Lock()
		delete(rw.leaving, old)
		rw.mu.Unlock()
		old.mu.Lock()
		sess := old.sess
		old.mu.Unlock()
		_ = sess.Close() // it only waits
	})
	delete(rw.sessions, old.key)
	rw.forget(old, len(old.indexed))
}

// indexed is how many prefixes of a conversation the index holds: a client that goes back
// further than that is found through the store.
const indexed = 256

// remember puts a prefix of a conversation into the index. The caller holds the lock.
func (rw *rewriter) remember(c *conversation, k indexKey) {
	if rw.index[k] == c.key {
		return
	}
	rw.index[k] = c.key
	c.indexed = append(c.indexed, k)
	rw.forget(c, len(c.indexed)-indexed)
}

// forget takes the n oldest prefixes of a conversation out of the index.
func (rw *rewriter) forget(c *conversation, n int) {
	for ; n > 0; n-- {
		if k := c.indexed[0]; rw.index[k] == c.key {
			delete(rw.index, k)
		}
		c.indexed = c.indexed[1:]
	}
}

// close closes all sessions and waits for what they do in the background.
func (rw *rewriter) close() error {
	rw.mu.Lock()
	for e := rw.recent.Front(); e != nil; e = rw.recent.Front() {
		rw.drop(e)
	}
	rw.mu.Unlock()
	rw.closing.Wait()
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	return rw.book.Wait(ctx)
}

// SessionStatus describes a session that a proxy has in memory, as of the last time that
// a request finished a step with it. Reading it never waits for a model or a store.
type SessionStatus struct {
	Key      store.SessionKey
	Model    string
	Recall   RecallMode
	Last     time.Time // when its last request came
	Messages int       // of the transcript
	Folds    int       // in force or not
	Snapshot fold.Snapshot
	Spent    float64 // USD, by the price list
}

// Drain lets conversations end: known ones continue as before, new ones pass unchanged
// and are not kept. A proxy that is stopped after that leaves no client with a history
// that no longer fits. It cannot be undone.
func (h *Handler) Drain() { h.rw.draining.Store(true) }

// Draining reports whether [Handler.Drain] was called.
func (h *Handler) Draining() bool { return h.rw.draining.Load() }

// Sessions lists the sessions in memory, the one used last first.
func (h *Handler) Sessions() []SessionStatus {
	rw := h.rw
	rw.mu.Lock()
	out := make([]SessionStatus, 0, rw.recent.Len())
	for e := rw.recent.Front(); e != nil; e = e.Next() {
		out = append(out, *e.Value.(*conversation).status.Load())
	}
	rw.mu.Unlock()
	slices.SortStableFunc(out, func(a, b SessionStatus) int { return b.Last.Compare(a.Last) })
	return out
}
