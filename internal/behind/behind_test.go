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

// claimer is a store that can claim and not search.
type claimer struct {
	store.Store
	store.Claimer
}

// searcher is a store that can search and not claim.
type searcher struct {
	store.Store
	store.Searcher
}

// Whole can search and claim where the store behind it can.
func TestWhole(t *testing.T) {
	m := store.NewMemory()
	for name, tt := range map[string]struct {
		st               store.Store
		searches, claims bool
	}{
		"all":      {m, true, true},
		"searcher": {searcher{m, m}, true, false},
		"claimer":  {claimer{m, m}, false, true},
		"neither":  {struct{ store.Store }{m}, false, false},
	} {
		whole := behind.New(tt.st, func(f func()) { f() }, nil).Whole()
		if _, ok := whole.(store.Searcher); ok != tt.searches {
			t.Errorf("%s: searches %t, want %t", name, ok, tt.searches)
		}
		c, ok := whole.(store.Claimer)
		if ok != tt.claims {
			t.Errorf("%s: claims %t, want %t", name, ok, tt.claims)
		}
		if !ok {
			continue
		}
		if _, ok, err := c.Claim(t.Context(), store.SessionKey{Session: name}, "digest", time.Hour); err != nil || !ok {
			t.Errorf("%s: Claim: %t, %v", name, ok, err)
		}
	}
}

// A search finds what was appended before it, also what is still on its way.
func TestSearchWaits(t *testing.T) {
	key := store.SessionKey{Session: "s"}
	var work sync.WaitGroup
	defer work.Wait()
	whole := behind.New(store.NewMemory(), work.Go, func(err error) { t.Error(err) }).Whole()
	if _, err := whole.Append(t.Context(), key, 0, store.Entry{Kind: store.EntryMessage, Text: "a needle"}); err != nil {
		t.Fatal(err)
	}
	if hits, err := whole.(store.Searcher).Search(t.Context(), key, "needle", 1); err != nil || len(hits) != 1 {
		t.Errorf("found %v, %v", hits, err)
	}
}
