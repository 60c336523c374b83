package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/transcript"
)

// noise makes a body that does not compress.
func noise(seed string, n int) []byte {
	out := make([]byte, 0, n+32)
	for h := transcript.HashOf(seed); len(out) < n; h = transcript.HashOf(h[:]) {
		out = append(out, h[:]...)
	}
	return out[:n]
}

// fillUp appends until the store is full and returns how many entries it holds.
func fillUp(t testing.TB, store *sqlite.Store, key store.SessionKey) (last uint64, err error) {
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

func fullEntry(seq uint64) store.Entry {
	return store.Entry{Kind: "k", Data: fmt.Append(nil, seq), Body: noise(fmt.Sprint(seq), 50_000), Text: "some text"}
}

// checkFull reads what is there: what was acknowledged, intact, and nothing else.
func checkFull(t testing.TB, store *sqlite.Store, key store.SessionKey, last uint64) {
	t.Helper()
	seq := uint64(0)
	for e, err := range store.Scan(t.Context(), key, 0) {
		must(t, err)
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
	st := openWith(t, path, &sqlite.Options{MaxBytes: 1 << 20})
	key := store.SessionKey{Session: "a"}
	last, err := fillUp(t, st, key)
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), path) {
		t.Fatalf("after %d entries: %v, want ErrFull with the path", last, err)
	}
	if last == 0 {
		t.Fatal("nothing fit")
	}
	checkFull(t, st, key, last)
	if _, err := st.Append(t.Context(), key, last, store.Entry{Kind: "k", Body: noise("more", 200_000)}); !errors.Is(
		err,
		store.ErrFull,
	) {
		t.Errorf("once more: %v, want ErrFull", err)
	}
	checkFull(t, st, key, last)
	must(t, st.Close())
	st = open(t, path) // without the limit
	checkFull(t, st, key, last)
	put(t, st, key, last, fullEntry(last+1))
	checkFull(t, st, key, last+1)
	for damage, err := range st.Verify(t.Context()) {
		t.Errorf("Verify: %+v, %v", damage, err)
	}
}
