package fold

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// Set is a set of folds that do not overlap: of whole messages, and of single blocks outside
// of these. The zero value is empty.
type Set struct {
	spans  []*Fold // whole messages: ascending, disjoint
	blocks []*Fold // single blocks: ascending

	Bare int // messages before this one are shown without thinking
}

// NewSet makes a set of folds. Of two that replace the same block, the later one is in it. It
// is an error if two replace the same messages.
func NewSet(folds []*Fold, bare int) (Set, error) {
	s := Set{Bare: bare}
	for _, f := range folds {
		if f.Whole() {
			s.spans = append(s.spans, f)
		} else {
			s.Replace(f)
		}
	}
	slices.SortFunc(s.spans, byPlace)
	for i, f := range s.spans[min(1, len(s.spans)):] {
		if f.Start < s.spans[i].End {
			return Set{}, fmt.Errorf("folds %d and %d overlap", s.spans[i].ID, f.ID)
		}
	}
	return s, nil
}

// IsEmpty reports whether the set has no folds.
func (s *Set) IsEmpty() bool { return len(s.spans)+len(s.blocks) == 0 }

// Block returns the fold that replaces a single block; nil: none does.
func (s *Set) Block(ref transcript.BlockRef) *Fold {
	if k, ok := s.blockAt(ref); ok {
		return s.blocks[k]
	}
	return nil
}

// Spans returns the folds of whole messages, in order. The caller must not change them.
func (s *Set) Spans() []*Fold { return s.spans }

// Overlaps reports whether any of messages start ≤ i < end is part of a folded stretch.
func (s *Set) Overlaps(start, end int) bool {
	for i := start; i < end; i++ {
		if s.covered(i) {
			return true
		}
	}
	return false
}

// In yields the folds in messages start ≤ i < end: of whole stretches, then of single blocks.
func (s *Set) In(start, end int) iter.Seq[*Fold] {
	from, to := s.inside(start, end)
	return slices.Values(slices.Concat(s.spans[from:to], s.blocksIn(start, end)))
}

// blocksIn returns the folds of single blocks in messages start ≤ i < end, in order.
func (s *Set) blocksIn(start, end int) []*Fold {
	from, _ := s.blockAt(transcript.BlockRef{Message: start})
	to, _ := s.blockAt(transcript.BlockRef{Message: end})
	return s.blocks[from:to]
}

// blockAt returns where the fold of a block is, or would be, among those of single blocks.
func (s *Set) blockAt(ref transcript.BlockRef) (int, bool) {
	k := sort.Search(len(s.blocks), func(k int) bool {
		f := s.blocks[k]
		return f.Start > ref.Message || f.Start == ref.Message && f.Block >= ref.Block
	})
	return k, k < len(s.blocks) && s.blocks[k].ref() == ref
}

// IDs lists the numbers of the folds, ascending.
func (s *Set) IDs() []int {
	ids := make([]int, 0, len(s.spans)+len(s.blocks))
	for _, f := range s.spans {
		ids = append(ids, f.ID)
	}
	for _, f := range s.blocks {
		ids = append(ids, f.ID)
	}
	sort.Ints(ids)
	return ids
}

// Replace adds a fold in place of those that it contains. A fold of whole messages must
// contain each folded stretch whole or not at all. A fold of a block with a blank stub is ignored.
func (s *Set) Replace(f *Fold) {
	if !f.Whole() {
		if text.Blank(f.Stub) {
			return
		}
		k, had := s.blockAt(f.ref())
		if !had {
			s.blocks = slices.Insert(s.blocks, k, nil)
		}
		s.blocks[k] = f
		return
	}
	if f.Start == f.End { // a message of its own, which replaces nothing
		s.spans = append(s.spans, f)
		slices.SortFunc(s.spans, byPlace)
		return
	}
	from, to := s.inside(f.Start, f.End)
	s.spans = slices.Replace(s.spans, from, to, f)
	first, _ := s.blockAt(transcript.BlockRef{Message: f.Start})
	s.blocks = slices.Delete(s.blocks, first, first+len(s.blocksIn(f.Start, f.End)))
}

// remove takes back the fold of a block.
func (s *Set) remove(ref transcript.BlockRef) {
	if k, ok := s.blockAt(ref); ok {
		s.blocks = slices.Delete(s.blocks, k, k+1)
	}
}

// clone returns a set that can be changed without changing this one.
func (s *Set) clone() Set {
	return Set{spans: slices.Clone(s.spans), blocks: slices.Clone(s.blocks), Bare: s.Bare}
}

// own returns the set with summaries in the form of their designs, without what code put beside them.
func (s *Set) own() Set {
	c := s.clone()
	for i, f := range c.spans {
		if f.Own > 0 {
			own := *f
			own.Stub = f.Stub[:f.Own]
			c.spans[i] = &own
		}
	}
	return c
}

func (s *Set) has(f *Fold) bool {
	if f.Whole() {
		return slices.Contains(s.spans, f)
	}
	return s.Block(f.ref()) == f
}

// hidden returns how many messages the folded stretches have.
func (s *Set) hidden() int {
	n := 0
	for _, f := range s.spans {
		n += f.End - f.Start
	}
	return n
}

// reaching returns the first of the folded stretches that ends after place i.
func (s *Set) reaching(i int) int {
	return sort.Search(len(s.spans), func(k int) bool { return s.spans[k].End > i })
}

// covered reports whether message i is part of a folded stretch.
func (s *Set) covered(i int) bool {
	k := s.reaching(i)
	return k < len(s.spans) && s.spans[k].Start <= i
}

// past returns the first message from i on that is not part of a folded stretch.
func (s *Set) past(i int) int {
	k := s.reaching(i)
	for ; k < len(s.spans) && s.spans[k].Start <= i; k++ {
		i = s.spans[k].End
	}
	return i
}

// before returns the last message before place i that is not part of a folded stretch, or -1.
func (s *Set) before(i int) int {
	for i--; i >= 0; i-- {
		k := s.reaching(i)
		if k == len(s.spans) || s.spans[k].Start > i {
			break
		}
		i = s.spans[k].Start
	}
	return i
}

// inside returns which folded stretches lie in start ≤ i < end, empty ones at both ends
// included.
func (s *Set) inside(start, end int) (from, to int) {
	from = sort.Search(len(s.spans), func(k int) bool { return s.spans[k].Start >= start })
	to = from
	for to < len(s.spans) && s.spans[to].End <= end {
		to++
	}
	return from, to
}

// apart reports whether messages start ≤ i < end contain each folded stretch whole or not at
// all.
func (s *Set) apart(start, end int) bool {
	for k := s.reaching(start); k < len(s.spans) && s.spans[k].Start < end; k++ {
		if g := s.spans[k]; g.Start < start || end < g.End {
			return false
		}
	}
	return true
}

// byPlace orders folds; an empty stretch comes before what begins at its place.
func byPlace(a, b *Fold) int {
	return cmp.Or(a.Start-b.Start, a.End-b.End, a.Block-b.Block)
}
