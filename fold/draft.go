package fold

import (
	"slices"

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
	Pulled  bool // the caller named the levers, and the policy's are not pulled

	s       *Folding
	p       *Policy
	barred  []string // levers that are not pulled
	noSpans bool     // only single blocks are folded
	seen    int      // the messages before it count as seen by a model
	unseen  bool     // results that no model has seen may be folded too
	sure    int      // while the limits are a guess: unseen results are folded only above it; 0: they are none
	echo    Echoes
	safe    []bool // places where a cut splits no round; see Folding.Safe
	whole   []bool // the same for the transcript without folds
	model   bool   // a model can be asked for a digest
	need    *Need  // what it should be asked for
	reread  []string
	kept    map[transcript.BlockRef]bool
	done    bool
	said    int // tokens that people typed after the head; 0: not counted yet

	spans map[transcript.Place]Fold // what Span has measured
	in    Folded
	total int // tokens of the view, head included
	added []*Fold

	pageOf Lever // whose page was written last
	style  PageStyle
}

// Echoes says how to get back a result that itself only gave back something folded.
type Echoes func(bf *conv.BlockFacts, recall func(handle string) string) func(handle string) string

func newDraft(s *Folding, p *Policy, o PlanOptions) *Draft {
	in, total := s.InUse.clone(), s.Parts.Total()
	if o.Fresh {
		in = s.bornOnly()
		parts, _ := s.RenderedParts(in)
		total = parts.Total()
	}
	d := &Draft{
		Trigger: o.Trigger, Focus: o.Focus, Limits: o.Limits, Goal: o.Limits.Red - 1, From: o.From, Child: o.Child, Pulled: o.Steps != nil,
		s: s, p: p, echo: o.Echo, model: o.Model, in: in, total: total, barred: o.Barred, noSpans: o.NoSpans, sure: o.Sure, seen: s.asked,
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
		if slices.Contains(d.barred, l.Name()) {
			continue
		}
		l.Pull(d)
	}
}

// Stop ends the list of steps: no later lever is pulled.
func (d *Draft) Stop() { d.done = true }

// Clone returns a copy of the draft to try something on; see [Draft.Take].
func (d *Draft) Clone() *Draft {
	c := *d
	c.in, c.safe, c.added = d.in.clone(), slices.Clone(d.safe), slices.Clone(d.added)
	return &c
}

// Take replaces the draft by a changed clone of it.
func (d *Draft) Take(c *Draft) { *d = *c }

// Keep makes a result stay whole for the rest of the draft.
func (d *Draft) Keep(ref transcript.BlockRef) { d.kept[ref] = true }

// Reread notes a file that the agent reads again after every epoch: pages restore it first,
// and the plan names it.
func (d *Draft) Reread(path string) { d.reread = append(d.reread, path) }

// AllowAnswered lets levers fold what an answer follows also where this session, a fork, did
// not show it: another one did. It reports whether that changes anything.
func (d *Draft) AllowAnswered() bool {
	more := d.seen < d.s.heard
	d.seen = d.s.heard
	return more
}

// AllowUnseen lets levers fold results that no model has seen, until the function that it
// returns is called. It does nothing if the limits are a guess and the view may fit as it is.
func (d *Draft) AllowUnseen(allow bool) (end func()) {
	was := d.unseen
	d.unseen = was || allow && (d.sure == 0 || d.total > d.sure)
	return func() { d.unseen = was }
}

