package bpe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/bpe/bpetest"
)

// TestMeter appends random texts in small steps and compares with counting all
// of it each time.
func TestMeter(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range rounds(3000) {
		for _, e := range encodings {
			m, text := e.NewMeter(), ""
			for range 12 {
				more := randomText(rng, 4)
				m.Append(more)
				text += more
				if rng.IntN(3) == 0 {
					continue // the next append meets text that is not yet counted
				}
				if got, want := m.Tokens(), e.Count(text); got != want {
					t.Fatalf("%v: meter of %q after %q: %d tokens, want %d", e, text, more, got, want)
				}
			}
		}
	}
}

// TestMeterSplits cuts corpora at random places, in the middle of characters too.
func TestMeterSplits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	texts := bpetest.Worst(rounds(12_000))
	texts["mixed"] = bpetest.Mixed(rounds(30_000))
	texts["cjk"] = bpetest.CJK(rounds(12_000))
	for name, text := range texts {
		for _, e := range encodings {
			for _, most := range []int{50, 2000, 20_000} {
				m, at := e.NewMeter(), 0
				for at < len(text) {
					n := min(1+rng.IntN(most), len(text)-at)
					m.Append(text[at : at+n])
					at += n
					if rng.IntN(40) == 0 {
						if got, want := m.Tokens(), e.Count(text[:at]); got != want {
							t.Fatalf("%v: %s: %d tokens in %d bytes, want %d", e, name, got, at, want)
						}
					}
				}
				if got, want := m.Tokens(), e.Count(text); got != want {
					t.Fatalf("%v: %s: %d tokens, want %d", e, name, got, want)
				}
			}
		}
	}
}

// TestMeterLongPieces lets one long piece follow another while both are held.
func TestMeterLongPieces(t *testing.T) {
	for _, e := range encodings {
		m, text := e.NewMeter(), ""
		for _, unit := range []string{"a", "-", "\n", " ", "\n", "b", "'", "s", "é", "Z", "ª", "Z", "z", "中", "\u0301"} {
			for range 4 {
				more := strings.Repeat(unit, 701)
				m.Append(more)
				text += more
				if got, want := m.Tokens(), e.Count(text); got != want {
					t.Fatalf("%v: %d tokens in %d bytes up to %q, want %d", e, got, len(text), unit, want)
				}
			}
		}
	}
}

// TestMeterForgets checks that a long transcript leaves little behind.
func TestMeterForgets(t *testing.T) {
	m := O200k().NewMeter()
	m.Append(strings.Repeat("x", 500_000))
	for range 20 {
		m.Append(bpetest.Mixed(100_000))
		m.Tokens()
	}
	if n := cap(m.tail); n > 8*meterChunk {
		t.Errorf("meter holds %d bytes", n)
	}
}

func TestCutCharacter(t *testing.T) {
	// The bytes that are no incomplete character must read the same whatever
	// follows.
	err := quick.Check(func(text []byte, more []byte) bool {
		n := cutCharacter(text)
		joined := slices.Concat(text, more)
		for i := 0; i < len(text)-n; {
			r1, size1 := utf8.DecodeRune(text[i : len(text)-n])
			r2, size2 := utf8.DecodeRune(joined[i:])
			if r1 != r2 || size1 != size2 {
				return false
			}
			i += size1
		}
		return true
	}, nil)
	if err != nil {
		t.Error(err)
	}
	for text, want := range map[string]int{"": 0, "a": 0, "a\xe2": 1, "a\xe2\x82": 2, "€": 0, "\xf0\x9f\x98": 3, "\x80\x80\x80": 0, "\xff": 0} {
		if got := cutCharacter([]byte(text)); got != want {
			t.Errorf("cutCharacter(%q) = %d, want %d", text, got, want)
		}
	}
}
