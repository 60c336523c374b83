package fold

import (
	"maps"
	"slices"
	"sort"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// draft is a set of folds being chosen: what is in force now, and what the levers add.
// It belongs to one planning and changes nothing else.
type Draft struct {
	s      *Folding
	p      *Policy
	lim    Limits
	goal   int // levers stop at or under it
	focus  string
	recall func(handle string) string
	echo   echoes
	safe   []bool                       // places where cutting splits no round; see state.safe
	whole  []bool                       // the same for the transcript without folds
	model  bool                         // a model can be asked for a digest
	need   *Need                        // what it should be asked for
	thrash []string                     // files that were read again after each of the newest epochs
	kept   map[transcript.BlockRef]bool // the newest reads of them

	spans map[transcript.Place]Fold // what span found out
	in    Folded
	total int // tokens of the view, head included
	added []*Fold
}

func newDraft(s *Folding, p *Policy, lim Limits, goal int) *Draft {
	in := Folded{spans: slices.Clone(s.InUse.spans), blocks: maps.Clone(s.InUse.blocks), Bare: s.InUse.Bare}
	d := &Draft{s: s, p: p, lim: lim, goal: goal, in: in, total: s.Parts.Total(), safe: s.Safe(in), whole: s.Safe(Folded{}), recall: conv.UnfoldCall, spans: make(map[transcript.Place]Fold)}
	for _, f := range in.spans {
		d.seal(f)
	}
	return d
}

// mark is a copy of the draft to go back to.
func (d *Draft) mark() *Draft {
	c := *d
	c.in = Folded{spans: slices.Clone(d.in.spans), blocks: maps.Clone(d.in.blocks), Bare: d.in.Bare}
	c.safe, c.added = slices.Clone(d.safe), slices.Clone(d.added)
	return &c
}

// seal makes the inside of a folded stretch a place where nothing is cut: stretches are
// folded whole into larger ones or not at all.
func (d *Draft) seal(f *Fold) {
	for i := f.Start + 1; i < f.End; i++ {
		d.safe[i] = false
	}
}

// enough reports whether the view is small enough to stop.
func (d *Draft) enough() bool { return d.total <= d.goal }

// count counts a text's tokens.
func (d *Draft) count(text string) int { return d.s.Count.CountText(text) }

// covered reports whether message i is part of a folded stretch.
func (d *Draft) covered(i int) bool { return d.in.covered(i) }

// reaching is the first of the folded stretches that ends behind place i.
func (in *Folded) reaching(i int) int {
	return sort.Search(len(in.spans), func(k int) bool { return in.spans[k].End > i })
}

func (in *Folded) covered(i int) bool {
	k := in.reaching(i)
	return k < len(in.spans) && in.spans[k].Start <= i
}

// past is the first message from i on that is not part of a folded stretch.
func (in *Folded) past(i int) int {
	k := in.reaching(i)
	for ; k < len(in.spans) && in.spans[k].Start <= i; k++ {
		i = in.spans[k].End
	}
	return i
}

// widened moves the start of a stretch back to that of a folded one it would cut.
func (d *Draft) widened(start int) int {
	if k := d.in.reaching(start); k < len(d.in.spans) && d.in.spans[k].Start < start {
		return d.in.spans[k].Start
	}
	return start
}

// tokensOf is what the view now spends on message i; 0 inside a folded stretch.
func (d *Draft) tokensOf(i int) int {
	if d.covered(i) {
		return 0
	}
	parts, _ := d.s.PartsShown(i, d.in)
	return parts.Total()
}

// tokensIn is what the view now spends on messages start ≤ i < end, stubs included.
func (d *Draft) tokensIn(start, end int) int {
	n := 0
	for i := start; i < end; i++ {
		n += d.tokensOf(i)
	}
	from, to := d.in.inside(start, end)
	for _, f := range d.in.spans[from:to] {
		n += f.After
	}
	return n
}

// inside are the folded stretches that lie in start ≤ i < end, empty ones at both ends
// included.
func (in *Folded) inside(start, end int) (from, to int) {
	from = sort.Search(len(in.spans), func(k int) bool { return in.spans[k].Start >= start })
	to = from
	for to < len(in.spans) && in.spans[to].End <= end {
		to++
	}
	return from, to
}

// foldBlock replaces a block by a stub, if that makes the view smaller.
func (d *Draft) foldBlock(ref transcript.BlockRef, lever Lever, reason, stub string, parts Parts) bool {
	bf := &d.s.Facts[ref.Message].Blocks[ref.Block]
	before := int(bf.Tokens)
	old := d.in.blocks[ref]
	if old != nil {
		before = old.After
	}
	after := parts.Total()
	if after >= before || stub == "" || d.s.isLate(ref, d.in) {
		return false
	}
	d.in.blocks[ref] = d.add(&Fold{
		Handle: bf.Name.String(), Lever: lever, Reason: reason,
		Start: ref.Message, End: ref.Message + 1, Block: ref.Block, Stub: stub,
		Before: before, After: after, Hash: bf.Hash, Bytes: int(bf.Bytes), Lines: int(bf.Lines), Parts: parts,
	})
	d.total += after - before
	return true
}

// foldSpan replaces whole messages. Folds inside the stretch end with it. The caller has
// made sure that both ends are safe.
func (d *Draft) foldSpan(f *Fold) bool {
	if !d.apart(f) {
		return false
	}
	f.Block = -1
	f.Before, f.After = d.tokensIn(f.Start, f.End), f.Parts.Total()
	if f.After >= f.Before {
		return false
	}
	from, to := d.in.inside(f.Start, f.End)
	d.in.spans = slices.Replace(d.in.spans, from, to, d.add(f))
	for i := f.Start; i < f.End; i++ {
		for b := range d.s.Facts[i].Blocks {
			delete(d.in.blocks, transcript.BlockRef{Message: i, Block: b})
		}
	}
	d.seal(f)
	d.total += f.After - f.Before
	if !d.whole[f.End] { // a result behind the stretch has just become late
		parts, _ := d.s.RenderedParts(d.in)
		d.total = parts.Total()
	}
	return true
}

// apart reports whether a stretch cuts no other: it holds each folded one or misses it.
func (d *Draft) apart(f *Fold) bool {
	for k := d.in.reaching(f.Start); k < len(d.in.spans) && d.in.spans[k].Start < f.End; k++ {
		if g := d.in.spans[k]; g.Start < f.Start || f.End < g.End {
			return false
		}
	}
	return true
}

func (d *Draft) add(f *Fold) *Fold {
	f.ID = len(d.s.Folds) + len(d.added) + 1
	d.added = append(d.added, f)
	return f
}

// span describes a stretch for folding: what its handle unfolds to, and how large.
func (d *Draft) span(start, end int, lever Lever, reason string) *Fold {
	p := transcript.Place{Start: start, End: end, Block: -1}
	f, known := d.spans[p] // levers try the same stretch with pages of different sizes
	if !known {
		f = Fold{Start: start, End: end, Block: -1}
		f.Hash, f.Bytes, f.Lines = d.s.Measure(start, end)
		f.Handle = d.s.Index.Name(f.Hash, p).String()
		d.spans[p] = f
	}
	f.Lever, f.Reason = lever, reason
	return &f
}

// results lists the results of the transcript that a view shows or could show, oldest
// first.
func (d *Draft) results() []transcript.BlockRef {
	var out []transcript.BlockRef
	for i := range d.s.Facts {
		if d.covered(i) {
			continue
		}
		for b := range d.s.Facts[i].Blocks {
			if d.s.Facts[i].Blocks[b].Kind == transcript.KindToolResult {
				out = append(out, transcript.BlockRef{Message: i, Block: b})
			}
		}
	}
	return out
}

// newest is the place where the newest round begins, or the newest message if that is
// not part of a round: what comes from there on is the work at hand.
func (d *Draft) newest() int {
	n := d.s.Transcript.Len()
	if n == 0 {
		return 0
	}
	at := n - 1
	for i := d.s.Transcript.Rounds() - 1; i >= 0; i-- {
		if r := d.s.Transcript.Round(i); r.End == n {
			at = min(at, r.Start)
		}
	}
	return d.back(at)
}

// back moves a place back to where cutting is safe.
func (d *Draft) back(i int) int {
	for i > 0 && !d.safe[i] {
		i--
	}
	return i
}
