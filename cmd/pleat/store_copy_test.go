package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/library"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres/pgtest"
)

// failingStore is a store whose disk is full after some Appends.
type failingStore struct {
	anyStore
	left int
}

func (s *failingStore) Append(ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry) (uint64, error) {
	if s.left--; s.left < 0 {
		return 0, store.ErrFull
	}
	return s.anyStore.Append(ctx, key, last, entries...)
}

// A copy that is interrupted again and again is complete in the end, entry by entry, and
// nothing is brought over twice: from a file to a database and back.
func TestCopyResumes(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	from, back := filepath.Join(t.TempDir(), "from.db"), filepath.Join(t.TempDir(), "back.db")
	const entries = 3*importEntries + 7
	keys := []store.SessionKey{{Session: "a"}, {Tenant: "t", Session: "a"}, {Tenant: "t\xff", Session: "b \x00"}}
	func() {
		st := openTest(t, from)
		defer st.Close()
		for _, key := range keys {
			var list []store.Entry
			for i := range entries {
				list = append(list, store.Entry{Kind: store.EntryNote, Label: fmt.Sprint(i), Data: []byte{byte(i), 0xff}, Body: fmt.Appendf(nil, "%v body %d", key, i/2)})
			}
			if _, err := st.Append(t.Context(), key, 0, list...); err != nil {
				t.Fatal(err)
			}
		}
	}()
	for _, step := range [][2]string{{from, url}, {url, back}} {
		runs, added := 0, uint64(0)
		for done := false; !done; runs++ {
			n, err := copyWith(t, step[0], step[1], 2)
			if err != nil && !errors.Is(err, store.ErrFull) || runs > 20 {
				t.Fatal(err)
			}
			added += n
			done = err == nil
		}
		if want := uint64(len(keys) * entries); runs < 3 || added != want {
			t.Errorf("%d entries were brought over in %d runs, want %d in several", added, runs, want)
		}
	}
	for _, key := range keys {
		a, b := everything(t, from, key), everything(t, back, key)
		if a != b || strings.Count(a, "\n") != entries {
			t.Errorf("session %v came back different", key)
		}
	}
}

// copyWith copies until the destination is full after some Appends.
func copyWith(t *testing.T, from, to string, appends int) (uint64, error) {
	t.Helper()
	src, err := openStoreAt(t.Context(), from, readOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := openStoreAt(t.Context(), to, makeMissing)
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	p := &term.Console{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Getenv: func(string) string { return "" }}
	c := copying{Console: p, src: src, dst: &failingStore{dst, appends}, codecs: library.Codecs()}
	err = c.run(t.Context(), "", "")
	return c.done.Entries, err
}

// everything is a session's entries and bodies as text.
func everything(t *testing.T, path string, key store.SessionKey) string {
	t.Helper()
	store := openTest(t, path)
	defer store.Close()
	var b strings.Builder
	for e, err := range store.Scan(t.Context(), key, 1) {
		if err != nil {
			t.Fatal(err)
		}
		body, err := store.Body(t.Context(), key, e.BodyHash)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d %s %q %v %q %q\n", e.Seq, e.Kind, e.Label, e.Time, e.Data, body)
	}
	return b.String()
}

// The shapes of what "pleat store" prints for programs are a contract; see [TestShapes].
func TestStoreShapes(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "pleat.db")
	if err := fillStore(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check"}, {"stats"}, {"migrate"}, {"copy", db, filepath.Join(dir, "other.db")}} {
		out, stderr, code := cli(t, db, slices.Concat([]string{"store"}, args, []string{"--json"})...)
		if code != 0 {
			t.Fatalf("%v: %s", args, stderr)
		}
		checkShape(t, "store-"+args[0], []byte(out))
	}
}
