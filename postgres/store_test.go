package postgres_test

import (
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/pleattest"
)

func TestConformance(t *testing.T) {
	url := database(t, theCluster(t))
	pleattest.TestStore(t,
		func(t *testing.T) pleat.Store { return open(t, url, nil) },
		&pleattest.StoreOptions{Reopen: func(t *testing.T, store pleat.Store) pleat.Store {
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, url, nil)
		}})
}
