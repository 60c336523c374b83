package bpe

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
)

// A vector is a text and the tokens that the reference encoder gives it.
type vector struct {
	Text  string
	O200k []uint32
}

// readVectors reads the texts that gen/vectors.mjs made.
func readVectors(tb testing.TB) []vector {
	tb.Helper()
	f, err := os.Open("testdata/vectors.jsonl.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
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
