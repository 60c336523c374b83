// Package behind writes to a store behind its callers what nothing that was sent depends on.
package behind

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Store is a store as the session of one conversation sees it. What no stub depends on is
// written in the background, several entries at a time: messages, marks and usage. The
// client has the messages and sends them again. Everything else is durable when Append
// returns, and so is all that was written before it: a fold never precedes what it folds.
// Reads wait for writes.
//
// When such a write fails, the session in memory has what the store has not, and must not
// be used any more.
type Store struct {
	store.Store
	run    func(func())
	failed func(error)

	mu    sync.Mutex
	open  *batch    // what is added to; nil: there is none
	last  *batch    // the newest, which is written after all others; nil: all is written
	wrote time.Time // when a write ended
	err   error     // of a write
}

// New writes to st. Run runs a function in the background; failed is told why a write there
// failed.
func New(st store.Store, run func(func()), failed func(error)) *Store {
	return &Store{Store: st, run: run, failed: failed}
}

// batch is what is written at once.
type batch struct {
	after   uint64 // the entry before its first
	entries []store.Entry
	size    int
	hurry   chan struct{} // closed when it is to be written now
	hurried bool
	done    chan struct{} // closed when it is written, or could not be
}

const (
	// pause is how long what is new waits for more, such as the answer's usage.
	pause = 100 * time.Millisecond
	// batchBytes is how much waits: beyond that it is written while the upstream works.
	batchBytes = 64 << 10
	// mostBytes is how much a store may be behind before requests wait for it.
	mostBytes = 8 << 20
)

// Whole returns the store with the other things that it can do.
func (b *Store) Whole() store.Store {
	s, searches := b.Store.(store.Searcher)
	c, claims := b.Store.(store.Claimer)
	switch {
	case searches && claims:
		return struct {
			*Store
			searchBehind
			store.Claimer
		}{b, searchBehind{b, s}, c}
	case searches:
		return struct {
			*Store
			searchBehind
		}{b, searchBehind{b, s}}
	}
	return b
}

// Waits reports whether an entry can be written after the request has left.
func Waits(e store.Entry) bool {
	return e.Kind == store.EntryMessage || e.Kind == store.EntryPrefix || e.Kind == store.EntryUsage
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
		t = &batch{after: last, hurry: make(chan struct{}), done: make(chan struct{})}
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

// full reports whether no more should wait.
func (b *Store) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open != nil && b.open.size > mostBytes
}

// now lets a batch be written. The caller holds the lock.
func (t *batch) now() {
	if !t.hurried {
		t.hurried = true
		close(t.hurry)
	}
}

// write writes a batch once it is due and the one before it is written.
func (b *Store) write(ctx context.Context, key store.SessionKey, t, before *batch) {
	defer close(t.done)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-t.hurry:
	case <-timer.C:
	}
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
	if b.err, b.wrote = err, time.Now(); b.last == t {
		b.last = nil
	}
}

// Soon lets what waits be written now, unless something has just been written: a session
// whose turns take no time does not need a write for each.
func (b *Store) Soon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open != nil && time.Since(b.wrote) > pause {
		b.open.now()
	}
}

// Ahead reports whether the session has entries that the store has not, with the error of a
// write that failed. If somebody else writes to the session meanwhile, ours fails.
func (b *Store) Ahead() (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last != nil, b.err
}

// Wait waits for writes and returns the error of one that failed.
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
func (b *Store) Scan(ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind) iter.Seq2[store.Entry, error] {
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

// searchBehind searches when all is written.
type searchBehind struct {
	b *Store
	s store.Searcher
}

// Search implements [store.Searcher].
func (s searchBehind) Search(ctx context.Context, key store.SessionKey, query string, limit int) ([]store.Hit, error) {
	if err := s.b.Wait(ctx); err != nil {
		return nil, err
	}
	return s.s.Search(ctx, key, query, limit)
}
