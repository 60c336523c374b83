package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func (s *clause) close() {
	key := s.key("a")
	s.append(key, 0, message(0))
	for range 2 {
		if err := s.Close(); err != nil {
			s.Fatalf("Close: %v", err)
		}
	}
	s.fails(s.Context(), store.ErrClosed)
}

// fails holds every call with that context to an error.
func (s *clause) fails(ctx context.Context, want error) {
	s.Helper()
	key, check := s.key("a"), func(call string, err error) {
		s.Helper()
		s.wants(want, err, "%s", call)
	}
	_, err := s.Append(ctx, key, 1, message(1))
	check("Append", err)
	_, err = s.Body(ctx, key, transcript.HashOf("body number 0"))
	check("Body", err)
	_, err = s.Find(ctx, key.Tenant, "k", "l")
	check("Find", err)
	check("Scan", lastError(s.Scan(ctx, key, 0)))
	if searcher, ok := s.Store.(store.Searcher); ok {
		_, err = searcher.Search(ctx, key, "x", 1)
		check("Search", err)
	}
	if claimer, ok := s.Store.(store.Claimer); ok {
		_, _, err = claimer.Claim(ctx, key, "digest", time.Hour)
		check("Claim", err)
	}
	if forker, ok := s.Store.(store.Forker); ok {
		check("Fork", forker.Fork(ctx, key, 1, s.key("fork"), sameData))
	}
	if keeper, ok := s.Store.(store.Keeper); ok {
		check("Forget", keeper.Forget(ctx, key))
		check("Sessions", lastError(keeper.Sessions(ctx, key.Tenant)))
		check("Verify", lastError(keeper.Verify(ctx)))
	}
}

// kept holds all bodies that the store returned, then changes one: they are the caller's.
func (s *clause) kept(key store.SessionKey, all []store.Entry) {
	held := make([][]byte, len(all))
	for _, change := range []bool{false, true} {
		for i, e := range all {
			var err error
			if held[i], err = s.Body(s.Context(), key, transcript.HashOf(e.Body)); err != nil {
				s.Fatal(err)
			}
		}
		for i, e := range all {
			if !bytes.Equal(held[i], e.Body) {
				s.Errorf("body %d is another one after Body returned more: the caller may keep it", i)
			}
			if change {
				clear(held[i])
			}
		}
	}
	s.check(key, all)
}

func (s *clause) contextDone() {
	key := s.key("a")
	s.append(key, 0, message(0))
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	s.fails(ctx, context.Canceled)
	s.check(key, messages(0, 1))
	s.check(s.key("fork"), nil)

	// Cancelled at any moment, an Append either happened or did not, as it says.
	var wg sync.WaitGroup
	for i := range 30 {
		key := s.key(fmt.Sprint("race", i))
		ctx, cancel := context.WithCancel(s.Context())
		wg.Go(cancel)
		_, err := s.Append(ctx, key, 0, messages(0, 5)...)
		if err == nil {
			s.check(key, messages(0, 5))
		} else if got := s.scan(key, 0); len(got) != 0 {
			s.Errorf("Append said %v but %d entries are there", err, len(got))
		}
	}
	wg.Wait()
}

func (s *clause) find() {
	a, b := s.key("a"), s.key("b")
	elsewhere := store.SessionKey{Tenant: s.Name() + "elsewhere", Session: "a"}
	entry := func(kind store.EntryKind, label, data string) store.Entry {
		return store.Entry{Kind: kind, Label: label, Data: []byte(data), Body: []byte("body of " + data), Time: clock}
	}
	s.append(a, 0, entry("k", "one", "1"), entry("k", "two", "2"), entry("other", "one", "3"), entry("k", "", "4"))
	s.append(elsewhere, 0, entry("k", "one", "5"), entry("k", "only there", "6"))
	late, last := entry("k", "two", "7"), entry("k", "one", "9")
	late.Time, last.Time = clock.Add(-time.Hour), clock.Add(-time.Hour) // appended later, though they say otherwise
	s.append(b, 0, late, entry("k", "one", "8"))
	s.append(a, 4, last, entry("other", "one", "10"), entry("other", "only of that kind", "11"))

	one, two := asStored([]store.Entry{last})[0], asStored([]store.Entry{late})[0]
	one.Seq = 5
	s.stays(func() {
		s.Helper()
		s.checkFound(a.Tenant, "k", []string{"one", "one", "two", "three", "only there", "only of that kind", "", "one"},
			store.Found{Key: a, Entry: one}, store.Found{Key: b, Entry: two})
	})
}

