package fold

import (
	"maps"
	"slices"
	"sort"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// Draft is a set of folds that levers are choosing: those in force now, and those that the
// levers have added. It belongs to one plan and changes nothing else.
type Draft struct {
	Trigger Trigger
	Focus   string // what matters most to whoever asked; empty: nothing in particular
	Limits  Limits
	Goal    int  // levers stop when the view has at most so many tokens; 0: they go as far as they can
	From    int  // with TriggerPays: the first message whose results are worth folding
	Child   bool // the session is a sub-agent's
	Pulled  bool // the caller named the levers; the policy's others are not pulled

	s      *Folding
	p      *Policy
	echo   Echoes
	safe   []bool // places where a cut splits no round; see Folding.Safe
	whole  []bool // the same for the transcript without folds
	model  bool   // a model can be asked for a digest
	need   *Need  // what it should be asked for
	reread []string
	kept   map[transcript.BlockRef]bool
	done   bool

	spans map[transcript.Place]Fold // what Span has measured
	in    Folded
	total int // tokens of the view, head included
	added []*Fold
}

// Echoes says how to get back a result that itself only gave back something folded.
type Echoes func(bf *conv.BlockFacts, recall func(handle string) string) func(handle string) string

func newDraft(s *Folding, p *Policy, o PlanOptions) *Draft {
	in := Folded{spans: slices.Clone(s.InUse.spans), blocks: maps.Clone(s.InUse.blocks), Bare: s.InUse.Bare}
	d := &Draft{
		Trigger: o.Trigger, Focus: o.Focus, Limits: o.Limits, Goal: o.Limits.Red - 1, From: o.From, Child: o.Child, Pulled: o.Steps != nil,
		s: s, p: p, echo: o.Echo, model: o.Model, in: in, total: s.Parts.Total(),
		safe: s.Safe(in), whole: s.Safe(Folded{}), spans: make(map[transcript.Place]Fold), kept: make(map[transcript.BlockRef]bool),
	}
	if d.Pulled || o.Trigger == TriggerIdle {
		d.Goal = 0
	}
	for _, f := range in.spans {
		d.seal(f)
	}
	return d
}

// pull pulls levers in order.
func (d *Draft) pull(steps Steps) {
	for _, l := range steps {
		if d.done {
			return
		}
		l.Pull(d)
	}
}

// Stop ends the list of steps: no later lever is pulled.
func (d *Draft) Stop() { d.done = true }

// Clone is a copy of the draft to try something on; see [Draft.Take].
func (d *Draft) Clone() *Draft {
	c := *d
	c.in = Folded{spans: slices.Clone(d.in.spans), blocks: maps.Clone(d.in.blocks), Bare: d.in.Bare}
	c.safe, c.added = slices.Clone(d.safe), slices.Clone(d.added)
	return &c
}

// Take makes the draft what another became.
func (d *Draft) Take(c *Draft) { *d = *c }

// seal makes the inside of a folded stretch a place where nothing is cut: stretches are
// folded whole into larger ones or not at all.
func (d *Draft) seal(f *Fold) {
	for i := f.Start + 1; i < f.End; i++ {
		d.safe[i] = false
	}
}

// Covered reports whether message i is part of a folded stretch.
func (d *Draft) Covered(i int) bool { return d.in.covered(i) }

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

// Widened moves the start of a stretch back to that of a folded one it would cut.
func (d *Draft) Widened(start int) int {
	if k := d.in.reaching(start); k < len(d.in.spans) && d.in.spans[k].Start < start {
		return d.in.spans[k].Start
	}
	return start
}

// TokensOf is what the view now spends on message i; 0 inside a folded stretch.
func (d *Draft) TokensOf(i int) int {
	if d.Covered(i) {
		return 0
	}
	parts, _ := d.s.PartsShown(i, d.in)
	return parts.Total()
}

// TokensIn is what the view now spends on messages start ≤ i < end, stubs included.
func (d *Draft) TokensIn(start, end int) int {
	n := 0
	for i := start; i < end; i++ {
		n += d.TokensOf(i)
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

// FoldBlock replaces a block by a stub, if that makes the view smaller.
func (d *Draft) FoldBlock(ref transcript.BlockRef, l Lever, reason, stub string) bool {
	bf := d.Facts(ref)
	before := int(bf.Tokens)
	old := d.in.blocks[ref]
	if old != nil {
		before = old.After
	}
	parts := Parts{Stubs: d.Count(stub)}
	after := parts.Total()
	if after >= before || stub == "" || d.s.isLate(ref, d.in) {
		return false
	}
	d.in.blocks[ref] = d.add(&Fold{
		Handle: bf.Name.String(), Lever: l.Name(), Reason: reason,
		Start: ref.Message, End: ref.Message + 1, Block: ref.Block, Stub: stub,
		Before: before, After: after, Hash: bf.Hash, Bytes: int(bf.Bytes), Lines: int(bf.Lines), Parts: parts,
	})
	d.total += after - before
	return true
}

// FoldSpan replaces whole messages, if that makes the view smaller. Folds inside the stretch end with it. The caller has
// made sure that both ends are safe.
func (d *Draft) FoldSpan(f *Fold) bool {
	if !d.apart(f) {
		return false
	}
	f.Block = -1
	f.Before, f.After = d.TokensIn(f.Start, f.End), f.Parts.Total()
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

// Span describes a stretch for folding: its handle, and how large it is. The caller adds the
// stub and what it is made of, and folds it with [Draft.FoldSpan].
func (d *Draft) Span(start, end int, l Lever, reason string) *Fold {
	f := d.span(start, end)
	f.Lever, f.Reason = l.Name(), reason
	return f
}

func (d *Draft) span(start, end int) *Fold {
	p := transcript.Place{Start: start, End: end, Block: -1}
	f, known := d.spans[p] // levers try the same stretch with pages of different sizes
	if !known {
		f = Fold{Start: start, End: end, Block: -1}
		f.Hash, f.Bytes, f.Lines = d.s.Measure(start, end)
		f.Handle = d.s.Index.Name(f.Hash, p).String()
		d.spans[p] = f
	}
	return &f
}

// Results lists the results of the transcript that a view shows or could show, oldest
// first.
func (d *Draft) Results() []transcript.BlockRef {
	var out []transcript.BlockRef
	for i := range d.s.Facts {
		if d.Covered(i) {
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

// Newest is the place where the newest round begins, or the newest message if that is
// not part of a round: what comes from there on is the work at hand.
func (d *Draft) Newest() int {
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
	return d.Back(at)
}

// Back moves a place back to where cutting is safe.
func (d *Draft) Back(i int) int {
	for i > 0 && !d.safe[i] {
		i--
	}
	return i
}

// Tail is the safe place with at least keep messages after it.
func (d *Draft) Tail(keep int) int { return d.Back(max(d.Len()-keep, 0)) }

// Bare is the message before which thinking is not shown.
func (d *Draft) Bare() int { return d.in.Bare }

// SetBare shows messages before i without thinking.
func (d *Draft) SetBare(i int) {
	old := d.in.Bare
	before := d.shownIn(old, i)
	d.in.Bare = i
	d.total += d.shownIn(old, i) - before
}

// shownIn is what the view spends on messages that are not part of a folded stretch.
func (d *Draft) shownIn(start, end int) int {
	n := 0
	for i := start; i < end; i++ {
		n += d.TokensOf(i)
	}
	return n
}
