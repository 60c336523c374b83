package tokens

import (
	"hash/maphash"
	"sync"
)

// countCache remembers counts by a hash of the text, a bounded number of them. It has two
// generations: what is asked for moves to the young one, and when that is full, it becomes the
// old one and what was there is forgotten.
type countCache struct {
	seed       maphash.Seed
	generation int // entries in each

	mu         sync.Mutex
	young, old map[countKey]int
}

// countKey stands for a text. Two texts of one length get the same hash once in 2^64 times, and
// then one of them the other's estimate.
type countKey struct {
	hash uint64
	size int
	as   reading
}

func (c *countCache) get(key countKey) (int, bool) {
	c.mu.Lock()
	n, young := c.young[key]
	old, ok := c.old[key]
	c.mu.Unlock()
	if ok && !young {
		c.add(key, old)
		n = old
	}
	return n, young || ok
}

func (c *countCache) add(key countKey, count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= c.generation {
		c.young, c.old = make(map[countKey]int), c.young
	}
	c.young[key] = count
}
