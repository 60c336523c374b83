//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
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
				st := open(b, pgtest.Shared(b).Database(b), nil)
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
			st := open(b, pgtest.Shared(b).Database(b), nil)
			random := rand.New(rand.NewPCG(1, 2))
			key := store.SessionKey{Session: "a"}
			var hashes []transcript.Hash
			var entries []store.Entry
			for range 200 {
				body := prose(random, size)
				hashes = append(hashes, transcript.HashOf(body))
				entries = append(entries, store.Entry{Kind: "k", Body: body})
			}
			if _, err := st.Append(b.Context(), key, 0, entries...); err != nil {
				b.Fatal(err)
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
	st := open(b, pgtest.Shared(b).Database(b), nil)
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
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	logSizes(b, conn)
	b.Run("index", func(b *testing.B) {
		b.SetBytes(1000 * 4 << 10)
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

// BenchmarkGrowth compares a store with few messages with one that has many (PLEAT_ROWS,
// 100,000 unless told): the figures are the many divided by the few, turn by turn in one
// run, so that what else the machine does weighs on both.
func BenchmarkGrowth(b *testing.B) {
	rows := 100_000
	if text := os.Getenv("PLEAT_ROWS"); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	c := pgtest.Shared(b)
	small, large := c.Database(b), c.Database(b)
	stores := [2]*postgres.Store{open(b, small, nil), open(b, large, nil)}
	before := time.Now()
	prefill(b, large, rows)
	b.Logf("%d rows in %v", rows, time.Since(before).Round(time.Second))
	random := rand.New(rand.NewPCG(3, 4))
	var times [2]map[string][]float64
	times[0], times[1] = make(map[string][]float64), make(map[string][]float64)
	key, last := store.SessionKey{Tenant: "t", Session: "growth"}, uint64(0)
	for b.Loop() {
		body := prose(random, 4<<10)
		label := transcript.HashOf(body).String()
		e := store.Entry{Kind: store.EntryMessage, Label: label, Data: []byte(`{"role":"user"}`), Body: body}
		for i, store := range stores {
			timed(b, times[i], "append", func() error { _, err := store.Append(b.Context(), key, last, e); return err })
		}
		last++
		for i, st := range stores {
			timed(b, times[i], "body",
				func() error { _, err := st.Body(b.Context(), key, transcript.HashOf(body)); return err })
			timed(b, times[i], "scan", func() error { return scanFrom(b.Context(), st, key, last-min(last, 10)) })
			timed(
				b,
				times[i],
				"find",
				func() error { _, err := st.Find(b.Context(), "t", store.EntryMessage, label, "none"); return err },
			)
		}
	}
	conn, err := pgx.Connect(b.Context(), large)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	logSizes(b, conn)
	for _, name := range []string{"append", "body", "scan", "find"} {
		b.ReportMetric(median(times[1][name])/median(times[0][name]), name+"-ratio")
		b.ReportMetric(median(times[1][name]), name+"-µs")
	}
}

func scanFrom(ctx context.Context, store store.Store, key store.SessionKey, from uint64) error {
	for _, err := range store.Scan(ctx, key, from) {
		if err != nil {
			return err
		}
	}
	return nil
}

func timed(b *testing.B, times map[string][]float64, name string, f func() error) {
	before := time.Now()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	times[name] = append(times[name], float64(time.Since(before).Nanoseconds())/1000)
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// prefill copies rows into the tables as if sessions of 100 messages had been appended.
// Nobody reads them; their checksums are made up.
func prefill(b *testing.B, url string, rows int) {
	b.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	const sessions = `INSERT INTO pleat.session(owner, hash, head, bytes, first, last, newest, tenant, name, kinds, sum)
		SELECT n, sha256(n::text::bytea), 100, 0, 0, 0, n, 't', n::text::bytea, '', '' FROM generate_series(1, $1::int) n`
	if _, err := conn.Exec(ctx, sessions, (rows+99)/100); err != nil {
		b.Fatal(err)
	}
	body := prose(rand.New(rand.NewPCG(5, 6)), 1200) // about what 4 KB compress to
	hash := func(i int) []byte { h := transcript.HashOf(strconv.Itoa(i)); return h[:] }
	copies := []struct {
		table   string
		columns []string
		row     func(i int) []any
	}{
		{
			"entry",
			[]string{
				"session", "seq", "moment", "prev", "time", "size", "kind", "label", "body", "find", "sum", "data",
			},
			func(i int) []any {
				h := hash(i)
				return []any{
					int64(i/100 + 1),
					int64(i%100 + 1),
					int64(i),
					int64(i % 100),
					int64(i),
					int64(4096),
					[]byte("message"),
					[]byte(fmt.Sprintf("%x", h)),
					h,
					h[16:],
					h,
					[]byte(`{"role":"user"}`),
				}
			},
		},
		{"blob", []string{"owner", "hash", "size", "codec", "data"}, func(i int) []any {
			return []any{int64(1), hash(i), int64(4096), int16(1), body}
		}},
	}
	for _, c := range copies {
		if _, err := conn.CopyFrom(
			ctx, pgx.Identifier{"pleat", c.table}, c.columns,
			pgx.CopyFromSlice(rows, func(i int) ([]any, error) { return c.row(i), nil }),
		); err != nil {
			b.Fatal(err)
		}
	}
	for _, text := range []string{"ANALYZE", "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, text); err != nil {
			b.Fatal(err)
		}
	}
}
