package tokenizers

import (
	"strings"
	"testing"
	"time"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/tiktoken-go/tokenizer"

	"github.com/pleat-dev/pleat/internal/bpe"
	"github.com/pleat-dev/pleat/internal/bpe/bpetest"
	"github.com/pleat-dev/pleat/internal/difftest"
)

// A counter is one implementation of an encoding.
type counter struct {
	name  string
	count func(text string) int
}

// others returns the libraries pleat is compared with.
func others(tb testing.TB) []counter {
	tb.Helper()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	difftest.Must(tb, err)
	pkoukk := pkoukkEncoding(tb, "o200k_base")
	return []counter{
		{"tiktoken-go", func(text string) int {
			n, err := codec.Count(text)
			difftest.Must(tb, err)
			return n
		}},
		{"pkoukk", func(text string) int { return len(pkoukk.EncodeOrdinary(text)) }},
	}
}

func pkoukkEncoding(tb testing.TB, name string) *tiktoken.Tiktoken {
	tb.Helper()
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	encoding, err := tiktoken.GetEncoding(name)
	difftest.Must(tb, err)
	return encoding
}

var texts = []struct {
	name string
	make func(n int) string
}{
	{"prose", bpetest.Prose},
	{"code", bpetest.Code},
	{"json", bpetest.JSON},
	{"mixed", bpetest.Mixed},
	{"cjk", bpetest.CJK},
}

// BenchmarkCount measures every library on every kind of text.
func BenchmarkCount(b *testing.B) {
	counters := append([]counter{{"pleat", bpe.O200k().Count}}, others(b)...)
	for _, tt := range texts {
		text := tt.make(1 << 20)
		for _, c := range counters {
			b.Run(tt.name+"/"+c.name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					c.count(text)
				}
			})
		}
	}
}

// BenchmarkRatio reports how many times faster pleat is than each library. The
// two take turns, so that a busy machine slows both, and go through a long text
// block by block, so that no cache knows a block when it comes up.
func BenchmarkRatio(b *testing.B) {
	const block, blocks, turn = 128 << 10, 32, 8
	for _, tt := range texts {
		text := tt.make(block * blocks)
		for _, other := range others(b) {
			b.Run(tt.name+"/"+other.name, func(b *testing.B) {
				var ours, theirs time.Duration
				var at int
				for b.Loop() {
					for k := range turn { // so that both run for a while
						from := (at + k) % blocks * block
						ours += timed(bpe.O200k().Count, text[from:from+block])
					}
					from := at % blocks * block
					theirs += timed(other.count, text[from:from+block])
					at += turn + 1
				}
				b.ReportMetric(turn*theirs.Seconds()/ours.Seconds(), "times-faster")
				b.ReportMetric(0, "ns/op") // the sum of both says nothing
			})
		}
	}
}

func timed(count func(string) int, text string) time.Duration {
	start := time.Now()
	count(text)
	return time.Since(start)
}

// TestSameCounts compares counts with a library that is slow and exact.
func TestSameCounts(t *testing.T) {
	oracle := pkoukkEncoding(t, "o200k_base")
	for _, tt := range texts {
		text := strings.ToValidUTF8(tt.make(120_000), "") // the oracle alters invalid bytes
		if got, want := bpe.O200k().Count(text), len(oracle.EncodeOrdinary(text)); got != want {
			t.Errorf("Count(%s) = %d, want %d", tt.name, got, want)
		}
	}
}
