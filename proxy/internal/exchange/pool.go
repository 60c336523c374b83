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
	slots   map[store.SessionKey]*slot
	uses    int                    // of all slots
	leaving map[*conversation]bool // no longer there, but perhaps not yet in the store
	index   map[indexKey]*slot
	weight  atomic.Int64 // of all slots; written under the lock
}

// slot is a conversation in the pool, with what is known of it without its lock.
type slot struct {
	conv    *conversation
	used    int        // what the pool had counted when the slot was last used
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
		most: most, closing: closing, slots: make(map[store.SessionKey]*slot),
		leaving: make(map[*conversation]bool), index: make(map[indexKey]*slot),
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
		if s, ok := p.index[indexKey{s, h}]; ok {
			return s.conv, i + 1, s.newest
		}
	}
	return nil, 0, newest
}

// get returns a conversation that is about to be used, nil if it is not in memory.
func (p *pool) get(key store.SessionKey) *conversation {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.slots[key]
	if s == nil {
		return nil
	}
	p.use(s)
	return s.conv
}

// use makes a slot the one that was used last. The caller holds the lock.
func (p *pool) use(s *slot) {
	p.uses++
	s.used = p.uses
}

// oldest returns the slot that was used least recently.
func (p *pool) oldest() *slot {
	all := slices.Collect(maps.Values(p.slots))
	return slices.MinFunc(all, func(a, b *slot) int { return cmp.Compare(a.used, b.used) })
}

// update changes the slot of a conversation, unless that was dropped meanwhile.
func (p *pool) update(c *conversation, change func(s *slot)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.slots[c.key]; s != nil && s.conv == c {
		change(s)
	}
}

// keep puts a conversation into memory, and drops the least recently used one. If another
// request was faster, its conversation is returned: two of them would write past each other.
func (p *pool) keep(c *conversation, scope lineage.Scope) *conversation {
	status, weight := c.describe() // nobody else has it yet
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.slots[c.key]; other != nil {
		if _, err := other.conv.behind.Ahead(); err == nil {
			p.closing.Go(func() { _ = c.sess.Close() }) // it only waits
			return other.conv
		}
		p.drop(other)
	}
	s := &slot{conv: c, status: status, weight: weight}
	p.use(s)
	p.weight.Add(weight)
	p.slots[c.key], c.pool = s, p
	bySeq := func(a, b transcript.Hash) int {
		return cmp.Compare(c.track.Requests[a].Seq, c.track.Requests[b].Seq)
	}
	for _, h := range slices.SortedFunc(maps.Keys(c.track.Requests), bySeq) {
		p.remember(s, indexKey{scope, h})
	}
	for len(p.slots) > p.most {
		p.drop(p.oldest())
	}
	return c
}

// lost takes a conversation out of memory that has what the store has not: it is read anew
// with its next request.
func (p *pool) lost(c *conversation) { p.update(c, p.drop) }

// drop takes a conversation out of memory and closes its session, without waiting for
// that. Requests that are under way can still use it. The caller holds the lock.
func (p *pool) drop(s *slot) {
	c := s.conv
	p.weight.Add(-s.weight)
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
	delete(p.slots, c.key)
	p.forget(s, len(s.indexed))
}

// shrink drops conversations until the rest has at most a weight, except the newest, which is
// about to be used.
func (p *pool) shrink(most int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.weight.Load() > most && len(p.slots) > 1 {
		p.drop(p.oldest())
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		p.drop(s)
	}
}

// written waits until what has left memory is in the store; with all, also what has not. What
// could not be written is as if it had not been sent.
func (p *pool) written(ctx context.Context, all bool) error {
	p.mu.Lock()
	list := slices.Collect(maps.Keys(p.leaving))
	for _, s := range p.slots {
		if all {
			list = append(list, s.conv)
		}
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
	newestFirst := func(a, b *slot) int {
		return cmp.Or(b.status.Last.Compare(a.status.Last), cmp.Compare(b.used, a.used))
	}
	out := make([]Status, 0, len(p.slots))
	for _, s := range slices.SortedFunc(maps.Values(p.slots), newestFirst) {
		out = append(out, s.status)
	}
	return out
}

// indexed is how many prefixes of a conversation the index holds: a client that goes back
// further than that is found through the store.
const indexed = 256

// remember puts a prefix of a conversation into the index. The caller holds the lock.
func (p *pool) remember(s *slot, k indexKey) {
	if p.index[k] == s {
		return
	}
	p.index[k] = s
	s.indexed = append(s.indexed, k)
	p.forget(s, len(s.indexed)-indexed)
}

// forget takes the n oldest prefixes of a conversation out of the index.
func (p *pool) forget(s *slot, n int) {
	for ; n > 0; n-- {
		if k := s.indexed[0]; p.index[k] == s {
			delete(p.index, k)
		}
		s.indexed = s.indexed[1:]
	}
}
