package page

import (
	"math/rand/v2"
	"testing"
)

func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var got table[float32]
	want := make(map[uint64]float32)
	if got.of(7) != 0 {
		t.Error("an empty table has a value")
	}
	for range 9_000 {
		h := r.Uint64N(3_000) << 40 // the low bits of all are the same
		*got.at(h) += 0.5
		want[h] += 0.5
	}
	for h := range uint64(3_100) {
		if got.of(h<<40) != want[h<<40] {
			t.Fatalf("%d: %v, want %v", h, got.of(h<<40), want[h<<40])
		}
	}
}
