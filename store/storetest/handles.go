package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// another opens the store a second time, or skips the clause.
func (s *clause) another() *clause {
	s.Helper()
	if s.opts.Another == nil {
		s.Skip("the store is open only once at a time")
	}
	return &clause{T: s.T, Store: s.opts.Another(s.T, s.Store), opts: s.opts}
}

// handles: what one process wrote another one sees at once, whatever it has read before.
func (s *clause) handles() {
	key, other := s.key("a"), s.another()
	entry := func(data string) store.Entry {
		return store.Entry{Kind: "k", Label: s.Name(), Data: []byte(data), Text: data}
	}
	newest := func(at *clause, data string) {
		s.Helper()
		found, err := at.Find(s.Context(), key.Tenant, "k", s.Name())
		if err != nil || len(found) != 1 || string(found[0].Entry.Data) != data {
			s.Errorf("Find: %v, %v; want the entry with %q", found, err, data)
		}
	}
	s.append(key, 0, messages(0, 3)...)
	other.check(key, messages(0, 3))
	other.append(key, 3, messages(3, 5)...)
	s.check(key, messages(0, 5))
	_, err := s.Append(s.Context(), key, 3, message(9))
	s.wants(store.ErrConflict, err, "Append after what another process appended")
	s.append(key, 5, entry("first words"))
	newest(other, "first words")
	other.append(s.key("b"), 0, entry("second words"))
	newest(s, "second words")
	newest(other, "second words")
	s.expect(key, map[string][]uint64{"first": {6}})
	other.append(key, 6, entry("third words"))
	s.expect(key, map[string][]uint64{"third": {7}})
	other.expect(key, map[string][]uint64{"words": {6, 7}})
	if other.drop(key) { // and its name is free
		s.check(key, nil)
		s.noBody(key, transcript.HashOf("body number 1"), "a session that another process deleted")
		s.append(key, 0, message(1))
		other.check(key, messages(1, 2))
	}
	if err := other.Close(); err != nil {
		s.Errorf("Close of the second: %v", err)
	}
	s.append(s.key("c"), 0, messages(0, 2)...)
	s.check(s.key("c"), messages(0, 2))
}

// handlesCompete: writers of two processes are as safe from each other as those of one.
func (s *clause) handlesCompete() {
	other := s.another()
	defer other.Close()
	s.compete(s.Store, other.Store)
	if _, ok := s.Store.(store.Claimer); !ok {
		return
	}
	release := s.given(s.key("claimed"), time.Hour)
	other.held(s.key("claimed"), "given to two processes")
	release()
	other.given(s.key("claimed"), time.Hour)
}

func (s *clause) manyWriters() { s.compete(s.Store) }

// compete: of writers that expect the same last entry exactly one wins, and nobody is in the way of one who
// writes to a session of its own. Each handle then writes once more: a fast one may have won all rounds.
func (s *clause) compete(handles ...store.Store) {
	const writers, rounds = 8, 15
	key := s.key("a")
	var mu sync.Mutex
	winner := make(map[uint64]string)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			h, own := handles[w%len(handles)], s.key(fmt.Sprint(w))
			for last := uint64(0); last < rounds; {
				_, err := h.Append(s.Context(), own, last, message(100*w+int(last)))
				if err = errors.Join(err, lastError(h.Scan(s.Context(), own, last))); err != nil {
					s.Error(err)
				}
				name := fmt.Sprintf("writer %d after %d", w, last)
				now, err := h.Append(s.Context(), key, last,
					store.Entry{Kind: "k", Data: []byte(name), Body: []byte(name)})
				if err == nil {
					mu.Lock()
					if other, taken := winner[now]; taken {
						s.Errorf("entry %d was given to %q and to %q", now, other, name)
					}
					winner[now] = name
					mu.Unlock()
				} else if !errors.Is(err, store.ErrConflict) {
					s.Errorf("%s: %v", name, err)
					return
				}
				last++
			}
		})
	}
	wg.Wait()
	for w := range writers {
		s.check(s.key(fmt.Sprint(w)), messages(100*w, 100*w+rounds))
	}
	for i, h := range handles {
		name := fmt.Sprintf("handle %d at last", i)
		last, err := h.Append(s.Context(), key, uint64(rounds+i),
			store.Entry{Kind: "k", Data: []byte(name), Body: []byte(name)})
		if err != nil {
			s.Fatalf("%s: %v", name, err)
		}
		winner[last] = name
	}
	got := s.scan(key, 0)
	if want := rounds + len(handles); len(got) != want || len(winner) != want {
		s.Fatalf("%d entries and %d winners, want %d", len(got), len(winner), want)
	}
	for _, e := range got {
		if string(e.Data) != winner[e.Seq] {
			s.Errorf("entry %d is %q, but %q was told so", e.Seq, e.Data, winner[e.Seq])
		}
	}
}
