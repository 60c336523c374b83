package proxy

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// behind is the store as the session of one conversation sees it. What no stub depends on is
// written while the upstream works: messages, marks and usage. The client has the messages
// and sends them again. Everything else is durable when Append returns, and so is all that
// was written before it: a fold never precedes what it folds. Reads wait for writes.
//
// When such a write fails, the session in memory has what the store has not. It must not be
// used any more; see [rewriter.open].
type behind struct {
	store.Store
	run    func(func()) // in the background
	failed func(error)

	mu   sync.Mutex
	done chan struct{} // closed when the last write is over; nil: there was none
	err  error         // of a write
}

// whole returns the store with the other things that it can do.
func (b *behind) whole() store.Store {
	s, searches := b.Store.(store.Searcher)
	c, claims := b.Store.(store.Claimer)
	switch {
	case searches && claims:
		return struct {
			*behind
			searchBehind
			store.Claimer
		}{b, searchBehind{b, s}, c}
	case searches:
		return struct {
			*behind
			searchBehind
		}{b, searchBehind{b, s}}
	}
	return b
}

// waits reports whether an entry can be written after the request has left.
func waits(e store.Entry) bool {
	return e.Kind == store.EntryMessage || e.Kind == store.EntryPrefix || e.Kind == store.EntryUsage
}

// Append implements [store.Store].
func (b *behind) Append(ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry) (uint64, error) {
	if err := b.wait(ctx); err != nil {
		return 0, err
	}
	if slices.ContainsFunc(entries, func(e store.Entry) bool { return !waits(e) }) {
		return b.Store.Append(ctx, key, last, entries...)
	}
	done, mine := make(chan struct{}), slices.Clone(entries) // the caller numbers its own
	b.mu.Lock()
	b.done = done
	b.mu.Unlock()
	b.run(func() {
		defer close(done)
		if _, err := b.Store.Append(context.WithoutCancel(ctx), key, last, mine...); err != nil {
			b.mu.Lock()
			b.err = fmt.Errorf("store what came before: %w", err)
			b.mu.Unlock()
			b.failed(err)
		}
	})
	return last + uint64(len(entries)), nil
}

// wait waits for writes and returns the error of one that failed.
func (b *behind) wait(ctx context.Context) error {
	b.mu.Lock()
	done := b.done
	b.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Scan implements [store.Store].
func (b *behind) Scan(ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind) iter.Seq2[store.Entry, error] {
	if err := b.wait(ctx); err != nil {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, err) }
	}
	return b.Store.Scan(ctx, key, from, kinds...)
}

// Body implements [store.Store].
func (b *behind) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	if err := b.wait(ctx); err != nil {
		return nil, err
	}
	return b.Store.Body(ctx, key, hash)
}

// searchBehind searches when all is written.
type searchBehind struct {
	b *behind
	s store.Searcher
}

// Search implements [store.Searcher].
func (s searchBehind) Search(ctx context.Context, key store.SessionKey, query string, limit int) ([]store.Hit, error) {
	if err := s.b.wait(ctx); err != nil {
		return nil, err
	}
	return s.s.Search(ctx, key, query, limit)
}
