package fold

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// stubFor renders the placeholder of a folded result: the policy's own, or pleat's.
func (d *Draft) stubFor(ref transcript.BlockRef, format, note string) (string, Parts) {
	bf := &d.s.Facts[ref.Message].Blocks[ref.Block]
	var e ledger.Entry
	tool := "tool"
	if bf.Call > 0 {
		e = d.s.Ledger.Entry(int(bf.Call))
		tool = e.Tool
	}
	if format != "" {
		r, _ := d.s.Transcript.Block(ref).(transcript.ToolResult)
		text := expand(format, "{tool}", tool, "{call_id}", r.CallID, "{tokens}", strconv.Itoa(int(bf.Tokens)), "{handle}", bf.Name.String())
		return text, Parts{Stubs: d.count(text)}
	}
	text := stub{
		tool: tool, args: e.Args, outcome: e.OutcomeText(), ok: e.WentWell(), lines: int(bf.Lines), bytes: int(bf.Bytes),
		handle: bf.Name.String(), recall: d.again(bf), note: note,
	}.text(d.count)
	return text, Parts{Stubs: d.count(text)}
}

// echoes says how to get back a result that itself only gave back something folded.
type echoes func(bf *conv.BlockFacts, recall func(handle string) string) func(handle string) string

// again is how a stub says to get a result back.
func (d *Draft) again(bf *conv.BlockFacts) func(handle string) string {
	if d.echo == nil {
		return d.recall
	}
	return d.echo(bf, d.recall)
}

// maskable reports whether a result may be folded by the levers that fold results.
func (d *Draft) maskable(ref transcript.BlockRef) bool {
	return !d.kept[ref] && d.s.maskable(ref, d.p, d.in)
}

func (s *Folding) maskable(ref transcript.BlockRef, p *Policy, in Folded) bool {
	bf := &s.Facts[ref.Message].Blocks[ref.Block]
	if old := in.blocks[ref]; bf.Fixed || old != nil && old.After <= stubTokens {
		return false // what was spilled or shortened may still lose its preview
	}
	return bf.Call == 0 || !slices.Contains(p.Mask.Exempt, s.Ledger.Entry(int(bf.Call)).Tool)
}

// old lists the results that may be folded as old ones, oldest first: all but the newest
// few, and none that no model has seen yet. Policies with rules of their own mean them.
func (d *Draft) old() []transcript.BlockRef {
	refs := d.results()
	refs = refs[:max(len(refs)-d.p.Mask.Keep, 0)]
	for d.p.Guaranteed && len(refs) > 0 && refs[len(refs)-1].Message >= d.s.asked {
		refs = refs[:len(refs)-1]
	}
	return refs
}

// supersede folds results that a later result made stale: files read or changed again,
// calls repeated, failures that were mended. The newest results stay.
func (d *Draft) supersede() {
	for _, ref := range d.old() {
		bf := &d.s.Facts[ref.Message].Blocks[ref.Block]
		if bf.Call == 0 || !d.maskable(ref) {
			continue
		}
		by := d.s.Ledger.Entry(int(bf.Call)).SupersededBy
		if by == 0 {
			continue
		}
		note := fmt.Sprintf("Call %d made it stale", by)
		text, parts := d.stubFor(ref, d.p.Mask.Format, note)
		d.foldBlock(ref, LeverSupersede, note, text, parts)
	}
}

// mask folds old results: all but the newest few, the oldest first.
func (d *Draft) mask() {
	for _, ref := range d.old() {
		if !d.p.Mask.All && d.enough() {
			return
		}
		bf := &d.s.Facts[ref.Message].Blocks[ref.Block]
		if int(bf.Chars) < d.p.Mask.Min || !d.maskable(ref) {
			continue
		}
		text, parts := d.stubFor(ref, d.p.Mask.Format, "")
		d.foldBlock(ref, LeverMask, "old result", text, parts)
	}
}

// collapse folds closed stretches of work, oldest first: rounds in a row that only look
// around, or that work on the same things, with nobody speaking in between.
func (d *Draft) collapse() {
	if d.p.Collapse.Rounds <= 0 {
		return
	}
	end := d.tail(d.p.Digest.Keep)
	for _, st := range d.stretches(end) {
		if d.enough() {
			return
		}
		st = d.enoughOf(st)
		f := d.span(st.start, st.end, LeverCollapse, st.why)
		f.Stub = d.stretchText(f, st)
		f.Parts = Parts{Stubs: d.count(f.Stub)}
		d.foldSpan(f)
	}
}

// tail is the safe place with at least keep messages after it.
func (d *Draft) tail(keep int) int {
	return d.back(max(d.s.Transcript.Len()-keep, 0))
}

// stretch is a run of rounds on one thing.
type stretch struct {
	start, end int
	ends       []int // of the rounds
	why        string
}

// stretchTokens is the room for what was done in a stretch.
const stretchTokens = 400

// enoughOf is as much of a stretch, from its beginning, as makes the view small enough:
// its newest rounds may as well stay.
func (d *Draft) enoughOf(st stretch) stretch {
	at, saved := st.start, 0
	for i, end := range st.ends {
		saved += d.tokensIn(at, end)
		at = end
		if i+1 >= d.p.Collapse.Rounds && d.safe[end] && d.total-saved+stretchTokens <= d.goal {
			st.end, st.ends = end, st.ends[:i+1]
			break
		}
	}
	return st
}

