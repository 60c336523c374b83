package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
)

// A text that is indexed in many steps is found everywhere, as in a store that takes it in
// one, also when it is indexed anew and when another one is waiting behind it.
func TestIndexLongText(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	var long strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&long, "line number%d of a log\n", i)
	}
	key := store.SessionKey{Session: "long"}
	file := open(t, filepath.Join(t.TempDir(), "p.db"))
	mem := store.NewMemory()
	for _, st := range []store.Store{file, mem} {
		put(t, st, key, 0, store.Entry{Kind: "a", Text: long.String()}, store.Entry{Kind: "a", Text: "behind number7"})
	}
	for range 2 {
		for _, query := range []string{"number0", "number7", "number29999", "number59999", "behind"} {
			got, err := file.Search(t.Context(), key, query, 5)
			must(t, err)
			want, err := mem.Search(t.Context(), key, query, 5)
			must(t, err)
			places := func(hits []store.Hit) (out []string) {
				for _, h := range hits {
					out = append(out, fmt.Sprint(h.Seq, h.From, h.To, h.Start, h.End))
				}
				return out
			}
			if d := difftest.Values(places(want), places(got)); d != "" || len(got) == 0 {
				t.Errorf("search %q: %s", query, d)
			}
		}
		must(t, file.Reindex(t.Context()))
	}
}
