package tokens

import (
	"sync"

	"github.com/pleat-dev/pleat/transcript"
)

// countCache remembers counts by content hash, a bounded number of them. Shards keep
// sessions from waiting for one another. Each forgets with the clock algorithm, which
// unlike a list of recent uses needs no writing but one bit on a hit.
type countCache struct {
	shards [16]cacheShard
}

type cacheShard struct {
	mu      sync.Mutex
	index   map[transcript.Hash]int32 // places in entries
	entries []cacheEntry
	limit   int
	hand    int // where forgetting goes on
}

type cacheEntry struct {
	key   transcript.Hash
	count int32
	used  bool // since the hand last passed
}

func newCountCache(size int) *countCache {
	c := new(countCache)
	for i := range c.shards {
		c.shards[i].limit = (size + len(c.shards) - 1) / len(c.shards)
	}
	return c
}

// shard uses a byte of the hash other than the one that [reading] changes.
func (c *countCache) shard(key transcript.Hash) *cacheShard {
	return &c.shards[int(key[1])%len(c.shards)]
}

func (c *countCache) get(key transcript.Hash) (int, bool) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.index[key]
	if !ok {
		return 0, false
	}
	s.entries[at].used = true
	return int(s.entries[at].count), true
}

func (c *countCache) put(key transcript.Hash, count int) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.index[key]; ok {
		return // somebody else counted it meanwhile
	}
	e := cacheEntry{key: key, count: int32(min(count, 1<<31-1))}
	if s.index == nil {
		s.index = make(map[transcript.Hash]int32)
	}
	if len(s.entries) < s.limit {
		s.index[key] = int32(len(s.entries))
		s.entries = append(s.entries, e)
		return
	}
	for s.entries[s.hand].used {
		s.entries[s.hand].used = false
		s.hand = (s.hand + 1) % len(s.entries)
	}
	delete(s.index, s.entries[s.hand].key)
	s.entries[s.hand] = e
	s.index[key] = int32(s.hand)
	s.hand = (s.hand + 1) % len(s.entries)
}
