package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/store/storetest"
)

// unindexed is what an encrypted store can do.
type unindexed struct {
	store.Store
	store.Keeper
	store.Claimer
	store.Forker
}

func storeKey(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func sealed(t *testing.T, path string, keys ...[]byte) *sqlite.Store {
	t.Helper()
	return openWith(t, path, &sqlite.Options{Keys: keys})
}

func TestSealedConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	path := ""
	open := func(t *testing.T) store.Store {
		st := sealed(t, path, storeKey(1))
		return unindexed{st, st, st, st}
	}
	storetest.Test(t,
		func(t *testing.T) store.Store {
			path = filepath.Join(t.TempDir(), "store.db")
			return open(t)
		},
		&storetest.Options{Reopen: func(t *testing.T, store store.Store) store.Store {
			must(t, store.Close())
			return open(t)
		}})
}

// With a key nothing that was said can be read in the files; without it nothing can be read
// back; with a new key before the old one all of it can.
func TestSealed(t *testing.T) {
	dir, key := t.TempDir(), store.SessionKey{Session: "s"}
	path := filepath.Join(dir, "store.db")
	st := sealed(t, path, storeKey(1))
	said := store.Entry{
		Kind: "k", Label: "walrus label", Data: []byte(`{"walrus":"in data"}`),
		Body: []byte(strings.Repeat("the walrus in the body ", 100)), Text: "walrus text",
	}
	put(t, st, key, 0, said, store.Entry{Kind: "k", Body: []byte("walrus")})
	if _, err := st.Search(t.Context(), key, "walrus", 5); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Search: %v, want ErrUnsupported", err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err != nil || bytes.Contains(bytes.ToLower(data), []byte("walrus")) {
			t.Errorf("%s shows what was said (%v)", filepath.Base(file), err)
		}
	}
	st.Close()

	read := func(keys ...[]byte) error {
		st := sealed(t, path, keys...)
		defer st.Close()
		for e, err := range st.Scan(t.Context(), key, 1) {
			if err != nil {
				return err
			}
			body, err := st.Body(t.Context(), key, e.BodyHash)
			if err != nil {
				return err
			}
			if e.Seq == 1 &&
				(string(e.Data) != string(said.Data) || e.Label != said.Label || !bytes.Equal(body, said.Body)) {
				t.Errorf("read back: %+v, %d bytes", e, len(body))
			}
		}
		found, err := st.Find(t.Context(), "", "k", said.Label)
		if len(found) != 1 {
			t.Errorf("found %v, %v", found, err)
		}
		return err
	}
	if err := read(); !errors.Is(err, store.ErrCorrupt) ||
		!strings.Contains(err.Error(), "open the store with its key") {
		t.Errorf("without the key: %v", err)
	}
	if err := read(storeKey(2)); !errors.Is(err, store.ErrCorrupt) ||
		!strings.HasSuffix(err.Error(), "entry 1 is encrypted with a key that is not given: the one given may be wrong, or not the only one needed") {
		t.Errorf("with another key: %v", err)
	}
	// Nobody without the key adds anything, which would be readable or lost, or takes what is encrypted for
	// damaged and mends it.
	for _, keys := range [][][]byte{nil, {storeKey(2)}} {
		st := sealed(t, path, keys...)
		for _, e := range []store.Entry{{Kind: "k", Data: []byte("plain words")}, {Kind: "k", Body: said.Body}} {
			_, err := st.Append(t.Context(), store.SessionKey{Session: "new"}, 0, e)
			if err == nil || !strings.Contains(err.Error(), "the store is encrypted") {
				t.Errorf("with %d keys: %v", len(keys), err)
			}
		}
		st.Close()
	}
	if err := read(storeKey(2), storeKey(1)); err != nil {
		t.Errorf("with both keys: %v", err)
	}
	if _, err := sqlite.Open(path, &sqlite.Options{Keys: [][]byte{[]byte("short")}}); err == nil ||
		!strings.Contains(err.Error(), "want 32") {
		t.Errorf("with a short key: %v", err)
	}
}