// checkFound compares what Find returns with what it should, in the order of the labels.
func (s *clause) checkFound(tenant string, kind store.EntryKind, labels []string, want ...store.Found) {
	s.Helper()
	got, err := s.Find(s.Context(), tenant, kind, labels...)
	if err != nil {
		s.Fatalf("Find(%q, %q): %v", kind, labels, err)
	}
	slices.SortFunc(got, func(x, y store.Found) int { return strings.Compare(x.Entry.Label, y.Entry.Label) })
	difftest.Equal(s, want, got, "Find(", kind, ", ", labels, ")")
	for _, f := range got {
		s.checkTime(f.Entry)
	}
}

// findMany is the question a proxy asks: which of these prefixes do you know?
func (s *clause) findMany() {
	key, last := s.key("a"), uint64(0)
	var labels []string
	var entries []store.Entry
	for i := range 1500 {
		label := transcript.HashOf(fmt.Sprint(s.Name(), i)).String()
		labels = append(labels, label, label+"?")
		entries = append(entries, store.Entry{Kind: store.EntryPrefix, Label: label})
	}
	for part := range slices.Chunk(entries, 500) {
		last = s.append(key, last, part...)
	}
	found, err := s.Find(s.Context(), key.Tenant, store.EntryPrefix, labels...)
	if err != nil || len(found) != len(entries) {
		s.Fatalf("Find: %d entries, %v; want %d", len(found), err, len(entries))
	}
	for _, f := range found {
		if want := entries[f.Entry.Seq-1].Label; f.Entry.Label != want {
			s.Fatalf("entry %d has label %q, want %q", f.Entry.Seq, f.Entry.Label, want)
		}
	}
}

// scanWhileAppending: an iterator holds nothing that the loop's body could need.
func (s *clause) scanWhileAppending() {
	key := s.key("a")
	s.append(key, 0, messages(0, 400)...)
	last, seen := uint64(400), uint64(0)
	for e, err := range s.Scan(s.Context(), key, 1) {
		if err != nil {
			s.Fatal(err)
		}
		if seen++; e.Seq != seen {
			s.Fatalf("entry %d where %d was due", e.Seq, seen)
		}
		if e.Seq%50 == 0 && e.Seq <= 400 {
			last = s.append(key, last, message(int(last)))
			if _, err := s.Body(s.Context(), key, e.BodyHash); err != nil {
				s.Fatal(err)
			}
			if got := s.scan(key, last); len(got) != 1 {
				s.Fatalf("%d entries from %d on, want 1", len(got), last)
			}
		}
	}
	if seen < 400 {
		s.Errorf("scan saw %d entries, want at least the 400 that were there", seen)
	}
	s.check(key, messages(0, int(last)))
}

func (s *clause) scanStopped() {
	key := s.key("a")
	s.append(key, 0, messages(0, 600)...)
	for range 200 { // more often than a store has connections
		for e, err := range s.Scan(s.Context(), key, 1) {
			if err != nil {
				s.Fatal(err)
			}
			if e.Seq == 2 {
				break
			}
		}
	}
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	var last error
	n := 0
	for _, err := range s.Scan(ctx, key, 1) {
		last = err
		if n++; n == 5 {
			cancel()
		}
	}
	if n == 600 && last == nil {
		return // all of it was in hand already: allowed
	}
	s.wants(context.Canceled, last, "Scan cancelled after 5 entries ended after %d", n)
}
