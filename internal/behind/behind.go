// Package behind delays the writes to a store that no sent request depends on.
package behind

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Store is a store as the session of one conversation sees it. Messages, marks and usage,
// which no stub depends on, are written in the background, several entries at a time; if a
// message is lost, the client sends it again. Everything else is durable when Append returns,
// and so is all that was appended before it: a fold never precedes what it folds. Reads wait
// for writes.
//
// When a write in the background fails, the session in memory is ahead of the store and must
// not be used any more.
type Store struct {
	store.Store
	run    func(func())
	failed func(error)

	mu   sync.Mutex
	open *batch // takes new entries; nil: there is none
	last *batch // the newest, written after all others; nil: everything is written
	err  error  // of a write in the background
}

// New returns a store that writes to st. It starts goroutines with run, and calls failed with
// the error of a write in the background.
func New(st store.Store, run func(func()), failed func(error)) *Store {
	return &Store{Store: st, run: run, failed: failed}
}

type batch struct {
	after   uint64 // number of the entry before the first
	entries []store.Entry
	size    int
	due     context.Context    // ends when the batch is to be written
	now     context.CancelFunc // makes it due
	done    chan struct{}      // closed when the batch is written, or has failed
}

const (
	// pause is how long a batch waits for more entries, such as the answer's usage.
	pause = 100 * time.Millisecond
	// batchBytes is the size from which a batch is written at once.
	batchBytes = 64 << 10
	// mostBytes is the size from which Append waits for the batch to be written.
	mostBytes = 8 << 20
)

// Waits reports whether an entry may be written after the request was sent.
func Waits(e store.Entry) bool {
	return e.Kind == store.EntryMessage || e.Kind == store.EntryPrefix || e.Kind == store.EntryUsage ||
		e.Kind == store.EntryBack
}

// Append implements [store.Store].
func (b *Store) Append(ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry) (uint64, error) {
	now := slices.ContainsFunc(entries, func(e store.Entry) bool { return !Waits(e) })
	if now || b.full() {
		if err := b.Wait(ctx); err != nil {
			return 0, err
		}
	}
	if now {
		return b.Store.Append(ctx, key, last, entries...)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch t := b.last; {
	case b.err != nil:
		return 0, b.err
	case t != nil && last != t.after+uint64(len(t.entries)):
		return 0, fmt.Errorf("after entry %d: others are on their way: %w", last, store.ErrConflict)
	}
	t := b.open
	if t == nil {
		before := b.last
		t = &batch{after: last, done: make(chan struct{})}
		t.due, t.now = context.WithTimeout(context.WithoutCancel(ctx), pause)
		b.open, b.last = t, t
		b.run(func() { b.write(context.WithoutCancel(ctx), key, t, before) })
	}
	t.entries = append(t.entries, entries...) // copies: the caller numbers its own
	for _, e := range entries {
		t.size += len(e.Body) + len(e.Data)
	}
	if t.size > batchBytes {
		t.now()
	}
	return last + uint64(len(entries)), nil
}

// full reports whether the open batch should take no more.
func (b *Store) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open != nil && b.open.size > mostBytes
}

// write writes a batch once it is due and the one before it is written.
func (b *Store) write(ctx context.Context, key store.SessionKey, t, before *batch) {
	defer close(t.done)
	<-t.due.Done()
	t.now() // also releases the timer
	if before != nil {
		<-before.done
	}
	b.mu.Lock()
	b.open = nil
	err := b.err
	b.mu.Unlock()
	if err == nil {
		if _, err = b.Store.Append(ctx, key, t.after, t.entries...); err != nil {
			b.failed(err)
			err = fmt.Errorf("store what came before: %w", err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err = err; b.last == t {
		b.last = nil
	}
}

// Ahead reports whether entries wait to be written, with the error of a write that failed. If
// another process appends to the session meanwhile, the write will fail.
func (b *Store) Ahead() (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last != nil, b.err
}

// Wait waits until everything is written and returns the error of a write that failed.
func (b *Store) Wait(ctx context.Context) error {
	b.mu.Lock()
	last := b.last
	if b.open != nil {
		b.open.now()
	}
	b.mu.Unlock()
	if last != nil {
		select {
		case <-last.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Scan implements [store.Store].
func (b *Store) Scan(
	ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind,
) iter.Seq2[store.Entry, error] {
	if err := b.Wait(ctx); err != nil {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, err) }
	}
	return b.Store.Scan(ctx, key, from, kinds...)
}

// Body implements [store.Store].
func (b *Store) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	if err := b.Wait(ctx); err != nil {
		return nil, err
	}
	return b.Store.Body(ctx, key, hash)
}

// Search implements [store.Searcher], also over a store that cannot: then the error is [errors.ErrUnsupported].
func (b *Store) Search(ctx context.Context, key store.SessionKey, query string, limit int) ([]store.Hit, error) {
	s, ok := b.Store.(store.Searcher)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	if err := b.Wait(ctx); err != nil {
		return nil, err
	}
	return s.Search(ctx, key, query, limit)
}

// Claim implements [store.Claimer]. Over a store that cannot, everybody gets what they claim.
func (b *Store) Claim(
	ctx context.Context, key store.SessionKey, what string, ttl time.Duration,
) (release func(context.Context) error, ok bool, err error) {
	if c, ok := b.Store.(store.Claimer); ok {
		return c.Claim(ctx, key, what, ttl)
	}
	return func(context.Context) error { return nil }, true, nil
}
