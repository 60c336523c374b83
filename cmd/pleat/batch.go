package main

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// batchStore stores a session read from a file in a few large writes, while counting and
// folding go on. An append after settle waits for those writes, so that an epoch is never
// stored before the messages it is about.
type batchStore struct {
	store.Store
	key     store.SessionKey
	last    uint64 // the newest entry, whether it is written yet or not
	bytes   int    // of the current write
	settled bool

	writes chan []store.Entry // to the writer; nil: there is none
	before chan struct{}      // closed when the newest write is over; nil: there was none
	mu     sync.Mutex
	err    error // of the first write that failed
}

// batchBytes is the size of a write: large, so that there are few, but fit for memory.
const batchBytes = 4 << 20

// seqStore is a store that writes entries as they come.
type seqStore interface {
	AppendSeq(ctx context.Context, key store.SessionKey, last uint64, entries iter.Seq2[store.Entry, error]) (uint64, error)
}

// Append implements [store.Store].
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

// Body implements [store.Store]. The body may still have to be written.
func (b *batchStore) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	if err := b.wait(); err != nil {
		return nil, err
	}
	return b.Store.Body(ctx, key, hash)
}

// start begins a write after the previous one. Append blocks while the writer is several
// appends behind.
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
		for range writes { // so that Append does not block after an error
		}
	}()
}

// write stores what comes until the channel is closed.
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

// flush ends the current write without waiting for it.
func (b *batchStore) flush() {
	if b.writes != nil {
		close(b.writes)
		b.writes = nil
	}
}

// settle ends the writing of messages. What is appended later was decided by folding, and is
// written at once.
func (b *batchStore) settle() {
	b.settled = true
	b.flush()
}

// wait returns when everything appended so far is stored.
func (b *batchStore) wait() error {
	b.flush()
	if b.before != nil {
		<-b.before
	}
	return b.failed()
}
