package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/sqlite"
)

// noise makes a body that does not compress.
func noise(seed string, n int) []byte {
	out := make([]byte, 0, n+32)
	for h := pleat.HashOf(seed); len(out) < n; h = pleat.HashOf(h[:]) {
		out = append(out, h[:]...)
	}
	return out[:n]
}

// fillUp appends until the store is full and returns how many entries it holds.
func fillUp(t testing.TB, store *sqlite.Store, key pleat.SessionKey) (last uint64, err error) {
	t.Helper()
	for last < 1000 {
		next, err := store.Append(t.Context(), key, last, fullEntry(last+1))
		if err != nil {
			return last, err
		}
		last = next
	}
	return last, nil
}

func fullEntry(seq uint64) pleat.Entry {
	return pleat.Entry{Kind: "k", Data: fmt.Append(nil, seq), Body: noise(fmt.Sprint(seq), 50_000), Text: "some text"}
}

// checkFull reads what is there: what was acknowledged, intact, and nothing else.
func checkFull(t testing.TB, store *sqlite.Store, key pleat.SessionKey, last uint64) {
	t.Helper()
	seq := uint64(0)
	for e, err := range store.Scan(t.Context(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		seq++
		if _, err := store.Body(t.Context(), key, e.BodyHash); err != nil || string(e.Data) != fmt.Sprint(seq) {
			t.Fatalf("entry %d: %q, %v", seq, e.Data, err)
		}
	}
	if seq != last {
		t.Fatalf("%d entries, want %d", seq, last)
	}
}

// A store that has reached its limit says so, loses nothing, and goes on when there is
// room again.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	store, err := sqlite.Open(path, &sqlite.Options{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	key := pleat.SessionKey{Session: "a"}
	last, err := fillUp(t, store, key)
	if !errors.Is(err, pleat.ErrFull) || !strings.Contains(err.Error(), path) {
		t.Fatalf("after %d entries: %v, want ErrFull with the path", last, err)
	}
	if last == 0 {
		t.Fatal("nothing fit")
	}
	checkFull(t, store, key, last)
	if _, err := store.Append(t.Context(), key, last, pleat.Entry{Kind: "k", Body: noise("more", 200_000)}); !errors.Is(err, pleat.ErrFull) {
		t.Errorf("once more: %v, want ErrFull", err)
	}
	checkFull(t, store, key, last)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store = open(t, path) // without the limit
	checkFull(t, store, key, last)
	if _, err := store.Append(t.Context(), key, last, fullEntry(last+1)); err != nil {
		t.Fatal(err)
	}
	checkFull(t, store, key, last+1)
	for damage, err := range store.Verify(t.Context()) {
		t.Errorf("Verify: %+v, %v", damage, err)
	}
}
