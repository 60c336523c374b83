package bpe

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat/internal/bpe/bpetest"
)

var e = O200k()

// alphabet has characters of every class, incomplete and invalid ones, and all
// that the patterns name.
var alphabet = strings.Fields("a s t re ve l L ll d m ſ S B é É ǅ ª ー 中 の 1 2 ² ½ ٣ ! - / ' ' \" . { \x00 \x7f € 😀 \u200d \ufeff \u0301 \u093e \xe2 \x82 \xac \xf0\x9f \x98 \x80 \xff \xe3\x80 \xc5 \xbf \xed\xa0\x80 \xc0\x80")

func init() {
	alphabet = append(alphabet, " ", " ", " ", "  ", "\n", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u0085", "\u2028")
}

// rounds returns how often to try something random: less often where it is slow.
func rounds(n int) int {
	if raceEnabled {
		return n / 10
	}
	return n
}

// randomText returns up to n elements of the alphabet.
func randomText(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range rng.IntN(n + 1) {
		b.WriteString(alphabet[rng.IntN(len(alphabet))])
	}
	return b.String()
}

// decode returns the text that tokens stand for.
func decode(tokens []uint32) string {
	var b strings.Builder
	for _, id := range tokens {
		b.WriteString(e.vocab.token(id))
	}
	return b.String()
}

// checkText checks what must hold for any text whatever.
func checkText(tb testing.TB, text string) {
	tb.Helper()
	for i, b := 0, []byte(text); i < len(b); {
		j := split(e.classes, b, i)
		if j <= i || j > len(b) {
			tb.Fatalf("piece at %d of %q ends at %d", i, text, j)
		}
		i = j
	}
	tokens := tokensOf(text)
	if got := decode(tokens); got != text {
		tb.Fatalf("tokens of %q decode to %q", text, got)
	}
	if got, want := e.Count(text), len(tokens); got != want {
		tb.Fatalf("Count(%q) = %d, want %d", text, got, want)
	}
}

func TestRandomTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range rounds(20_000) {
		text := randomText(rng, 12)
		checkText(t, text)
	}
}

// worst returns, by name, texts of n bytes that are dear to count: mostly a
// single piece each, which merging in the plain way takes quadratic time for.
func worst(n int) map[string]string {
	rng := rand.New(rand.NewPCG(5, 5))
	random := func(alphabet []rune) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteRune(alphabet[rng.IntN(len(alphabet))])
		}
		return b.String()[:n]
	}
	ideographs := make([]rune, 0x5200)
	for i := range ideographs {
		ideographs[i] = 0x4E00 + rune(i)
	}
	return map[string]string{
		"one letter":     strings.Repeat("a", n),
		"spaces":         strings.Repeat(" ", n),
		"dashes":         strings.Repeat("-", n),
		"newlines":       strings.Repeat("\n", n),
		"two letters":    strings.Repeat("ab", n/2+1)[:n],
		"marks":          strings.Repeat("\u0301", n/2+1)[:n],
		"base64":         random([]rune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")),
		"random letters": random([]rune("abcdefghijklmnopqrstuvwxyz")),
		"random symbols": random([]rune("!#$%&()*+,-.:;<=>?@[]^_{|}~")),
		"random spaces":  random([]rune(" \t")),
		"random CJK":     random(ideographs),
	}
}

func TestCorpora(t *testing.T) {
	texts := worst(maxMerged)
	texts["mixed"] = bpetest.Mixed(200_000)
	texts["cjk"] = bpetest.CJK(40_000)
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			checkText(t, text)
		})
	}
}

// TestFastPath checks that the shortcut for words agrees with the functions that follow the
// pattern.
func TestFastPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range rounds(50_000) {
		text := []byte(randomText(rng, 8))
		if len(text) == 0 {
			continue
		}
		classes := loadClasses()
		if got, want := split(classes, text, 0), splitAny(classes, text, 0); got != want {
			t.Fatalf("split(%q) = %d, want %d", text, got, want)
		}
	}
}

// TestSpecialTokensAreText checks that no spelling yields a special token.
func TestSpecialTokensAreText(t *testing.T) {
	for _, text := range []string{"<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>"} {
		if n := e.Count(text); n < 2 {
			t.Errorf("Count(%q) = %d, want several", text, n)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	text := bpetest.Mixed(30_000) + strings.Repeat("z", 5000)
	want := e.Count(text)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := e.Count(text); got != want {
				t.Errorf("Count = %d, want %d", got, want)
			}
		})
	}
	wg.Wait()
}

func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop memory")
	}
	texts := worst(20_000)
	texts["mixed"] = bpetest.Mixed(50_000)
	texts["cjk"] = bpetest.CJK(20_000)
	texts["empty"] = ""
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name]
		if n := testing.AllocsPerRun(5, func() { e.Count(text) }); n != 0 {
			t.Errorf("Count of %s makes %v allocations", name, n)
		}
	}
}

// TestScratchStaysSmall checks that no text makes the pooled memory grow.
func TestScratchStaysSmall(t *testing.T) {
	s := new(scratch)
	for name, text := range worst(100_000) {
		s.count(O200k().vocab, []byte(text), 0, len(text))
		if n := cap(s.long.next); n > maxMerged {
			t.Errorf("%s: room for %d parts", name, n)
		}
	}
}

func FuzzCount(f *testing.F) {
	f.Add("The quick brown fox's 12345 \n\n  jumps\r\n")
	f.Add("a'll \u0301AB ªAB 中文\xe2\x82")
	f.Add(strings.Repeat("-=", 300))
	f.Fuzz(func(t *testing.T, text string) {
		checkText(t, text)
	})
}
