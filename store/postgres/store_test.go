//go:build unix

package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
	"github.com/pleat-dev/pleat/store/storetest"
	"github.com/pleat-dev/pleat/transcript"
)

func TestConformance(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	storetest.Test(t,
		func(t *testing.T) store.Store { return open(t, url, nil) },
		&storetest.Options{
			Reopen: func(t *testing.T, store store.Store) store.Store {
				must(t, store.Close())
				return open(t, url, nil)
			},
			Another: func(t *testing.T, _ store.Store) store.Store { return open(t, url, nil) },
			Damage: func(t *testing.T, _ store.Store, _ store.SessionKey, body transcript.Hash) {
				run(t, url, "UPDATE pleat.blob SET data = 'something else' WHERE hash = $1", body[:])
			},
			Spoil: func(t *testing.T, _ store.Store, key store.SessionKey, seq uint64, remove bool) {
				text := "UPDATE pleat.entry SET data = 'something else'"
				if remove {
					text = "DELETE FROM pleat.entry"
				}
				run(t, url, text+" WHERE session = $1 AND seq = $2", sessionID(t, url, key), seq)
			},
		})
}

// TestIndexOnSearch: nothing is indexed until somebody searches.
func TestIndexOnSearch(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	st := open(t, url, nil)
	key := store.SessionKey{Session: "s"}
	put(t, st, key, 0, store.Entry{Kind: "k", Text: "a needle"})
	conn := connect(t, url)
	for _, want := range []int{0, 1} {
		var places int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pleat.place").Scan(&places); err != nil ||
			places != want {
			t.Errorf("%d places, %v; want %d", places, err, want)
		}
		if hits, err := st.Search(t.Context(), key, "needle", 5); err != nil || len(hits) != 1 {
			t.Errorf("Search: %v, %v", hits, err)
		}
	}
}

func TestTenants(t *testing.T) {
	st := open(t, pgtest.Shared(t).Database(t), nil)
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

// TestMustExist: whoever only wants to read leaves nothing behind in a database.
func TestMustExist(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	for range 2 {
		if _, err := postgres.Open(t.Context(), url, &postgres.Options{MustExist: true}); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("Open of an empty database: %v, want ErrNotFound", err)
		}
	}
	open(t, url, nil)
	open(t, url, &postgres.Options{MustExist: true})
}

// TestReadOnly: a store that was opened to be read is left as it is, and says so to who
// wants to write.
func TestReadOnly(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	if _, err := postgres.Open(t.Context(), url, &postgres.Options{ReadOnly: true}); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("Open of an empty database: %v, want ErrNotFound", err)
	}
	key := store.SessionKey{Session: "s"}
	put(t, open(t, url, nil), key, 0, numbered(key, 1))
	st := open(t, url, &postgres.Options{ReadOnly: true})
	if n := checkNumbered(t, st, key); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
	isWhole(t, st)
	_, appended := st.Append(t.Context(), key, 1, numbered(key, 2))
	_, searched := st.Search(t.Context(), key, "entry", 1)
	_, _, claimed := st.Claim(t.Context(), key, "digest", time.Hour)
	for name, err := range map[string]error{
		"Append": appended, "Forget": st.Forget(t.Context(), key), "Search": searched, "Claim": claimed,
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: %v, want ErrReadOnly", name, err)
		}
	}
}

func TestSealedConformance(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	storetest.Test(t, func(t *testing.T) store.Store {
		st := open(t, url, &postgres.Options{Keys: [][]byte{bytes.Repeat([]byte{1}, 32)}})
		return struct { // all but search, for which there is no index
			store.Store
			store.Keeper
			store.Claimer
			store.Forker
		}{st, st, st, st}
	}, nil)
}

// With a key no row of any table shows what was said.
func TestSealed(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	st := open(t, url, &postgres.Options{Keys: [][]byte{bytes.Repeat([]byte{1}, 32)}})
	_, err := st.Append(t.Context(), store.SessionKey{Session: "s"}, 0, store.Entry{
		Kind: "k", Label: "walrus label", Data: []byte(`{"walrus":"in data"}`),
		Body: []byte(strings.Repeat("the walrus ", 100)), Text: "walrus text",
	})
	must(t, err)
	plain := open(t, url, nil)
	_, err = plain.Append(t.Context(), store.SessionKey{Session: "plain"}, 0, store.Entry{Kind: "k", Data: []byte("x")})
	if err == nil || !strings.Contains(err.Error(), "the store is encrypted") {
		t.Errorf("append without the key: %v", err)
	}
	for d, err := range plain.Verify(t.Context()) {
		if err == nil || !strings.Contains(err.Error(), "is encrypted") {
			t.Errorf("verify without the key: %v, %v", d, err)
		}
	}
	conn := connect(t, url)
	for _, table := range []string{"session", "entry", "blob", "text", "place", "pending"} {
		list, err := conn.Query(t.Context(), "SELECT * FROM pleat."+table)
		must(t, err)
		for list.Next() {
			row, err := list.Values()
			must(t, err)
			for _, v := range row {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				if strings.Contains(fmt.Sprint(v), "walrus") {
					t.Errorf("a row of %s shows what was said: %q", table, v)
				}
			}
		}
		if list.Err() != nil {
			t.Error(list.Err())
		}
	}
}

// Who wrote before the store was encrypted does not go on in plain text, nor in a key that was taken from use.
func TestSealedMeanwhile(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	with := func(keys ...byte) *postgres.Store {
		opts := &postgres.Options{}
		for _, k := range keys {
			opts.Keys = append(opts.Keys, bytes.Repeat([]byte{k}, 32))
		}
		return open(t, url, opts)
	}
	n := 0
	add := func(st *postgres.Store) error {
		n++
		text := []byte(fmt.Sprint("words ", n))
		_, err := st.Append(t.Context(), store.SessionKey{Session: string(text)}, 0, store.Entry{Kind: "k", Body: text})
		return err
	}
	plain, old, rotated, back := with(), with(1), with(2, 1), with(1, 2)
	for i, want := range []struct {
		st      *postgres.Store
		refused bool
	}{
		{plain, false},
		{old, false},
		{plain, true},
		{with(), true},
		{with(3), true},
		{rotated, false},
		{old, true},
		{with(1), true},
		{back, false},
		{rotated, false},
		{plain, true},
	} {
		err := add(want.st)
		if refused := err != nil && strings.Contains(err.Error(), "the store is encrypted"); refused != want.refused ||
			!refused && err != nil {
			t.Errorf("writer %d: %v", i, err)
		}
		if _, err := want.st.Append(t.Context(), store.SessionKey{Session: "none"}, 0); (err != nil) != want.refused {
			t.Errorf("writer %d of nothing: %v", i, err)
		}
	}
	for d, err := range rotated.Verify(t.Context()) {
		t.Error(d, err)
	}
}
