//go:build unix

package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
	"github.com/pleat-dev/pleat/transcript"
)

// frozen makes a database with the tables of version 2 that are kept for good.
func frozen(t *testing.T) (url string) {
	t.Helper()
	script, err := os.ReadFile("testdata/version2.sql")
	must(t, err)
	url = pgtest.Shared(t).Database(t)
	run(t, url, string(script))
	return url
}

// checkFrozen reads all sessions of a store that was frozen, every byte of them.
func checkFrozen(t *testing.T, st *postgres.Store) {
	t.Helper()
	want, err := os.ReadFile("../testdata/frozen.txt")
	must(t, err)
	var b strings.Builder
	tenants, err := st.Tenants(t.Context())
	must(t, err)
	for _, tenant := range tenants {
		for info, err := range st.Sessions(t.Context(), tenant) {
			must(t, err)
			fmt.Fprintf(&b, "%q %q\n", info.Key.Tenant, info.Key.Session)
			for e, err := range st.Scan(t.Context(), info.Key, 1) {
				if err == nil && e.BodySize > 0 {
					e.Body, err = st.Body(t.Context(), info.Key, e.BodyHash)
				}
				must(t, err)
				if len(e.Body) > 1000 {
					e.Body = fmt.Appendf(nil, "%d bytes %v", e.BodySize, transcript.HashOf(e.Body))
				}
				fmt.Fprintf(&b, "%d %q %q %d %q %q\n", e.Seq, e.Kind, e.Label, e.Time.UnixMilli(), e.Data, e.Body)
			}
		}
	}
	difftest.Equal(t, string(want), b.String(), "the frozen store")
	for damage, err := range st.Verify(t.Context()) {
		t.Errorf("%v, %v", damage, err)
	}
}

// withFrozenKey opens a store with the key that has encrypted the session "sealed" in it.
func withFrozenKey(t *testing.T, url string) *postgres.Store {
	t.Helper()
	return open(t, url, &postgres.Options{Keys: [][]byte{bytes.Repeat([]byte{7}, 32)}})
}

// Stores of every version since the first release are read, searched and written.
func TestFrozen(t *testing.T) {
	url := frozen(t)
	st := withFrozenKey(t, url)
	checkFrozen(t, st)
	forms := store.SessionKey{Tenant: "team", Session: "forms"}
	for word, want := range map[string]uint64{"ocelot": 9, "walrus": 10, "aardvark": 11, "badgers": 12} {
		hits, err := open(t, url, nil).Search(t.Context(), forms, word, 1)
		if err != nil || len(hits) != 1 || hits[0].Seq != want {
			t.Errorf("Search of %s: %v, %v", word, hits, err)
		}
	}
	found, err := st.Find(t.Context(), "team", "prefix", "twice")
	if err != nil || len(found) != 1 || string(found[0].Entry.Data) != "second" || found[0].Key.Session != "fork" {
		t.Errorf("Find: %v, %v", found, err)
	}
	put(t, st, forms, 12, store.Entry{Kind: "k"})
	must(t, st.Forget(t.Context(), forms))
}

// Who has a store open writes no more once a newer program has changed its version.
func TestChangedVersion(t *testing.T) {
	url := frozen(t)
	st := withFrozenKey(t, url)
	run(t, url, "UPDATE pleat.version SET version = 3")
	key := store.SessionKey{Session: "folded"}
	if _, err := st.Append(t.Context(), key, 18, store.Entry{Kind: "k"}); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Append: %v, want ErrSchema", err)
	}
	if err := st.Forget(t.Context(), key); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Forget: %v, want ErrSchema", err)
	}
}
