package storetest_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// disk is what handles share and what outlives them.
type disk struct {
	*store.Memory
	mu      sync.Mutex
	handles int           // that are open
	order   []store.Found // every entry, in the order in which they were appended
	spoiled []spoiled
	damaged []func() // damage a body, again if it was mended
	forgot  bool     // a session was deleted
}

// damage changes a byte of a body, unless it is damaged already.
func (d *disk) damage(key store.SessionKey, hash transcript.Hash) {
	if body, err := d.Shared(context.Background(), key, hash); err == nil {
		body[0] ^= 1
	}
}

// spoiled is an entry that was damaged.
type spoiled struct {
	key    store.SessionKey
	seq    uint64
	remove bool
}

// broken is a handle on a disk, with a fault.
type broken struct {
	*disk
	fault  *fault
	later  bool // another handle was there before
	closed bool
}

// fault is what a mutant does wrong. What is nil or false is right.
type fault struct {
	clause string // of the suite, which must find it
	late   bool   // it shows only through a handle that is opened later
	after  bool   // it shows only after a session was deleted

	stored  func([]store.Entry) []store.Entry             // what Append writes of what it is given
	looked  func(store.SessionKey) store.SessionKey       // where Scan looks
	most    int                                           // Scan stops after so many; 0: at the end
	hit     func(*store.Hit)                              // what Search makes of a hit
	yielded func(*store.Entry)                            // what Scan and Find make of an entry
	body    func([]byte) []byte                           // what Body makes of it
	anyKind bool                                          // Find ignores the kind
	order   func(a, b store.Found) int                    // Find takes the last in this order for the newest
	infos   func([]store.SessionInfo) []store.SessionInfo // what Sessions lists
	claimed bool                                          // Claim gives what somebody has
	kept    bool                                          // Forget does nothing
	trusted bool                                          // Scan, Find and Body do not notice damage
	blind   bool                                          // Verify does not
	older   bool                                          // Find takes an older entry for one that is damaged
	hides   bool                                          // Find fails for all labels where one entry is damaged
	rotten  bool                                          // Append relies on a damaged body
	silent  bool                                          // Scan of a closed store is that of an empty one
}

var right = &fault{}

// now is the fault, as far as it shows through this handle.
func (b *broken) now() *fault {
	if b.fault.late && !b.later || b.fault.after && !b.forgot {
		return right
	}
	return b.fault
}

func (b *broken) Append(
	ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry,
) (uint64, error) {
	end := last + uint64(len(entries))
	if stored := b.now().stored; stored != nil {
		entries = stored(entries)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.Memory.Append(ctx, key, last, entries...); err != nil {
		return 0, err
	}
	b.record(key, last+1)
	if b.now().rotten {
		for _, damage := range b.disk.damaged {
			damage()
		}
	}
	return end, nil
}

// record keeps the order of entries. The lock is held.
func (b *broken) record(key store.SessionKey, from uint64) {
	for e := range b.Memory.Scan(context.Background(), key, from) {
		b.disk.order = append(b.disk.order, store.Found{Key: key, Entry: e})
	}
}

func (b *broken) Fork(
	ctx context.Context, from store.SessionKey, upTo uint64, to store.SessionKey,
	data func(store.Entry) ([]byte, error),
) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.Memory.Fork(ctx, from, upTo, to, data); err != nil {
		return err
	}
	b.record(to, 1)
	return nil
}

