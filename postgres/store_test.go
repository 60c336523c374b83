//go:build unix

package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/postgres"
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

// TestIndexOnSearch: nothing is indexed until somebody searches.
func TestIndexOnSearch(t *testing.T) {
	url := database(t, theCluster(t))
	store := open(t, url, &postgres.Options{IndexOnSearch: true})
	key := pleat.SessionKey{Session: "s"}
	if _, err := store.Append(t.Context(), key, 0, pleat.Entry{Kind: "k", Text: "a needle"}); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, want := range []int{0, 1} {
		var places int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pleat.place").Scan(&places); err != nil || places != want {
			t.Errorf("%d places, %v; want %d", places, err, want)
		}
		if hits, err := store.Search(t.Context(), key, "needle", 5); err != nil || len(hits) != 1 {
			t.Errorf("Search: %v, %v", hits, err)
		}
	}
}
