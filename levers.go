package pleat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// stubFor renders the placeholder of a folded result: the policy's own, or pleat's.
func (d *draft) stubFor(ref BlockRef, format, note string) (string, Parts) {
	bf := &d.s.facts[ref.Message].blocks[ref.Block]
	var e LedgerEntry
	tool := "tool"
	if bf.call > 0 {
		e = d.s.ledger.Entry(int(bf.call))
		tool = e.Tool
	}
	if format != "" {
		r, _ := d.s.t.Block(ref).(ToolResult)
		text := expand(format, "{tool}", tool, "{call_id}", r.CallID, "{tokens}", strconv.Itoa(int(bf.tokens)), "{handle}", bf.name.String())
		return text, Parts{Stubs: d.count(text)}
	}
	text := stub{
		tool: tool, args: e.Args, outcome: e.outcomeText(), ok: e.wentWell(), lines: int(bf.lines), bytes: int(bf.bytes),
		handle: bf.name.String(), recall: d.again(bf), note: note,
	}.text(d.count)
	return text, Parts{Stubs: d.count(text)}
}

// echoes says how to get back a result that itself only gave back something folded.
type echoes func(bf *blockFacts, recall func(handle string) string) func(handle string) string

// again is how a stub says to get a result back.
func (d *draft) again(bf *blockFacts) func(handle string) string {
	if d.echo == nil {
		return d.recall
	}
	return d.echo(bf, d.recall)
}

// outcomeText says how a call ended, in a few words; a plain success needs none.
func (e LedgerEntry) outcomeText() string {
	switch {
	case e.Outcome == Failed && e.ErrorLine != "":
		return "failed: " + e.ErrorLine
	case e.Outcome == Failed && e.ExitCode != nil:
		return fmt.Sprintf("exit %d", *e.ExitCode)
	case e.Outcome == Failed:
		return "failed"
	}
	return ""
}

// wentWell reports whether the call ran something that ended well by its own exit code:
// a state that the work goes on from, unlike that of a file that could be read.
func (e LedgerEntry) wentWell() bool {
	return e.Kind == CallRun && e.Outcome == Succeeded && !e.Filtered
}

// maskable reports whether a result may be folded by the levers that fold results.
func (d *draft) maskable(ref BlockRef) bool { return !d.kept[ref] && d.s.maskable(ref, d.p, d.in) }

func (s *folding) maskable(ref BlockRef, p *Policy, in folded) bool {
	bf := &s.facts[ref.Message].blocks[ref.Block]
	if old := in.blocks[ref]; bf.fixed || old != nil && old.After <= stubTokens {
		return false // what was spilled or shortened may still lose its preview
	}
	return bf.call == 0 || !slices.Contains(p.Mask.Exempt, s.ledger.Entry(int(bf.call)).Tool)
}

// old lists the results that may be folded as old ones, oldest first: all but the newest
// few, and none that no model has seen yet. Policies with rules of their own mean them.
func (d *draft) old() []BlockRef {
	refs := d.results()
	refs = refs[:max(len(refs)-d.p.Mask.Keep, 0)]
	for d.p.Guaranteed && len(refs) > 0 && refs[len(refs)-1].Message >= d.s.asked {
		refs = refs[:len(refs)-1]
	}
	return refs
}

// supersede folds results that a later result made stale: files read or changed again,
// calls repeated, failures that were mended. The newest results stay.
func (d *draft) supersede() {
	for _, ref := range d.old() {
		bf := &d.s.facts[ref.Message].blocks[ref.Block]
		if bf.call == 0 || !d.maskable(ref) {
			continue
		}
		by := d.s.ledger.Entry(int(bf.call)).SupersededBy
		if by == 0 {
			continue
		}
		note := fmt.Sprintf("Call %d made it stale", by)
		text, parts := d.stubFor(ref, d.p.Mask.Format, note)
		d.foldBlock(ref, LeverSupersede, note, text, parts)
	}
}

