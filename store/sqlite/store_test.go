package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/store/storetest"
)

// open opens the store in the file, and closes it with the test.
func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
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
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
				return open(t, path)
			},
			Another: func(t *testing.T, _ store.Store) store.Store { return open(t, path) },
		})
}
