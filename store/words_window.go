package store

import (
	"cmp"
	"slices"
)

// SortHits puts hits in the order in which Search returns them: best first; among
// equals the newest first, and within one entry from the top.
func SortHits(hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.Start, b.Start))
	})
}
