package main

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// batchStore stores a session that was read from a file in few large writes, while counting
// and folding go on. An append after settle waits for those writes, so that an
// epoch is never stored before the messages it speaks of.
type batchStore struct {
	store.Store
	key     store.SessionKey
	last    uint64 // with what is being written
	bytes   int    // of the write under way
	settled bool

	writes chan []store.Entry // to the writer; nil: there is none
	before chan struct{}      // closed when the newest write is over; nil: there was none
	mu     sync.Mutex
	err    error // of the first write that failed
}

// batchBytes is how much is written at once: few writes, and little enough to hold.
const batchBytes = 4 << 20

// seqStore is a store that writes entries as they come.
type seqStore interface {
	AppendSeq(ctx context.Context, key store.SessionKey, last uint64, entries iter.Seq2[store.Entry, error]) (uint64, error)
}

// Append implements pleat.Store.
func (b *batchStore) Append(ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry) (uint64, error) {
	if b.settled {
		if err := b.wait(); err != nil {
			return 0, err
		}
		return b.Store.Append(ctx, key, last, entries...)
	}
	if err := b.failed(); err != nil {
		return 0, err
	}
	if b.writes != nil && last != b.last {
		return 0, store.ErrConflict
	}
	if b.writes == nil {
		b.start(ctx, last)
	}
	b.writes <- slices.Clone(entries) // the caller goes on with its own
	b.last = last + uint64(len(entries))
	for _, e := range entries {
		b.bytes += len(e.Body) + len(e.Text)
	}
	if b.bytes >= batchBytes {
		b.flush()
	}
	return b.last, nil
}

// Body implements pleat.Store: what is asked for may still have to be written.
func (b *batchStore) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	if err := b.wait(); err != nil {
		return nil, err
	}
	return b.Store.Body(ctx, key, hash)
}

// start begins a write, which follows the one before. Whoever appends waits while the
// writer is some appends behind.
func (b *batchStore) start(ctx context.Context, last uint64) {
	const behind = 8
	writes, before, done := make(chan []store.Entry, behind), b.before, make(chan struct{})
	b.writes, b.before, b.bytes = writes, done, 0
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		if b.failed() == nil {
			err := b.write(ctx, last, writes)
			b.mu.Lock()
			b.err = err
			b.mu.Unlock()
		}
		for range writes { // nobody is left waiting
		}
	}()
}

// write is one write.
func (b *batchStore) write(ctx context.Context, last uint64, writes <-chan []store.Entry) error {
	entries := func(yield func(store.Entry, error) bool) {
		for list := range writes {
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	if s, ok := b.Store.(seqStore); ok {
		_, err := s.AppendSeq(ctx, b.key, last, entries)
		return err
	}
	var all []store.Entry
	for e := range entries {
		all = append(all, e)
	}
	_, err := b.Store.Append(ctx, b.key, last, all...)
	return err
}

func (b *batchStore) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// flush ends the write under way, without waiting for it.
func (b *batchStore) flush() {
	if b.writes != nil {
		close(b.writes)
		b.writes = nil
	}
}

// settle ends the write of the messages. From then on every append is written at once: it
// is what folding decides.
func (b *batchStore) settle() {
	b.settled = true
	b.flush()
}

// wait returns when everything that was appended is stored.
func (b *batchStore) wait() error {
	b.flush()
	if b.before != nil {
		<-b.before
	}
	return b.failed()
}
