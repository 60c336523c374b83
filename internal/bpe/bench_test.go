package bpe

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/bpe/bpetest"
)

const benchSize = 1 << 20

func BenchmarkCount(b *testing.B) {
	texts := []struct{ name, text string }{
		{"prose", bpetest.Prose(benchSize)},
		{"code", bpetest.Code(benchSize)},
		{"json", bpetest.JSON(benchSize)},
		{"mixed", bpetest.Mixed(benchSize)},
		{"cjk", bpetest.CJK(benchSize)},
	}
	for _, tt := range texts {
		b.Run(tt.name, func(b *testing.B) { benchmarkCount(b, tt.text) })
	}
}

// BenchmarkWorst also reports how many times longer than prose of the same size
// each text takes. The two take turns, so that a busy machine slows both.
func BenchmarkWorst(b *testing.B) {
	prose, texts := bpetest.Prose(benchSize), bpetest.Worst(benchSize)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			b.SetBytes(benchSize)
			b.ReportAllocs()
			var onProse time.Duration
			for b.Loop() {
				e.Count(texts[name])
				b.StopTimer()
				start := time.Now()
				e.Count(prose)
				onProse += time.Since(start)
				b.StartTimer()
			}
			b.ReportMetric(b.Elapsed().Seconds()/onProse.Seconds(), "times-prose")
		})
	}
}

func benchmarkCount(b *testing.B, text string) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		e.Count(text)
	}
}

// BenchmarkSplit is the part of the time that finding the pieces takes.
func BenchmarkSplit(b *testing.B) {
	text := []byte(bpetest.Mixed(benchSize))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for i := 0; i < len(text); {
			i = split(e.classes, text, i)
		}
	}
}

// BenchmarkShort counts a text of the size of a short message.
func BenchmarkShort(b *testing.B) {
	benchmarkCount(b, "Please read the file and tell me what it does.")
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		newVocabulary(packedO200k)
	}
}
