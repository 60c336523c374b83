package fold

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

func TestNewSet(t *testing.T) {
	span := func(id, start, end int) *Fold { return &Fold{ID: id, Start: start, End: end, Block: -1} }
	block := func(id, message, block int) *Fold {
		return &Fold{ID: id, Start: message, End: message + 1, Block: block, Stub: "[gone]"}
	}
	for _, tt := range []struct {
		name  string
		folds []*Fold
		want  []int // numbers of those in the set; nil: an error
	}{
		{"apart", []*Fold{span(1, 4, 6), block(2, 2, 0), span(3, 0, 2)}, []int{1, 2, 3}},
		{"neighbours", []*Fold{span(1, 0, 2), span(2, 2, 4)}, []int{1, 2}},
		{"a message of its own before a stretch", []*Fold{span(1, 2, 4), span(2, 2, 2)}, []int{1, 2}},
		{"overlapping stretches", []*Fold{span(1, 0, 3), span(2, 2, 4)}, nil},
		{
			"of those of blocks only what has a stub",
			[]*Fold{block(1, 2, 0), {ID: 2, Start: 3, End: 4, Stub: " \n"}},
			[]int{1},
		},
		{"of two folds of one block the later", []*Fold{block(1, 3, 1), block(2, 3, 1)}, []int{2}},
	} {
		s, err := NewSet(tt.folds, 0)
		if (err != nil) != (tt.want == nil) {
			t.Errorf("%s: error %v", tt.name, err)
			continue
		}
		if got := s.IDs(); err == nil && !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestSetKeepsApart replaces and removes folds at random and checks each time, against a plain
// list, that what the set says of every message and block is so.
func TestSetKeepsApart(t *testing.T) {
	const messages, blocks = 12, 2
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s Set
		span := make([]*Fold, messages)
		single := map[transcript.BlockRef]*Fold{}
		for id := 1; id <= 40; id++ {
			start := r.IntN(messages)
			end := start + 1 + r.IntN(messages-start)
			ref := transcript.BlockRef{Message: start, Block: r.IntN(blocks)}
			switch r.IntN(3) {
			case 0:
				s.remove(ref)
				delete(single, ref)
			case 1:
				if span[start] != nil {
					continue
				}
				f := &Fold{ID: id, Start: start, End: start + 1, Block: ref.Block, Stub: "[gone]"}
				s.Replace(f)
				single[ref] = f
			default:
				for start > 0 && span[start] != nil && span[start] == span[start-1] {
					start--
				}
				for end < messages && span[end-1] != nil && span[end] == span[end-1] {
					end++
				}
				f := &Fold{ID: id, Start: start, End: end, Block: -1}
				s.Replace(f)
				for i := start; i < end; i++ {
					span[i] = f
					for b := range blocks {
						delete(single, transcript.BlockRef{Message: i, Block: b})
					}
				}
			}
			checkSet(t, &s, span, single)
		}
	}
}

func checkSet(t *testing.T, s *Set, span []*Fold, single map[transcript.BlockRef]*Fold) {
	t.Helper()
	want := map[int]bool{}
	for i, f := range span {
		if s.Overlaps(i, i+1) != (f != nil) {
			t.Fatalf("message %d: covered %v", i, f == nil)
		}
		if f != nil {
			want[f.ID] = true
		}
	}
	for ref, f := range single {
		if want[f.ID] = true; s.Block(ref) != f {
			t.Fatalf("block %v has %v, want %v", ref, s.Block(ref), f)
		}
	}
	n := 0
	for f := range s.In(0, len(span)) {
		if n++; !want[f.ID] {
			t.Fatalf("fold %d is still there", f.ID)
		}
	}
	if ids := s.IDs(); n != len(want) || len(ids) != n || !slices.IsSorted(ids) || s.IsEmpty() != (n == 0) {
		t.Fatalf("%d folds, numbers %v, want %d", n, ids, len(want))
	}
}
