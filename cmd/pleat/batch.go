package main

import (
	"context"
	"sync"

	"github.com/pleat-dev/pleat"
)

// batchStore lets a session that is read from a file be stored in one large write, while
// the session is folded already. An append after settle waits for that write, so that an
// epoch is never stored before the messages it speaks of.
type batchStore struct {
	pleat.Store
	key     pleat.SessionKey
	last    uint64 // with what waits
	waiting []pleat.Entry
	bytes   int
	settled bool

	writing sync.WaitGroup
	err     error // of the write; read it after writing.Wait
}

// batchBytes is how much may wait: few writes, and little enough to hold.
const batchBytes = 64 << 20

// Append implements pleat.Store.
func (b *batchStore) Append(ctx context.Context, key pleat.SessionKey, last uint64, entries ...pleat.Entry) (uint64, error) {
	if b.settled {
		if err := b.wait(); err != nil {
			return 0, err
		}
		return b.Store.Append(ctx, key, last, entries...)
	}
	if len(b.waiting) > 0 && last != b.last {
		return 0, pleat.ErrConflict
	}
	b.waiting, b.last = append(b.waiting, entries...), last+uint64(len(entries))
	for _, e := range entries {
		b.bytes += len(e.Body) + len(e.Text)
	}
	if b.bytes < batchBytes {
		return b.last, nil
	}
	return b.last, b.flush(ctx)
}

func (b *batchStore) flush(ctx context.Context) error {
	entries := b.waiting
	b.waiting, b.bytes = nil, 0
	if len(entries) == 0 {
		return nil
	}
	_, err := b.Store.Append(ctx, b.key, b.last-uint64(len(entries)), entries...)
	return err
}

// settle begins to write what waits. From then on every append is written at once: it is
// what folding decides.
func (b *batchStore) settle(ctx context.Context) {
	b.settled = true
	b.writing.Go(func() { b.err = b.flush(ctx) })
}

// wait returns when everything is stored.
func (b *batchStore) wait() error {
	b.writing.Wait()
	return b.err
}