// Who wrote before the store was encrypted does not go on in plain text, which also would let a wrong key
// pass. Bodies count without data.
func TestSealedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	for name, e := range map[string]store.Entry{
		"data": {Kind: "k", Data: []byte("some words")}, "body": {Kind: "k", Body: []byte("some words")},
	} {
		path := path + name
		add := func(st *sqlite.Store, session string) error {
			if len(e.Body) > 0 {
				e.Body = []byte("words of " + session)
			}
			_, err := st.Append(t.Context(), store.SessionKey{Session: session}, 0, e)
			return err
		}
		plain, wrong := sealed(t, path), sealed(t, path, storeKey(2))
		must(t, errors.Join(add(plain, "1"), add(sealed(t, path, storeKey(1)), "2")))
		for i, st := range []*sqlite.Store{plain, wrong, sealed(t, path), plain} {
			if err := add(st, "3"); err == nil || !strings.Contains(err.Error(), "the store is encrypted") {
				t.Errorf("%s: writer %d: %v", name, i, err)
			}
		}
		for _, st := range []*sqlite.Store{plain, wrong} {
			for d, err := range st.Verify(t.Context()) {
				if err == nil || !strings.Contains(err.Error(), "is encrypted") {
					t.Errorf("%s: verify without the key: %v, %v", name, d, err)
				}
			}
		}
		isWhole(t, sealed(t, path, storeKey(1)))
	}
}

// After a change of keys, the new one alone finds nothing damaged: it says that another is needed.
func TestSealedByTwoKeys(t *testing.T) {
	for name, e := range map[string]store.Entry{
		"data": {Kind: "k", Data: []byte("some words")}, "body": {Kind: "k", Body: []byte("some words")},
	} {
		path := filepath.Join(t.TempDir(), "store.db")
		for i, keys := range [][][]byte{{storeKey(1)}, {storeKey(2), storeKey(1)}} {
			e.Label = strings.Repeat("x", i)
			e.Body = append(e.Body, e.Body...)
			st := sealed(t, path, keys...)
			put(t, st, store.SessionKey{Session: name}, uint64(i), e)
		}
		var got []error
		for d, err := range sealed(t, path, storeKey(2)).Verify(t.Context()) {
			if got = append(got, err); d.What != "" {
				t.Errorf("%s: %v", name, d)
			}
		}
		if len(got) != 1 || got[0] == nil || !strings.Contains(got[0].Error(), "encrypted with a key that is not given") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A store stays encrypted when all that was in it is forgotten.
func TestSealedAndForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	st, key := sealed(t, path, storeKey(1)), store.SessionKey{Session: "s"}
	said := store.Entry{Kind: "k", Data: []byte("some words")}
	put(t, st, key, 0, said)
	must(t, st.Forget(t.Context(), key))
	for _, keys := range [][][]byte{nil, {storeKey(2)}} {
		if _, err := sealed(t, path, keys...).Append(t.Context(), key, 0, said); err == nil ||
			!strings.Contains(err.Error(), "the store is encrypted") {
			t.Errorf("with %d keys: %v", len(keys), err)
		}
	}
	if _, err := sealed(t, path, storeKey(2), storeKey(1)).Append(t.Context(), key, 0, said); err != nil {
		t.Errorf("with its key and a new one: %v", err)
	}
}

// What looks encrypted is not stored: nobody could read it back.
func TestLooksSealed(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "store.db"))
	for _, e := range []store.Entry{
		{Kind: "k", Label: "\x00pleat-sealed\x00x"}, {Kind: "k", Data: []byte("\x00pleat-sealed\x00x")},
	} {
		if _, err := st.Append(t.Context(), store.SessionKey{Session: "s"}, 0, e); err == nil {
			t.Errorf("stored %+v", e)
		}
	}
}
