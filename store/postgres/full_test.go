//go:build unix

package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
)

// TestFull lets the server run into a limit of the size of its files. What does not fit
// is ErrFull and leaves nothing behind; with room again, the store goes on.
func TestFull(t *testing.T) {
	c := pgtest.Own(t, 20<<20) // more than a segment of the log
	url := c.Database(t)
	st := open(t, url, &postgres.Options{})
	random := rand.NewChaCha8([32]byte{})
	key, last := store.SessionKey{Session: "large"}, uint64(0)
	var err error
	for last < 100 && err == nil {
		body := make([]byte, 1<<20)
		random.Read(body)
		var now uint64
		if now, err = st.Append(t.Context(), key, last, store.Entry{Kind: "k", Body: body}); err == nil {
			last = now
		}
	}
	if !errors.Is(err, store.ErrFull) {
		t.Fatalf("after %d entries: %v, want ErrFull", last, err)
	}
	t.Logf("after %d entries of 1 MB: %v", last, err)
	if err := readAll(t.Context(), st, key); err != nil {
		t.Error(err)
	}
	if now, err := st.Append(t.Context(), key, last, store.Entry{Kind: "k"}); err != nil || now != last+1 {
		t.Errorf("Append of something small: %d, %v", now, err)
	}
	for damage, err := range st.Verify(t.Context()) {
		t.Errorf("Verify: %+v, %v", damage, err)
	}
	must(t, st.Forget(t.Context(), key))
	run(t, url, "VACUUM pleat.blob")
	other := store.SessionKey{Session: "other"}
	for i := range uint64(5) {
		if _, err := st.Append(
			t.Context(), other, i, store.Entry{Kind: "k", Body: fmt.Appendf(make([]byte, 1<<20), "%d", i)},
		); err != nil {
			t.Errorf("Append with room again: %v", err)
		}
	}
	if err := readAll(t.Context(), st, other); err != nil {
		t.Error(err)
	}
}