// FoldBlock replaces a block by a stub, if that makes the view smaller. Blocks that may not
// be folded stay: thinking, images outside of results, what pleat does not know, and results
// that no model has seen; see [Draft.AllowUnseen].
func (d *Draft) FoldBlock(ref transcript.BlockRef, l Lever, reason, stub string) bool {
	bf := d.Facts(ref)
	before := int(bf.Tokens)
	old := d.in.blocks[ref]
	if old != nil {
		before = old.After
	}
	parts := Parts{Stubs: d.Count(stub)}
	after := parts.Total()
	if r, ok := d.wordless(ref); ok && r.Parts.Len() == 0 {
		return false // a result may have no content, and then none can be replaced
	}
	if bf.Fixed || after >= before || stub == "" || d.s.isLate(ref, d.in) || bf.Kind == transcript.KindToolResult && !d.unseen && !d.Seen(ref.Message) {
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

// wordless returns a result without text.
func (d *Draft) wordless(ref transcript.BlockRef) (r transcript.ToolResult, ok bool) {
	if bf := d.Facts(ref); bf.Kind == transcript.KindToolResult && bf.Bytes == 0 {
		r, ok = d.Block(ref).(transcript.ToolResult)
	}
	return r, ok
}

// Span describes a stretch for folding: its handle, and how large it is. The caller sets
// Stub and Parts, and folds it with [Draft.FoldSpan].
func (d *Draft) Span(start, end int, l Lever, reason string) *Fold {
	f := d.span(start, end)
	f.Lever, f.Reason = l.Name(), reason
	_, f.Digest = l.(Asker)
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

// FoldSpan replaces whole messages, if that makes the view smaller. Folds inside the
// stretch end with it. Both ends must be safe; see [Draft.Safe]. It does nothing if the view
// would be illegal for it, or would lack a result that no model has seen.
func (d *Draft) FoldSpan(f *Fold) bool { return d.foldSpan(f, false) }

// foldSpan does that. With fill, a stretch of which other folds show little may take more
// than they do, up to the goal.
func (d *Draft) foldSpan(f *Fold, fill bool) bool {
	if d.noSpans || !d.apart(f) || !d.joins(f.Start, f.End, f.Stub != "") || !d.unseen && d.hidesUnseen(f.Start, f.End) {
		return false
	}
	f.Block = -1
	f.Before, f.After = d.TokensIn(f.Start, f.End), f.Parts.Total()
	grow := f.After - f.Before
	if grow >= 0 {
		for in := range d.FoldsIn(f.Start, f.End) {
			f.Before += in.Before - in.After
		}
		if !fill || f.After >= f.Before || d.total+grow > d.Goal {
			return false
		}
	}
	from, to := d.in.inside(f.Start, f.End)
	d.in.spans = slices.Replace(d.in.spans, from, to, d.add(f))
	for i := f.Start; i < f.End; i++ {
		for b := range d.s.Facts[i].Blocks {
			delete(d.in.blocks, transcript.BlockRef{Message: i, Block: b})
		}
	}
	d.seal(f)
	d.total += grow
	if !d.whole[f.End] { // a result behind the stretch has just become late
		parts, _ := d.s.RenderedParts(d.in)
		d.total = parts.Total()
	}
	return true
}

// joins reports whether what the view shows before a stretch and after it may be
// neighbours once the stretch is folded: a system message comes after the user and before
// an answer, or last. A stub comes before the system messages that precede its stretch.
func (d *Draft) joins(start, end int, stub bool) bool {
	next := d.in.past(end)
	switch {
	case d.behindSystem(start):
		return next == d.Len() || d.s.Facts[next].Role != transcript.RoleUser && d.s.Facts[next].Role != transcript.RoleTool
	case next == d.Len() || !d.s.isSystem(next) || stub:
		return true
	}
	at := d.before(start)
	return at >= 0 && d.s.Facts[at].Role != transcript.RoleAssistant
}

// before returns the message before place i that the view shows, or -1.
func (d *Draft) before(i int) int {
	for i--; i >= 0; i-- {
		k := d.in.reaching(i)
		if k == len(d.in.spans) || d.in.spans[k].Start > i {
			break
		}
		i = d.in.spans[k].Start
	}
	return i
}

// behindSystem reports whether the view shows a system message before place i, other than
// the prompt. Stubs do not count: they stand before it.
func (d *Draft) behindSystem(i int) bool {
	at := d.before(i)
	return at >= d.Prompt() && d.s.isSystem(at)
}

// Joined moves the end of a stretch back to where it can be folded; see [Draft.FoldSpan].
func (d *Draft) Joined(start, end int) int {
	for end > start && !d.joins(start, end, true) {
		end = d.Back(end - 1)
	}
	return end
}

// hidesUnseen reports whether messages start ≤ i < end hold a result that no model has seen.
func (d *Draft) hidesUnseen(start, end int) bool {
	for i := max(start, d.seen); i < end; i++ {
		for b := range d.s.Facts[i].Blocks {
			if d.s.Facts[i].Blocks[b].Kind == transcript.KindToolResult {
				return true
			}
		}
	}
	return false
}

// apart reports whether a stretch contains each folded stretch whole or not at all.
func (d *Draft) apart(f *Fold) bool {
	for k := d.in.reaching(f.Start); k < len(d.in.spans) && d.in.spans[k].Start < f.End; k++ {
		if g := d.in.spans[k]; g.Start < f.Start || f.End < g.End {
			return false
		}
	}
	return true
}

// seal forbids cuts inside a folded stretch: it becomes part of a larger one as a whole or
// not at all.
func (d *Draft) seal(f *Fold) {
	for i := f.Start + 1; i < f.End; i++ {
		d.safe[i] = false
	}
}

func (d *Draft) add(f *Fold) *Fold {
	f.ID = len(d.s.Folds) + len(d.added) + 1
	d.added = append(d.added, f)
	return f
}

// live lists the added folds that no later one replaced.
func (d *Draft) live() []*Fold {
	spans := make(map[*Fold]bool, len(d.in.spans))
	for _, f := range d.in.spans {
		spans[f] = true
	}
	var live []*Fold
	for _, f := range d.added {
		if spans[f] || d.in.blocks[f.ref()] == f {
			live = append(live, f)
		}
	}
	return live
}

// ShowAgain takes back the fold of a result, down to the stub it was born with, if the view
// still meets the goal then and does not become red.
func (d *Draft) ShowAgain(ref transcript.BlockRef) {
	f := d.in.blocks[ref]
	if f == nil || d.s.isLate(ref, d.in) {
		return
	}
	born := d.s.born[ref]
	grow := int(d.Facts(ref).Tokens) - f.After
	if born != nil {
		grow = born.After - f.After
	}
	if d.total+grow > min(d.Goal, d.Limits.Red-1) {
		return
	}
	d.total += grow
	if delete(d.in.blocks, ref); born != nil {
		d.in.blocks[ref] = born
	}
}

// ShowMore shows more of a folded block than its stub does, if the view still meets the goal
// then and does not become red.
func (d *Draft) ShowMore(ref transcript.BlockRef, stub string) {
	f := d.in.blocks[ref]
	more := *f
	more.Stub, more.Parts = stub, Parts{Stubs: d.Count(stub)}
	more.After = more.Parts.Total()
	if grow := more.After - f.After; grow > 0 && more.After < int(d.Facts(ref).Tokens) && d.total+grow <= min(d.Goal, d.Limits.Red-1) {
		d.in.blocks[ref] = d.add(&more)
		d.total += grow
	}
}

// SetBare shows messages before i without thinking.
func (d *Draft) SetBare(i int) {
	if d.noSpans {
		return // a message may have nothing but thinking
	}
	old := d.in.Bare
	before := d.shownIn(old, i)
	d.in.Bare = i
	d.total += d.shownIn(old, i) - before
}
