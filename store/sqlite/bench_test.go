package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
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

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{4 << 10, 100 << 10} {
		for _, text := range []bool{false, true} {
			b.Run(fmt.Sprintf("size=%d/text=%t", size, text), func(b *testing.B) {
				st := open(b, filepath.Join(b.TempDir(), "store.db"))
				random := rand.New(rand.NewPCG(1, 2))
				key, last := store.SessionKey{Session: "a"}, uint64(0)
				b.SetBytes(int64(size))
				for b.Loop() {
					b.StopTimer()
					e := store.Entry{Kind: "k", Data: []byte(`{"role":"user"}`), Body: prose(random, size)}
					if text {
						e.Text = string(e.Body)
					}
					b.StartTimer()
					var err error
					if last, err = st.Append(b.Context(), key, last, e); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkBody(b *testing.B) {
	for _, size := range []int{4 << 10, 100 << 10} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			st := open(b, filepath.Join(b.TempDir(), "store.db"))
			random := rand.New(rand.NewPCG(1, 2))
			key := store.SessionKey{Session: "a"}
			var hashes []transcript.Hash
			for i := range 200 {
				body := prose(random, size)
				hashes = append(hashes, transcript.HashOf(body))
				if _, err := st.Append(b.Context(), key, uint64(i), store.Entry{Kind: "k", Body: body}); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				if _, err := st.Body(b.Context(), key, hashes[i%len(hashes)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	st := open(b, filepath.Join(b.TempDir(), "store.db"))
	key := store.SessionKey{Session: "a"}
	var entries []store.Entry
	for i := range 5000 {
		kind := store.EntryMessage
		if i%10 == 0 {
			kind = store.EntryFold
		}
		entries = append(entries,
			store.Entry{Kind: kind, Data: []byte(strings.Repeat("data", 50)), Body: fmt.Append(nil, i)})
	}
	if _, err := st.Append(b.Context(), key, 0, entries...); err != nil {
		b.Fatal(err)
	}
	for name, kinds := range map[string][]store.EntryKind{"all=5000": nil, "folds=500": {store.EntryFold}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, err := range st.Scan(b.Context(), key, 0, kinds...) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	st := open(b, filepath.Join(b.TempDir(), "store.db"))
	key := store.SessionKey{Session: "a"}
	var entries []store.Entry
	var labels []string
	for i := range 2000 {
		label := transcript.HashOf(fmt.Sprint(i)).String()
		entries = append(entries, store.Entry{Kind: store.EntryPrefix, Label: label})
		if i < 100 {
			labels = append(labels, label, label+"?")
		}
	}
	if _, err := st.Append(b.Context(), key, 0, entries...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if found, err := st.Find(b.Context(), "", store.EntryPrefix, labels...); err != nil || len(found) != 100 {
			b.Fatal(len(found), err)
		}
	}
}

// BenchmarkSearch searches 4,000 texts of 4 KB, and measures how they are indexed.
func BenchmarkSearch(b *testing.B) {
	st := open(b, filepath.Join(b.TempDir(), "store.db"))
	random := rand.New(rand.NewPCG(1, 2))
	key := store.SessionKey{Session: "a"}
	var entries []store.Entry
	for i := range 4000 {
		text := prose(random, 4<<10)
		entries = append(entries, store.Entry{Kind: "k", Body: text, Text: string(text) + fmt.Sprint(" needle", i)})
	}
	if _, err := st.Append(b.Context(), key, 0, entries...); err != nil {
		b.Fatal(err)
	}
	b.Run("index", func(b *testing.B) {
		b.SetBytes(4000 * 4 << 10)
		for b.Loop() {
			if err := st.Reindex(b.Context()); err != nil {
				b.Fatal(err)
			}
			if _, err := st.Search(b.Context(), key, "x", 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, query := range map[string]string{
		"rare": "needle1234 needle777", "mixed": "needle1234 session append", "miss": "nothing like it",
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
