package behind_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/behind"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
)

// counted is a store that counts the writes in the background.
type counted struct {
	store.Store
	behind int
}

func (c *counted) Append(
	ctx context.Context,
	key store.SessionKey,
	last uint64,
	entries ...store.Entry,
) (uint64, error) {
	if !slices.ContainsFunc(entries, func(e store.Entry) bool { return !behind.Waits(e) }) {
		c.behind++
	}
	return c.Store.Append(ctx, key, last, entries...)
}

// What is new is written together, in order, and before anything that a stub depends on. A
// write of somebody else shows as a conflict, then and from then on.
func TestBatches(t *testing.T) {
	key := store.SessionKey{Session: "s"}
	st := &counted{Store: store.NewMemory()}
	var work sync.WaitGroup
	var failed error
	b := behind.New(st, work.Go, func(err error) { failed = err })
	last := uint64(0)
	add := func(kind store.EntryKind) (err error) {
		next, err := b.Append(t.Context(), key, last, store.Entry{Kind: kind, Data: []byte("{}")})
		if err == nil {
			last = next
		}
		return err
	}
	stored := func() (kinds []store.EntryKind) {
		for e, err := range st.Store.Scan(t.Context(), key, 1) {
			difftest.Must(t, err)
			kinds = append(kinds, e.Kind)
		}
		return kinds
	}
	want := []store.EntryKind{store.EntryMessage, store.EntryPrefix, store.EntryUsage, store.EntryFold}
	for _, kind := range want {
		difftest.Must(t, add(kind))
	}
	if got := stored(); !slices.Equal(got, want) || st.behind != 1 {
		t.Errorf("%v in %d writes behind, want %v in one", got, st.behind, want)
	}
	difftest.Must(t, add(store.EntryMessage))
	if ahead, err := b.Ahead(); !ahead || err != nil {
		t.Errorf("ahead %t, %v", ahead, err)
	}
	_, err := b.Append(t.Context(), key, last-1, store.Entry{Kind: store.EntryUsage})
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("an entry in the place of another: %v, want a conflict", err)
	}
	if _, err := st.Store.Append(t.Context(), key, last-1, store.Entry{Kind: store.EntryFold}); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{b.Wait(t.Context()), add(store.EntryMessage), add(store.EntryFold), failed} {
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("%v, want a conflict", err)
		}
	}
	work.Wait()
	if got := stored(); len(got) != len(want)+1 {
		t.Errorf("the store has %v", got)
	}
}

// Over a store that can neither search nor claim, a search says so, and claims are given.
func TestUnable(t *testing.T) {
	b := behind.New(struct{ store.Store }{store.NewMemory()}, func(f func()) { f() }, nil)
	if _, err := b.Search(t.Context(), store.SessionKey{}, "word", 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Search: %v, want ErrUnsupported", err)
	}
	for range 2 {
		release, ok, err := b.Claim(t.Context(), store.SessionKey{}, "digest", time.Hour)
		if err != nil || !ok || release(t.Context()) != nil {
			t.Errorf("Claim: %t, %v", ok, err)
		}
	}
}

// A search finds what was appended before it, also what is still on its way.
func TestSearchWaits(t *testing.T) {
	key := store.SessionKey{Session: "s"}
	var work sync.WaitGroup
	defer work.Wait()
	b := behind.New(store.NewMemory(), work.Go, func(err error) { t.Error(err) })
	if _, err := b.Append(t.Context(), key, 0, store.Entry{Kind: store.EntryMessage, Text: "a needle"}); err != nil {
		t.Fatal(err)
	}
	if hits, err := b.Search(t.Context(), key, "needle", 1); err != nil || len(hits) != 1 {
		t.Errorf("found %v, %v", hits, err)
	}
}
