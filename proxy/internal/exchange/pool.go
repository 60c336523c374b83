package exchange

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// pool holds the conversations in memory, and the prefixes that requests find them by. Its lock is
// never held while a model answers or a store writes, and no conversation's is taken under it.
type pool struct {
	most    int             // conversations
	closing *sync.WaitGroup // sessions that are being closed

	mu      sync.Mutex
	kept    map[store.SessionKey]*conversation
	uses    int                    // of all conversations
	leaving map[*conversation]bool // no longer there, but perhaps not yet in the store
	index   map[indexKey]*conversation
	weight  atomic.Int64 // of all conversations; written under the lock
}

// slot is what the pool knows of a conversation, under its own lock.
type slot struct {
	used    int        // what the pool had counted when the conversation was last used
	indexed []indexKey // oldest first
	newest  lineage.LastExchange
	status  Status
	weight  int64 // about how many bytes it takes
}

type indexKey struct {
	scope  lineage.Scope
	prefix transcript.Hash
}

func newPool(most int, closing *sync.WaitGroup) *pool {
	return &pool{
		most: most, closing: closing, kept: make(map[store.SessionKey]*conversation),
		leaving: make(map[*conversation]bool), index: make(map[indexKey]*conversation),
	}
}

// lookup finds the conversation in memory with the longest prefix of a request, nil if there is none. It
// returns the length of that prefix and the newest exchange of the conversation.
func (p *pool) lookup(
	s lineage.Scope, prefixes []transcript.Hash,
) (c *conversation, size int, newest lineage.LastExchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, h := range slices.Backward(prefixes) {
		if c, ok := p.index[indexKey{s, h}]; ok {
			return c, i + 1, c.slot.newest
		}
	}
	return nil, 0, newest
}

// get returns a conversation that is about to be used, nil if it is not in memory.
func (p *pool) get(key store.SessionKey) *conversation {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.kept[key]
	if c != nil {
		p.use(c)
	}
	return c
}

// use makes a conversation the one that was used last. The caller holds the lock.
func (p *pool) use(c *conversation) {
	p.uses++
	c.slot.used = p.uses
}

// oldest returns the conversation that was used least recently.
func (p *pool) oldest() *conversation {
	all := slices.Collect(maps.Values(p.kept))
	return slices.MinFunc(all, func(a, b *conversation) int { return cmp.Compare(a.slot.used, b.slot.used) })
}

// update changes the slot of a conversation, unless that was dropped meanwhile.
func (p *pool) update(c *conversation, change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept[c.key] == c {
		change()
	}
}

// keep puts a conversation into memory, and drops the least recently used one. If another
// request was faster, its conversation is returned: two of them would write past each other.
func (p *pool) keep(c *conversation, scope lineage.Scope) *conversation {
	c.slot.status, c.slot.weight = c.describe() // nobody else has it yet
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.kept[c.key]; other != nil {
		if _, err := other.behind.Ahead(); err == nil {
			p.closing.Go(func() { _ = c.sess.Close() }) // it only waits
			return other
		}
		p.drop(other)
	}
	p.use(c)
	p.weight.Add(c.slot.weight)
	p.kept[c.key], c.pool = c, p
	bySeq := func(a, b transcript.Hash) int {
		return cmp.Compare(c.track.Requests[a].Seq, c.track.Requests[b].Seq)
	}
	for _, h := range slices.SortedFunc(maps.Keys(c.track.Requests), bySeq) {
		p.remember(c, indexKey{scope, h})
	}
	for len(p.kept) > p.most {
		p.drop(p.oldest())
	}
	return c
}

// lost takes a conversation out of memory that has what the store has not: it is read anew
// with its next request.
func (p *pool) lost(c *conversation) { p.update(c, func() { p.drop(c) }) }

// drop takes a conversation out of memory and closes its session, without waiting for
// that. Requests that are under way can still use it. The caller holds the lock.
func (p *pool) drop(c *conversation) {
	p.weight.Add(-c.slot.weight)
	p.leaving[c] = true
	p.closing.Go(func() {
		_ = c.behind.Wait(context.Background()) // its error is logged
		p.mu.Lock()
		delete(p.leaving, c)
		p.mu.Unlock()
		c.mu.Lock()
		sess := c.sess
		c.mu.Unlock()
		_ = sess.Close() // it only waits
	})
	delete(p.kept, c.key)
	p.forget(c, len(c.slot.indexed))
}

// shrink drops conversations until the rest has at most a weight, except the newest, which is
// about to be used.
func (p *pool) shrink(most int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.weight.Load() > most && len(p.kept) > 1 {
		p.drop(p.oldest())
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.kept {
		p.drop(c)
	}
}

// written waits until what has left memory is in the store; with all, also what has not. What
// could not be written is as if it had not been sent.
func (p *pool) written(ctx context.Context, all bool) error {
	p.mu.Lock()
	list := slices.Collect(maps.Keys(p.leaving))
	if all {
		list = slices.AppendSeq(list, maps.Values(p.kept))
	}
	p.mu.Unlock()
	for _, c := range list {
		if err := c.behind.Wait(ctx); ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// statuses describes the conversations in memory, the one used last first.
func (p *pool) statuses() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	newestFirst := func(a, b *conversation) int {
		return cmp.Or(b.slot.status.Last.Compare(a.slot.status.Last), cmp.Compare(b.slot.used, a.slot.used))
	}
	out := make([]Status, 0, len(p.kept))
	for _, c := range slices.SortedFunc(maps.Values(p.kept), newestFirst) {
		out = append(out, c.slot.status)
	}
	return out
}

// indexed is how many prefixes of a conversation the index holds: a client that goes back
// further than that is found through the store.
const indexed = 256

// remember puts a prefix of a conversation into the index. The caller holds the lock.
func (p *pool) remember(c *conversation, k indexKey) {
	if p.index[k] == c {
		return
	}
	p.index[k] = c
	c.slot.indexed = append(c.slot.indexed, k)
	p.forget(c, len(c.slot.indexed)-indexed)
}

// forget takes the n oldest prefixes of a conversation out of the index.
func (p *pool) forget(c *conversation, n int) {
	for ; n > 0; n-- {
		if k := c.slot.indexed[0]; p.index[k] == c {
			delete(p.index, k)
		}
		c.slot.indexed = c.slot.indexed[1:]
	}
}