// mask folds old results: all but the newest few, the oldest first.
func (d *draft) mask() {
	for _, ref := range d.old() {
		if !d.p.Mask.All && d.enough() {
			return
		}
		bf := &d.s.facts[ref.Message].blocks[ref.Block]
		if int(bf.chars) < d.p.Mask.Min || !d.maskable(ref) {
			continue
		}
		text, parts := d.stubFor(ref, d.p.Mask.Format, "")
		d.foldBlock(ref, LeverMask, "old result", text, parts)
	}
}

// collapse folds closed stretches of work, oldest first: rounds in a row that only look
// around, or that work on the same things, with nobody speaking in between.
func (d *draft) collapse() {
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
func (d *draft) tail(keep int) int {
	return d.back(max(d.s.t.Len()-keep, 0))
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
func (d *draft) enoughOf(st stretch) stretch {
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
func (d *draft) stretches(end int) []stretch {
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
	for r := range d.s.t.allRounds() {
		if r.End > end || r.Start < d.s.first || r.Open() || d.coveredAny(r.Start, r.End) || !d.quiet(r) {
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

func (d *draft) coveredAny(start, end int) bool {
	for i := start; i < end; i++ {
		if d.covered(i) {
			return true
		}
	}
	return false
}

// quiet reports whether a round holds nothing but the assistant's words and calls and
// their results, and every part of it may be folded.
func (d *draft) quiet(r Round) bool {
	for i := r.Start; i < r.End; i++ {
		f := &d.s.facts[i]
		if f.typed {
			return false
		}
		for b := range f.blocks {
			bf := &f.blocks[b]
			if d.kept[BlockRef{i, b}] || bf.fixed && bf.kind != KindThinking || f.role != RoleAssistant && bf.kind == KindText {
				return false
			}
		}
	}
	return true
}

// roundSubject says whether a round only reads, and what it is about.
func (d *draft) roundSubject(r Round) (reads bool, about []string) {
	reads = true
	for _, c := range r.Calls {
		n := int(d.s.facts[c.Call.Message].blocks[c.Call.Block].call)
		e := d.s.ledger.Entry(n)
		if e.CallFacts.Kind != CallRead {
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
func (d *draft) stretchText(f *Fold, st stretch) string {
	sub := d.s.ledger.Between(st.start, st.end)
	var b strings.Builder
	fmt.Fprintf(&b, "[folded: %s, %s]\n", st.why, plural(sub.Len(), "call"))
	b.WriteString(sub.Render(st.end, stretchTokens, d.count))
	if d.recall != nil {
		fmt.Fprintf(&b, "\nEverything of it: %s", d.recall(f.Handle))
	}
	return b.String()
}

// snip folds the middle of a very long conversation.
func (d *draft) snip() {
	n := d.s.t.Len()
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
		page := d.page(f, pageRoom{total: d.pageTokens()})
		f.Stub, f.Parts, f.By = page.text, page.parts, page.by
	}
	d.foldSpan(f)
}

// shownMessages is the number of messages that the view shows, pleat's own apart.
func (d *draft) shownMessages() int {
	n := d.s.t.Len()
	for _, f := range d.in.spans {
		n -= f.End - f.Start
	}
	return n
}

// truncate drops the first half without a word: the naive baseline. The first message
// stays when nothing else could legally stand first.
func (d *draft) truncate() {
	n := d.s.t.Len()
	cut := n / 2
	if len(d.in.spans) > 0 {
		last := d.in.spans[len(d.in.spans)-1].End
		cut = last + (n-last)/2
	}
	start := d.prompt()
	at := cut
	for at < n && !(d.safe[at] && d.s.facts[at].role == RoleUser && !d.hasResult(at)) {
		at++
	}
	if at == n {
		start, at = min(d.s.first, n), d.back(cut)
	}
	if at <= start {
		return
	}
	d.foldSpan(d.span(start, at, LeverTruncate, "the first half"))
}

func (d *draft) hasResult(i int) bool {
	return slices.ContainsFunc(d.s.facts[i].blocks, func(b blockFacts) bool { return b.kind == KindToolResult })
}
