package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/store/storetest"
	"github.com/pleat-dev/pleat/transcript"
)

// open opens the store in the file, and closes it with the test.
func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	return openWith(t, path, nil)
}

func openWith(t testing.TB, path string, o *sqlite.Options) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(path, o)
	must(t, err)
	t.Cleanup(func() { store.Close() })
	return store
}

func put(t testing.TB, st store.Store, key store.SessionKey, last uint64, entries ...store.Entry) {
	t.Helper()
	if _, err := st.Append(t.Context(), key, last, entries...); err != nil {
		t.Fatal(err)
	}
}

var must = difftest.Must

// isWhole holds a store to having no damage.
func isWhole(t testing.TB, st store.Keeper) {
	t.Helper()
	for damage, err := range st.Verify(t.Context()) {
		t.Errorf("Verify: %+v, %v", damage, err)
	}
}

func TestConformance(t *testing.T) {
	path := ""
	storetest.Test(t,
		func(t *testing.T) store.Store {
			path = filepath.Join(t.TempDir(), "store.db")
			return open(t, path)
		},
		&storetest.Options{
			Reopen: func(t *testing.T, store store.Store) store.Store {
				must(t, store.Close())
				return open(t, path)
			},
			Another: func(t *testing.T, _ store.Store) store.Store { return open(t, path) },
			Damage: func(t *testing.T, _ store.Store, _ store.SessionKey, body transcript.Hash) {
				execute(t, path,
					fmt.Sprintf("UPDATE blob SET data = zeroblob(length(data)) WHERE hash = x'%x'", body[:]))
			},
			Spoil: func(t *testing.T, _ store.Store, key store.SessionKey, seq uint64, remove bool) {
				text := "UPDATE entry SET data = x'00'"
				if remove {
					text = "DELETE FROM entry"
				}
				execute(t, path, fmt.Sprintf("%s WHERE seq = %d AND session = (SELECT id FROM session WHERE name = x'%x')", text, seq, key.Session))
			},
		})
}

func TestTenants(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pleat.db"))
	for _, key := range []store.SessionKey{
		{Tenant: "b", Session: "1"}, {Session: "1"}, {Tenant: "a\xff", Session: "1"}, {Tenant: "b", Session: "2"},
	} {
		put(t, st, key, 0, store.Entry{Kind: store.EntryNote})
	}
	got, err := st.Tenants(t.Context())
	if d := difftest.Values([]string{"", "a\xff", "b"}, got); d != "" || err != nil {
		t.Errorf("%v, tenants (-want +got):\n%s", err, d)
	}
}

// A text that is indexed in many steps is found everywhere, as in a store that takes it in
// one, also when it is indexed anew and when another one is waiting behind it.
func TestIndexLongText(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	var long strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&long, "line number%d of a log\n", i)
	}
	key := store.SessionKey{Session: "long"}
	file := open(t, filepath.Join(t.TempDir(), "p.db"))
	mem := store.NewMemory()
	for _, st := range []store.Store{file, mem} {
		put(t, st, key, 0, store.Entry{Kind: "a", Text: long.String()}, store.Entry{Kind: "a", Text: "behind number7"})
	}
	for range 2 {
		for _, query := range []string{"number0", "number7", "number29999", "number59999", "behind"} {
			got, err := file.Search(t.Context(), key, query, 5)
			must(t, err)
			want, err := mem.Search(t.Context(), key, query, 5)
			must(t, err)
			places := func(hits []store.Hit) (out []string) {
				for _, h := range hits {
					out = append(out, fmt.Sprint(h.Seq, h.From, h.To, h.Start, h.End))
				}
				return out
			}
			if d := difftest.Values(places(want), places(got)); d != "" || len(got) == 0 {
				t.Errorf("search %q: %s", query, d)
			}
		}
		must(t, file.Reindex(t.Context()))
	}
}
