package lineage

import (
	"bytes"
	"cmp"
	"container/list"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/transcript"
)

// Cache caches the newest requests as they were decoded: a client sends its whole conversation
// with every request, and what it sent before need not be decoded and hashed again. A message
// is taken from the cache only if its bytes are equal, so it does not matter whose they were.
type Cache struct {
	limit int64 // of their sizes
	most  int64 // of the memory that decoding a request may take
	seed  maphash.Seed

	mu     sync.Mutex
	size   int64
	recent *list.List // of *decoded, the newest first
	by     map[uint64][]*decoded
}

// decoded is a request without its body.
type decoded struct {
	earlier  protocol.Earlier
	messages []transcript.Message
	leading  int               // system messages that it begins with
	hashes   []transcript.Hash // of the messages
	prefixes []transcript.Hash // their chain
	key      uint64
	at       *list.Element // in the cache
	size     int64
}

func NewCache(memory int64) *Cache {
	return &Cache{
		limit: memory / 8, most: memory,
		seed: maphash.MakeSeed(), recent: list.New(), by: make(map[uint64][]*decoded),
	}
}

// likeliest is how many requests that begin alike are kept.
const likeliest = 8

// likely returns what is known of a request that a body may continue, nil if nothing is.
func (k *Cache) likely(key uint64, body []byte) *decoded {
	k.mu.Lock()
	list := slices.Clone(k.by[key])
	k.mu.Unlock()
	if len(list) == 1 { // decoding compares them anyway
		return list[0]
	}
	var best *decoded
	most := 0
	for _, d := range list {
		if n := d.earlier.Matches(body); n > most {
			best, most = d, n
		}
	}
	return best
}

// key is the same for requests that may continue one another: those of one conversation by
// its client's name for it, or those whose bodies begin alike.
func (k *Cache) key(on *protocol.Protocol, hint string, body []byte) uint64 {
	if hint == "" {
		hint = string(body[:min(len(body), 256)])
	}
	return maphash.String(k.seed, string(on.Format)+"\x00"+hint)
}

// keep remembers a request, in place of the one that it continues.
func (k *Cache) keep(d, continues *decoded) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d.size > k.limit/4 {
		return
	}
	if same := k.by[d.key]; slices.Contains(same, continues) {
		k.drop(continues)
	} else if len(same) == likeliest {
		k.drop(same[0])
	}
	k.by[d.key], d.at = append(k.by[d.key], d), k.recent.PushFront(d)
	for k.size += d.size; k.size > k.limit; {
		k.drop(k.recent.Back().Value.(*decoded))
	}
}

func (k *Cache) Bytes() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.size
}

func (k *Cache) Clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.size = 0
	k.recent.Init()
	clear(k.by)
}

// drop forgets a request. The caller holds the lock.
func (k *Cache) drop(d *decoded) {
	k.recent.Remove(d.at)
	k.size -= d.size
	rest := slices.DeleteFunc(k.by[d.key], func(o *decoded) bool { return o == d })
	if k.by[d.key] = rest; len(rest) == 0 {
		delete(k.by, d.key)
	}
}

// Read decodes a request, and remembers it for the next one of its conversation. It takes memory for
// the messages that are not known yet.
func (k *Cache) Read(
	on *protocol.Protocol, hint string, body []byte, take func(n int64) bool,
) (*protocol.Request, error) {
	key := k.key(on, hint, body)
	before := k.likely(key, body)
	var from protocol.Earlier
	had := 0 // bytes of the body that it continues
	if before != nil {
		from, had = before.earlier, int(before.size)-PerMessage*len(before.messages)
	}
	switch need := decodedSize(body[min(had, len(body)):]); {
	case need > k.most:
		return nil, fmt.Errorf("%w: it has too many messages for its memory", httpbody.ErrTooLarge)
	case need > 0 && !take(need):
		return nil, httpbody.ErrMemory
	}
	r, err := on.ReadAfter(from, body)
	if err != nil {
		return nil, err
	}
	before = cmp.Or(before, &decoded{})
	size := int64(len(body) + PerMessage*len(r.Messages))
	d := &decoded{messages: r.Messages, leading: r.Leading(), key: key, size: size}
	if !d.hash(on, before) {
		before = nil
	}
	if r.Hashes, r.Prefixes = d.hashes, d.prefixes; len(r.Messages) > 0 {
		d.earlier = r.Earlier()
		k.keep(d, before)
	}
	return r, nil
}

// hash makes the hash chain of a conversation. Leading system messages count by their role
// alone: their text changes with the date and the client's version. What has the same bytes
// in an earlier request is not hashed again. It reports whether the conversations begin alike.
func (d *decoded) hash(on *protocol.Protocol, before *decoded) (alike bool) {
	shared := 0
	for shared < len(d.messages) && d.counts(before, shared) {
		shared++
	}
	d.hashes, d.prefixes = slices.Clone(before.hashes[:shared]), slices.Clone(before.prefixes[:shared])
	for i := shared; i < len(d.messages); i++ {
		m := d.messages[i]
		switch {
		case i < d.leading:
			d.hashes = append(d.hashes, transcript.HashOf("leading "+m.Role()))
		case d.counts(before, i):
			d.hashes = append(d.hashes, before.hashes[i])
		default:
			d.hashes = append(d.hashes, on.Hash(transcript.StringBytes(m.Raw())))
		}
	}
	var last transcript.Hash
	if shared > 0 {
		last = d.prefixes[shared-1]
	}
	d.prefixes = append(d.prefixes, transcript.Chain(last, d.hashes[shared:])...)
	return len(d.hashes) > 0 && len(before.hashes) > 0 && d.hashes[0] == before.hashes[0]
}

// counts reports whether message i counts as the one of an earlier request does.
func (d *decoded) counts(before *decoded, i int) bool {
	switch {
	case i >= len(before.messages) || (i < d.leading) != (i < before.leading):
		return false
	case d.messages[i] == before.messages[i]:
		return true
	case i < d.leading:
		return d.messages[i].Role() == before.messages[i].Role()
	}
	return d.messages[i].Raw() == before.messages[i].Raw()
}

// PerMessage is about what is kept of a message besides its bytes.
const PerMessage = 400

// perPart is about what a message, and each of its blocks, takes besides its bytes while it is new.
const perPart = 2_000

// decodedSize is about what becomes of the end of a request's body that is new, besides its bytes. What is
// added to a conversation turn by turn is not worth counting.
func decodedSize(fresh []byte) int64 {
	if len(fresh) < 1<<20 {
		return 0
	}
	return perPart * int64(bytes.Count(fresh, []byte(`"role"`))+bytes.Count(fresh, []byte(`"type"`)))
}
