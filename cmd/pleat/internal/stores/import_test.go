package stores

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
)

// failingStore is a store whose disk is full after some Appends.
type failingStore struct {
	Store
	left  int
	added uint64
}

func (s *failingStore) Append(
	ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry,
) (uint64, error) {
	if s.left--; s.left < 0 {
		return 0, store.ErrFull
	}
	s.added += uint64(len(entries))
	return s.Store.Append(ctx, key, last, entries...)
}

// A move that is interrupted again and again is complete in the end, entry by entry, and
// nothing is brought over twice: from a file to a database and back.
func TestMoveResumes(t *testing.T) {
	url := pgtest.Own(t, 0).Database(t)
	from, back := filepath.Join(t.TempDir(), "from.db"), filepath.Join(t.TempDir(), "back.db")
	const entries = 3*importEntries + 7
	keys := []store.SessionKey{{Session: "a"}, {Tenant: "t", Session: "a"}, {Tenant: "t\xff", Session: "b \x00"}}
	func() {
		st := openHere(t, from)
		defer st.Close()
		for _, key := range keys {
			var list []store.Entry
			for i := range entries {
				list = append(list, store.Entry{
					Kind: "kept", Label: fmt.Sprint(i), Data: []byte{byte(i), 0xff},
					Body: fmt.Appendf(nil, "%v body %d", key, i/2),
				})
			}
			if _, err := st.Append(t.Context(), key, 0, list...); err != nil {
				t.Fatal(err)
			}
		}
	}()
	for _, step := range [][2]string{{from, url}, {url, back}} {
		runs, added := 0, uint64(0)
		for done := false; !done; runs++ {
			n, err := moveWith(t, step[0], step[1], 5)
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

// moveWith exports and imports until the destination is full after some Appends.
func moveWith(t *testing.T, from, to string, appends int) (added uint64, err error) {
	t.Helper()
	src, dst := openHere(t, from), openHere(t, to)
	defer src.Close()
	defer dst.Close()
	var file bytes.Buffer
	p := &term.Console{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Getenv: func(string) string { return "" }}
	list, left, err := ToExport(t.Context(), p, src, &Flags{}, "")
	if err == nil {
		err = Export(t.Context(), p, src, list, &file)
	}
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	i := importing{Console: p, flags: &Flags{}, name: "all", trial: openHere(t, filepath.Join(t.TempDir(), "trial.db"))}
	defer i.trial.Close()
	if err := i.takeAll(t.Context(), &file); err != nil || len(i.problems) > 0 {
		t.Fatal(i.problems, err)
	}
	full := &failingStore{Store: dst, left: appends}
	_, err = i.bringAll(t.Context(), full)
	return full.added, err
}

func openHere(t *testing.T, path string) Store {
	t.Helper()
	st, err := OpenAt(t.Context(), path, MakeMissing)
	must(t, err)
	return st
}

// everything is a session's entries and bodies as text.
func everything(t *testing.T, path string, key store.SessionKey) string {
	t.Helper()
	store := openHere(t, path)
	defer store.Close()
	var b strings.Builder
	for e, err := range store.Scan(t.Context(), key, 1) {
		must(t, err)
		body, err := store.Body(t.Context(), key, e.BodyHash)
		must(t, err)
		fmt.Fprintf(&b, "%d %s %q %v %q %q\n", e.Seq, e.Kind, e.Label, e.Time, e.Data, body)
	}
	return b.String()
}

var must = difftest.Must
