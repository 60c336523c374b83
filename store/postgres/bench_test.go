//go:build unix

package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
)

// prose makes n bytes that compress about as tool output does.
func prose(random *rand.Rand, n int) []byte {
	words := strings.Fields(
		"the error in internal/store/blob_test.go func parseHTTPRequest return nil ctx key session append line",
	)
	var b []byte
	for len(b) < n {
		b = append(b, words[random.IntN(len(words))]...)
		if random.IntN(4) == 0 {
			b = fmt.Append(b, random.IntN(100_000))
		}
		b = append(b, " \n"[min(random.IntN(10), 9)/9])
	}
	return b[:n]
}

// BenchmarkSearch searches 1,000 texts of 4 KB, and measures how they are indexed.
func BenchmarkSearch(b *testing.B) {
	url := pgtest.Shared(b).Database(b)
	st := open(b, url, nil)
	random := rand.New(rand.NewPCG(1, 2))
	key := store.SessionKey{Session: "a"}
	var entries []store.Entry
	for i := range 1000 {
		text := prose(random, 4<<10)
		entries = append(entries, store.Entry{Kind: "k", Body: text, Text: string(text) + fmt.Sprint(" needle", i)})
	}
	if _, err := st.Append(b.Context(), key, 0, entries...); err != nil {
		b.Fatal(err)
	}
	if _, err := st.Search(b.Context(), key, "x", 1); err != nil {
		b.Fatal(err)
	}
	conn, err := pgx.Connect(b.Context(), url)
	must(b, err)
	defer conn.Close(b.Context())
	logSizes(b, conn)
	b.Run("index", func(b *testing.B) {
		b.SetBytes(1000 * 4 << 10)
		for b.Loop() {
			must(b, st.Reindex(b.Context()))
			if _, err := st.Search(b.Context(), key, "x", 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, query := range map[string]string{
		"rare": "needle123 needle777", "mixed": "needle123 session append", "miss": "nothing like it",
	} {
		b.Run("query="+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := st.Search(b.Context(), key, query, 10); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
