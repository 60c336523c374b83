//go:build unix

package postgres_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
	"github.com/pleat-dev/pleat/store/storetest"
)

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
