package main

import (
	"context"
	"sync"

	"github.com/pleat-dev/pleat"
)

// batchStore lets a session that is read from a file be stored in few large writes, while
// reading and folding go on. An append after settle waits for those writes, so that an
// epoch is never stored before the messages it speaks of.
type batchStore struct {
	pleat.Store
	key     pleat.SessionKey
	last    uint64 // with what waits
	waiting []pleat.Entry
	bytes   int
	settled bool

	writes  chan batch // to the writer; nil: there is none
	writing sync.WaitGroup
	mu      sync.Mutex
	err     error // of the first write that failed
}

// batch is what one write adds.
type batch struct {
	last    uint64 // entry before it
	entries []pleat.Entry
}

// batchBytes is how much is written at once: few writes, and little enough to hold some.
const batchBytes = 2 << 20

// Append implements pleat.Store.
func (b *batchStore) Append(ctx context.Context, key pleat.SessionKey, last uint64, entries ...pleat.Entry) (uint64, error) {
	if b.settled {
		if err := b.wait(); err != nil {
			return 0, err
		}
		return b.Store.Append(ctx, key, last, entries...)
	}
	if err := b.failed(); err != nil {
		return 0, err
	}
	if len(b.waiting) > 0 && last != b.last {
		return 0, pleat.ErrConflict
	}
	b.waiting, b.last = append(b.waiting, entries...), last+uint64(len(entries))
	for _, e := range entries {
		b.bytes += len(e.Body) + len(e.Text)
	}
	if b.bytes >= batchBytes {
		b.flush(ctx)
	}
	return b.last, nil
}

// Body implements pleat.Store: what is asked for may still have to be written.
func (b *batchStore) Body(ctx context.Context, key pleat.SessionKey, hash pleat.Hash) ([]byte, error) {
	if !b.settled {
		b.flush(ctx)
	}
	if err := b.wait(); err != nil {
		return nil, err
	}
	return b.Store.Body(ctx, key, hash)
}

// flush hands what waits to the writer. It waits while the writer is two writes behind.
func (b *batchStore) flush(ctx context.Context) {
	if len(b.waiting) == 0 {
		return
	}
	if b.writes == nil {
		writes := make(chan batch, 1)
		b.writes = writes
		b.writing.Go(func() { b.write(ctx, writes) })
	}
	b.writes <- batch{b.last - uint64(len(b.waiting)), b.waiting}
	b.waiting, b.bytes = nil, 0
}

// write is the writer.
func (b *batchStore) write(ctx context.Context, writes <-chan batch) {
	for w := range writes {
		if b.failed() != nil {
			continue // let the others see the error
		}
		if _, err := b.Store.Append(ctx, b.key, w.last, w.entries...); err != nil {
			b.mu.Lock()
			b.err = err
			b.mu.Unlock()
		}
	}
}

func (b *batchStore) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// settle begins to write what waits. From then on every append is written at once: it is
// what folding decides.
func (b *batchStore) settle(ctx context.Context) {
	b.settled = true
	b.flush(ctx)
	if b.writes != nil {
		close(b.writes)
		b.writes = nil
	}
}

// wait returns when everything that was handed to the writer is stored.
func (b *batchStore) wait() error {
	if b.writes != nil { // not settled: the writer is ended and the next write starts another
		close(b.writes)
		b.writes = nil
	}
	b.writing.Wait()
	return b.failed()
}
