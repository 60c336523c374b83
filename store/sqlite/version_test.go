package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// frozen copies the file of version 3 that is kept for good.
func frozen(t *testing.T) (path string) {
	t.Helper()
	file, err := os.ReadFile("testdata/version3.sqlite")
	must(t, err)
	path = filepath.Join(t.TempDir(), "pleat.db")
	must(t, os.WriteFile(path, file, 0o600))
	return path
}

// frozenKey has encrypted the session "sealed" in it.
var frozenKey = bytes.Repeat([]byte{7}, 32)

// checkFrozen reads all sessions of a store that was frozen, every byte of them.
func checkFrozen(t *testing.T, path string) {
	t.Helper()
	want, err := os.ReadFile("../testdata/frozen.txt")
	must(t, err)
	st := sealed(t, path, frozenKey)
	defer st.Close()
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
	difftest.Equal(t, string(want), b.String(), path)
	for damage, err := range st.Verify(t.Context()) {
		t.Errorf("%s: %v, %v", path, damage, err)
	}
}

// Stores of every version since the first release are read, searched and written.
func TestFrozen(t *testing.T) {
	path := frozen(t)
	checkFrozen(t, path)
	st, forms := open(t, path), store.SessionKey{Tenant: "team", Session: "forms"}
	for word, want := range map[string]uint64{"ocelot": 9, "walrus": 10, "aardvark": 11, "badgers": 12} {
		if hits, err := st.Search(t.Context(), forms, word, 1); err != nil || len(hits) != 1 || hits[0].Seq != want {
			t.Errorf("Search of %s: %v, %v", word, hits, err)
		}
	}
	found, err := st.Find(t.Context(), "team", "prefix", "twice")
	if err != nil || len(found) != 1 || string(found[0].Entry.Data) != "second" || found[0].Key.Session != "fork" {
		t.Errorf("Find: %v, %v", found, err)
	}
	s, err := pleat.OpenSession(t.Context(), st, store.SessionKey{Session: "folded"},
		&pleat.Options{Wire: anthropic.Messages(model.Model{})})
	must(t, err)
	if s.Len() != 13 || len(s.Folds()) != 3 || len(s.Pins()) != 1 || len(s.Notes()) != 1 {
		t.Errorf("%d messages, %d folds, %q, %v", s.Len(), len(s.Folds()), s.Pins(), s.Notes())
	}
	for _, f := range s.Folds() {
		got, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: f.Handle})
		if err != nil || !strings.Contains(got.Text(), "line 39: the limit is ") {
			t.Errorf("unfold %s: %+v, %v", f.Handle, got, err)
		}
	}
	st = sealed(t, path, frozenKey)
	put(t, st, forms, 12, store.Entry{Kind: "k"})
	must(t, st.Forget(t.Context(), forms))
}

// Who has a store open writes no more once a newer program has changed its version.
func TestChangedVersion(t *testing.T) {
	path := frozen(t)
	st := sealed(t, path, frozenKey)
	execute(t, path, "PRAGMA user_version = 4")
	key := store.SessionKey{Session: "folded"}
	if _, err := st.Append(t.Context(), key, 18, store.Entry{Kind: "k"}); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Append: %v, want ErrSchema", err)
	}
	if err := st.Forget(t.Context(), key); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Forget: %v, want ErrSchema", err)
	}
	if _, err := sqlite.Open(path, nil); !errors.Is(err, store.ErrSchema) ||
		!strings.Contains(err.Error(), "use a newer version of pleat") {
		t.Errorf("Open: %v", err)
	}
}
