package bpe

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
)

// mergePlain merges a piece as the definition says, and returns the tokens.
func mergePlain(v *vocabulary, piece []byte) []uint32 {
	var parts []string
	for _, c := range piece {
		parts = append(parts, string([]byte{c}))
	}
	for {
		best, lowest := 0, noRank
		for k := range len(parts) - 1 {
			union := []byte(parts[k] + parts[k+1])
			if r := v.rank(union, 0, len(union)); r < lowest {
				best, lowest = k, r
			}
		}
		if lowest == noRank {
			break
		}
		parts = slices.Replace(parts, best, best+2, parts[best]+parts[best+1])
	}
	var tokens []uint32
	for _, p := range parts {
		tokens = append(tokens, v.rank([]byte(p), 0, len(p)))
	}
	return tokens
}

// randomPiece returns bytes that merge into tokens of many lengths: a few units
// repeated, so that merges meet ties and long chains.
func randomPiece(rng *rand.Rand, n int) []byte {
	units := []string{
		"a", "b", "an", "the", "ing", "tion", "--", "-", "=", "  ", " ", "\n", "é", "中", "文", "xq", "\xff", "0",
	}
	rng.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	units = units[:1+rng.IntN(5)]
	var piece []byte
	for len(piece) < n {
		piece = append(piece, units[rng.IntN(len(units))]...)
	}
	return piece[:n]
}

// appendTokens appends the tokens of the piece merged last.
func (m *heapMerge) appendTokens(dst []uint32, v *vocabulary, piece []byte) []uint32 {
	for at := 0; at < len(piece); {
		next := int(m.next[at])
		dst = append(dst, v.rank(piece, at, next))
		at = next
	}
	return dst
}

// tokensOf returns the tokens of a text.
func tokensOf(text string) []uint32 {
	var tokens []uint32
	var m heapMerge
	for i, b := 0, []byte(text); i < len(b); {
		j := split(e.classes, b, i)
		if rank := e.vocab.rank(b, i, j); rank != noRank {
			tokens = append(tokens, rank)
		} else {
			m.merge(e.vocab, b, i, j)
			tokens = m.appendTokens(tokens, e.vocab, b[i:j])
		}
		i = j
	}
	return tokens
}

func TestMerges(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range rounds(2000) {
		piece := randomPiece(rng, 2+rng.IntN(150))
		v := e.vocab
		want := mergePlain(v, piece)
		if len(piece) <= scanLimit {
			if got := v.mergeScan(new(scanParts), piece, 0, len(piece)); got != len(want) {
				t.Fatalf("mergeScan(%q) = %d, want %d", piece, got, len(want))
			}
		}
		var m heapMerge
		m.merge(v, piece, 0, len(piece))
		if got := m.appendTokens(nil, v, piece); !slices.Equal(got, want) {
			t.Fatalf("heap merge of %q\n got %v\nwant %v", piece, got, want)
		}
	}
}

// A vector is a text and the tokens that the reference encoder gives it.
type vector struct {
	Text  string
	O200k []uint32
}

// readVectors reads the texts that gen/vectors.mjs made.
func readVectors(tb testing.TB) []vector {
	tb.Helper()
	f, err := os.Open("testdata/vectors.jsonl.gz")
	difftest.Must(tb, err)
	defer f.Close()
	zr, err := gzip.NewReader(f)
	difftest.Must(tb, err)
	var vectors []vector
	for dec := json.NewDecoder(zr); ; {
		var v vector
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return vectors
		} else if err != nil {
			tb.Fatal(err)
		}
		vectors = append(vectors, v)
	}
}

func TestVectors(t *testing.T) {
	vectors := readVectors(t)
	if len(vectors) < 3000 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	for _, v := range vectors {
		if got := tokensOf(v.Text); !slices.Equal(got, v.O200k) {
			t.Errorf("tokens of %.200q\n got %v\nwant %v", v.Text, got, v.O200k)
		}
		if got, want := e.Count(v.Text), len(v.O200k); got != want {
			t.Errorf("Count(%.200q) = %d, want %d", v.Text, got, want)
		}
	}
}