func (b *broken) Scan(
	ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind,
) iter.Seq2[store.Entry, error] {
	if looked := b.now().looked; looked != nil {
		key = looked(key)
	}
	return func(yield func(store.Entry, error) bool) {
		n := 0
		for e, err := range b.Memory.Scan(ctx, key, from, kinds...) {
			if n++; b.now().most > 0 && n > b.now().most {
				return
			}
			if b.now().silent && errors.Is(err, store.ErrClosed) {
				return
			}
			if yielded := b.now().yielded; yielded != nil {
				yielded(&e)
			}
			if i := b.spoilt(key, e.Seq); i >= 0 && err == nil {
				switch {
				case !b.now().trusted:
					yield(store.Entry{}, store.ErrCorrupt)
					return
				case b.spoiled[i].remove:
					continue
				}
				e.Data = []byte("something else")
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (b *broken) Search(ctx context.Context, key store.SessionKey, query string, limit int) ([]store.Hit, error) {
	hits, err := b.Memory.Search(ctx, key, query, limit)
	if hit := b.now().hit; hit != nil {
		for i := range hits {
			hit(&hits[i])
		}
	}
	return hits, err
}

// spoilt returns which of the damaged entries it is; -1: none.
func (b *broken) spoilt(key store.SessionKey, seq uint64) int {
	return slices.IndexFunc(b.spoiled, func(s spoiled) bool { return s.key == key && s.seq == seq })
}

func (b *broken) Verify(ctx context.Context) iter.Seq2[store.Damage, error] {
	return func(yield func(store.Damage, error) bool) {
		for _, s := range b.spoiled {
			if !b.now().blind && !yield(store.Damage{Key: s.key, Seq: s.seq, What: "spoiled"}, nil) {
				return
			}
		}
		for damage, err := range b.Memory.Verify(ctx) {
			if (err != nil || !b.now().blind) && !yield(damage, err) {
				return
			}
		}
	}
}

func (b *broken) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	body, err := b.Memory.Body(ctx, key, hash)
	f := b.now()
	if f.trusted && errors.Is(err, store.ErrCorrupt) {
		return []byte("something else"), nil
	}
	if f.body != nil {
		body = f.body(body)
	}
	return body, err
}

func (b *broken) Find(
	ctx context.Context, tenant string, kind store.EntryKind, labels ...string,
) ([]store.Found, error) {
	if _, err := b.Memory.Find(ctx, tenant, kind); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	order, f := slices.Clone(b.disk.order), b.now()
	if f.hides && len(b.spoiled) > 0 {
		return nil, store.ErrCorrupt
	}
	if f.order != nil {
		slices.SortStableFunc(order, f.order)
	}
	seen := map[string]bool{"": true}
	var found []store.Found
	for _, at := range slices.Backward(order) {
		e := &at.Entry
		if at.Key.Tenant == tenant && slices.Contains(labels, e.Label) && !seen[e.Label] &&
			(f.anyKind || e.Kind == kind) {
			if b.spoilt(at.Key, e.Seq) >= 0 && !f.trusted {
				if f.older {
					continue
				}
				return nil, store.ErrCorrupt
			}
			seen[e.Label] = true
			if f.yielded != nil {
				f.yielded(e)
			}
			found = append(found, at)
		}
	}
	return found, nil
}

func (b *broken) Sessions(ctx context.Context, tenant string) iter.Seq2[store.SessionInfo, error] {
	return func(yield func(store.SessionInfo, error) bool) {
		var infos []store.SessionInfo
		for info, err := range b.Memory.Sessions(ctx, tenant) {
			if err != nil {
				yield(info, err)
				return
			}
			infos = append(infos, info)
		}
		if f := b.now(); f.infos != nil {
			infos = f.infos(infos)
		}
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (b *broken) Claim(
	ctx context.Context, key store.SessionKey, what string, ttl time.Duration,
) (func(context.Context) error, bool, error) {
	if b.now().claimed {
		key.Session += "\x00later"
	}
	return b.Memory.Claim(ctx, key, what, ttl)
}

func (b *broken) Forget(ctx context.Context, key store.SessionKey) error {
	if b.now().kept {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgot = true
	b.disk.order = slices.DeleteFunc(b.disk.order, func(f store.Found) bool { return f.Key == key })
	return b.Memory.Forget(ctx, key)
}

// Close closes the disk with the last handle.
func (b *broken) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	if b.handles--; b.handles > 0 {
		return nil
	}
	return b.Memory.Close()
}
