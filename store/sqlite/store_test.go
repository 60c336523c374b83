package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

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

// must ends the test if something on its way failed.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
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
