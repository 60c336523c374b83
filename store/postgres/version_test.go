//go:build unix

package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
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

// nextVersion makes up a next version of the schema until restore is called.
func nextVersion(t *testing.T, step string) (restore func()) {
	before := *postgres.Versions
	postgres.Versions.Steps = append(before.Steps[:len(before.Steps):len(before.Steps)], step)
	restore = func() { *postgres.Versions = before }
	t.Cleanup(restore)
	return restore
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

// A store of an older version is brought up to date for whoever asks, once, however many do, and all of it or
// nothing. Who opened it before writes no more.
func TestMigrate(t *testing.T) {
	url := frozen(t)
	older := withFrozenKey(t, url)
	restore := nextVersion(t, "CREATE TABLE pleat.extra(x bigint); DELETE FROM pleat.entry; DELETE FROM pleat.nowhere;")
	migrate := &postgres.Options{Migrate: true}
	if _, err := postgres.Open(t.Context(), url, migrate); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a wrong step: %v", err)
	}
	restore()
	checkFrozen(t, withFrozenKey(t, url))

	restore = nextVersion(t, "CREATE TABLE pleat.extra AS SELECT count(*) x FROM pleat.session;")
	for _, opts := range []*postgres.Options{nil, {ReadOnly: true, Migrate: true}} {
		_, err := postgres.Open(t.Context(), url, opts)
		if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "schema version 2, this program knows 3: "+
			`store has another schema: "pleat store migrate" brings it up to date`) {
			t.Errorf("not asked: %v", err)
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			st, err := postgres.Open(t.Context(), url, migrate)
			if err != nil {
				t.Error(err)
				return
			}
			st.Close()
		})
	}
	wg.Wait()
	checkFrozen(t, withFrozenKey(t, url))
	var rows, sessions, version int
	must(t, connect(t, url).QueryRow(t.Context(), `SELECT count(*), max(x), (SELECT max(version) FROM pleat.version)
		FROM pleat.extra`).Scan(&rows, &sessions, &version))
	if rows != 1 || sessions != 4 || version != 3 {
		t.Errorf("%d rows, %d sessions, version %d; want 1, 4, 3", rows, sessions, version)
	}
	restore()
	key := store.SessionKey{Session: "folded"}
	if _, err := older.Append(t.Context(), key, 18, store.Entry{Kind: "k"}); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Append by an older program: %v, want ErrSchema", err)
	}
	if err := older.Forget(t.Context(), key); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Forget by an older program: %v, want ErrSchema", err)
	}
	if _, err := postgres.Open(t.Context(), url, migrate); !errors.Is(err, store.ErrSchema) ||
		!strings.Contains(err.Error(), "use a newer version of pleat") {
		t.Errorf("opened by an older program: %v", err)
	}
}
