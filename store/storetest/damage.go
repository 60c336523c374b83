package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func (s *clause) damagedBody() {
	if s.opts.Damage == nil {
		s.Skip("the suite is not told how to damage a body")
	}
	key, body := s.key("damaged"), noise(1_000)
	s.append(key, 0, store.Entry{Kind: "k", Body: body}, message(1))
	hash := transcript.HashOf(body)
	s.opts.Damage(s.T, s.Store, key, hash)
	got, err := s.Body(s.Context(), key, hash)
	s.wants(store.ErrCorrupt, err, "a damaged body: %d bytes", len(got))
	if !s.foundDamaged(func(at store.SessionKey) bool { return at == key || at.Session == "" }) {
		s.Error("Verify does not find a damaged body")
	}
	s.mended(key, body)
}

// mended: whoever appends a damaged body to its session again mends it.
func (s *clause) mended(key store.SessionKey, body []byte) {
	again := store.Entry{Kind: "k", Body: body}
	s.append(key, 2, again)
	check := func() {
		s.Helper()
		s.check(key, []store.Entry{{Kind: "k", Body: body}, message(1), again})
	}
	check()
	if _, ok := s.Store.(store.Keeper); ok && s.foundDamaged(func(store.SessionKey) bool { return true }) {
		s.Error("Verify finds damage in a body that was appended again")
	}
	if s.reopened() {
		check()
	}
	s.opts.Damage(s.T, s.Store, key, transcript.HashOf(body))
	s.drop(key) // as any other session
}

// damagedLabel: neither is an older entry taken for the newest one, which is damaged, nor does that
// one hide those of other labels.
func (s *clause) damagedLabel() {
	if s.opts.Spoil == nil {
		s.Skip("the suite is not told how to damage an entry")
	}
	key := store.SessionKey{Tenant: s.Name(), Session: s.Name()}
	entry := func(label string) store.Entry {
		return store.Entry{Kind: "k", Label: label, Data: []byte(label), Time: clock}
	}
	all := []store.Entry{entry("spoiled"), entry("whole"), entry("spoiled"), entry("beside")}
	s.append(key, 0, all...)
	s.opts.Spoil(s.T, s.Store, key, 3, false)
	stored := asStored(all)
	s.checkFound(key.Tenant, "k", []string{"whole", "beside", "none"},
		store.Found{Key: key, Entry: stored[3]}, store.Found{Key: key, Entry: stored[1]})
	newest := store.Found{Key: key, Entry: stored[2]} // of a store that keeps it twice
	for _, labels := range [][]string{{"spoiled"}, {"whole", "spoiled"}} {
		found, err := s.Find(s.Context(), key.Tenant, "k", labels...)
		whole := err == nil && slices.ContainsFunc(found, func(f store.Found) bool { return reflect.DeepEqual(f, newest) })
		if !whole && !errors.Is(err, store.ErrCorrupt) {
			s.Errorf("Find of %q, the newest of which is damaged: %d entries, %v, want ErrCorrupt", labels,
				len(found), err)
		}
	}
	s.drop(key) // as any other session
}

func (s *clause) damagedEntry() {
	if s.opts.Spoil == nil {
		s.Skip("the suite is not told how to damage an entry")
	}
	for _, remove := range []bool{false, true} {
		for seq := range uint64(3) {
			what := fmt.Sprintf("entry %d of 3, removed %t", seq+1, remove)
			key := s.key(what)
			for i := range 3 { // each alone, so that a store which keeps them so must miss the newest too
				s.append(key, uint64(i), messages(i, i+1)...)
			}
			s.opts.Spoil(s.T, s.Store, key, seq+1, remove)
			var got []store.Entry
			var last error
			for e, err := range s.Scan(s.Context(), key, 0) {
				if last = err; err == nil {
					got = append(got, e)
				}
			}
			if !errors.Is(last, store.ErrCorrupt) || uint64(len(got)) > seq {
				s.Errorf("%s: Scan yields %d entries, then %v, want ErrCorrupt", what, len(got), last)
			} else if d := difftest.Values(asStored(messages(0, len(got))), got); len(got) > 0 && d != "" {
				s.Errorf("%s: Scan yields (-want +got):\n%s", what, d)
			}
			if !s.foundDamaged(func(at store.SessionKey) bool { return at == key }) {
				s.Errorf("%s: Verify does not find it", what)
			}
			s.drop(key) // as any other session
		}
	}
}

// foundDamaged reports whether Verify finds damage at such a key, if the store can look for it.
func (s *clause) foundDamaged(at func(store.SessionKey) bool) bool {
	keeper, ok := s.Store.(store.Keeper)
	if !ok {
		return true
	}
	found := false
	for damage, err := range keeper.Verify(s.Context()) {
		found = found || err == nil && at(damage.Key)
	}
	return found
}