// stretches finds the runs of rounds before end that can become one line. A run of
// looking around ends with the first round that does something; a run of doing goes on
// while it stays with the same paths and commands.
func (d *Draft) stretches(end int) []stretch {
	var out []stretch
	var cur stretch
	var subject map[string]bool
	looking := false
	flush := func() {
		if len(cur.ends) >= d.p.Collapse.Rounds && d.safe[cur.start] && d.safe[cur.end] {
			out = append(out, cur)
		}
		cur, subject = stretch{}, nil
	}
	for r := range d.s.Transcript.AllRounds() {
		if r.End > end || r.Start < d.s.First || r.Open() || d.coveredAny(r.Start, r.End) || !d.quiet(r) {
			flush()
			continue
		}
		reads, about := d.roundSubject(r)
		joins := len(cur.ends) > 0 && r.Start == cur.end && reads == looking && (looking || overlaps(subject, about))
		if !joins {
			flush()
			looking = reads
			cur = stretch{start: r.Start, why: "a finished stretch of work on the same things"}
			if reads {
				cur.why = "a finished stretch of looking around"
			}
			subject = make(map[string]bool)
		}
		cur.end = r.End
		cur.ends = append(cur.ends, r.End)
		for _, a := range about {
			subject[a] = true
		}
	}
	flush()
	return out
}

func (d *Draft) coveredAny(start, end int) bool {
	for i := start; i < end; i++ {
		if d.covered(i) {
			return true
		}
	}
	return false
}

// quiet reports whether a round holds nothing but the assistant's words and calls and
// their results, and every part of it may be folded.
func (d *Draft) quiet(r transcript.Round) bool {
	for i := r.Start; i < r.End; i++ {
		f := &d.s.Facts[i]
		if f.Typed {
			return false
		}
		for b := range f.Blocks {
			bf := &f.Blocks[b]
			if d.kept[transcript.BlockRef{Message: i, Block: b}] || bf.Fixed && bf.Kind != transcript.KindThinking || f.Role != transcript.RoleAssistant && bf.Kind == transcript.KindText {
				return false
			}
		}
	}
	return true
}

// roundSubject says whether a round only reads, and what it is about.
func (d *Draft) roundSubject(r transcript.Round) (reads bool, about []string) {
	reads = true
	for _, c := range r.Calls {
		n := int(d.s.Facts[c.Call.Message].Blocks[c.Call.Block].Call)
		e := d.s.Ledger.Entry(n)
		if e.CallFacts.Kind != toolcall.CallRead {
			reads = false
		}
		for _, p := range e.Paths {
			about = append(about, p.Path)
		}
		if e.Command != "" {
			about = append(about, e.Command)
		}
	}
	return reads, about
}

func overlaps(set map[string]bool, list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return set[s] })
}

// stretchText is the line that stands for a stretch. It names every change and failure,
// because a view must always show them, and counts the rest.
func (d *Draft) stretchText(f *Fold, st stretch) string {
	sub := d.s.Ledger.Between(st.start, st.end)
	var b strings.Builder
	fmt.Fprintf(&b, "[folded: %s, %s]\n", st.why, text.Plural(sub.Len(), "call"))
	b.WriteString(sub.Render(st.end, stretchTokens, d.count))
	if d.recall != nil {
		fmt.Fprintf(&b, "\nEverything of it: %s", d.recall(f.Handle))
	}
	return b.String()
}

// snip folds the middle of a very long conversation.
func (d *Draft) snip() {
	n := d.s.Transcript.Len()
	if d.p.Snip.Above <= 0 || d.shownMessages() <= d.p.Snip.Above {
		return
	}
	start, end := min(max(d.p.Snip.Head, d.head()), n), max(n-d.p.Snip.Tail, 0)
	for start < n && !d.safe[start] {
		start++ // a round at the head stays whole at the head
	}
	start, end = d.widened(start), d.back(end)
	if end <= start {
		return
	}
	if d.p.Snip.Format == "" && d.goal > 0 && d.total-d.tokensIn(start, end)+d.pageTokens() > d.goal {
		return // not enough: a digest of more turns will say the same and more
	}
	f := d.span(start, end, LeverSnip, fmt.Sprintf("more than %d messages", d.p.Snip.Above))
	if d.p.Snip.Format != "" {
		f.Stub = expand(d.p.Snip.Format, "{n}", strconv.Itoa(end-start), "{handle}", f.Handle)
		f.Parts = Parts{Stubs: d.count(f.Stub)}
	} else {
		page := d.page(f, PageRoom{Total: d.pageTokens()})
		f.Stub, f.Parts, f.By = page.Text, page.Parts, page.By
	}
	d.foldSpan(f)
}

// shownMessages is the number of messages that the view shows, pleat's own apart.
func (d *Draft) shownMessages() int {
	n := d.s.Transcript.Len()
	for _, f := range d.in.spans {
		n -= f.End - f.Start
	}
	return n
}

// truncate drops the first half without a word: the naive baseline. The first message
// stays when nothing else could legally stand first.
func (d *Draft) truncate() {
	n := d.s.Transcript.Len()
	cut := n / 2
	if len(d.in.spans) > 0 {
		last := d.in.spans[len(d.in.spans)-1].End
		cut = last + (n-last)/2
	}
	start := d.prompt()
	at := cut
	for at < n && !(d.safe[at] && d.s.Facts[at].Role == transcript.RoleUser && !d.hasResult(at)) {
		at++
	}
	if at == n {
		start, at = min(d.s.First, n), d.back(cut)
	}
	if at <= start {
		return
	}
	d.foldSpan(d.span(start, at, LeverTruncate, "the first half"))
}

func (d *Draft) hasResult(i int) bool {
	return slices.ContainsFunc(d.s.Facts[i].Blocks, func(b conv.BlockFacts) bool { return b.Kind == transcript.KindToolResult })
}
