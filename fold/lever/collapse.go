package lever

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// Collapse folds closed stretches of work into their ledger lines, oldest first: rounds in
// a row that only look around, or that work on the same things, with nobody speaking in
// between.
type Collapse struct {
	Rounds int `json:"rounds,omitempty"` // least rounds of a stretch; 0: it folds nothing
	Keep   int `json:"keep,omitempty"`   // newest messages that stay
	// Only ends the steps here, so that no digest is made, unless somebody asked or the
	// provider refused.
	Only bool `json:"only,omitempty"`
}

// Name returns "collapse".
func (Collapse) Name() string { return "collapse" }

// Check refuses negative numbers.
func (c Collapse) Check() error {
	return notNegative("rounds and keep", c.Rounds, c.Keep)
}

// Pull collapses stretches until the goal is met.
func (c Collapse) Pull(d *fold.Draft) {
	if c.Rounds <= 0 {
		return
	}
	if c.Only && d.Trigger != fold.TriggerAsked && d.Trigger != fold.TriggerRefused {
		defer d.Stop()
	}
	if d.Enough() {
		return
	}
	for _, st := range c.stretches(d, d.Tail(c.Keep)) {
		if d.Enough() {
			return
		}
		st = c.enoughOf(d, st)
		f := d.Span(st.start, st.end, c, st.why)
		f.Stub = stretchText(d, f)
		f.Parts = fold.Parts{Stubs: d.Count(f.Stub)}
		d.FoldSpan(f)
	}
}

// stretch is a run of rounds on one thing.
type stretch struct {
	start, end int
	ends       []int // of the rounds
	why        string
}

// stretchTokens is how many tokens the text for a stretch has at most.
const stretchTokens = 400

// enoughOf cuts a stretch to its oldest rounds if folding those makes the view small
// enough: the others may as well stay.
func (c Collapse) enoughOf(d *fold.Draft, st stretch) stretch {
	at, saved := st.start, 0
	for i, end := range st.ends {
		saved += d.TokensIn(at, end)
		at = end
		if i+1 >= c.Rounds && d.Safe(end) && d.Tokens()-saved+stretchTokens <= d.Goal {
			st.end, st.ends = end, st.ends[:i+1]
			break
		}
	}
	return st
}

// stretches finds the runs of rounds before end that can become one text. A run of looking
// around ends with the first round that does something; a run of doing goes on while it
// stays with the same paths and commands.
func (c Collapse) stretches(d *fold.Draft, end int) []stretch {
	var out []stretch
	var cur stretch
	var subject map[string]bool
	looking := false
	flush := func() {
		if len(cur.ends) >= c.Rounds && d.Safe(cur.start) && d.Safe(cur.end) {
			out = append(out, cur)
		}
		cur, subject = stretch{}, nil
	}
	for r := range d.Rounds() {
		if r.End > end || r.Start < d.Opening() || r.Open() || d.CoveredAny(r.Start, r.End) || !quiet(d, r) {
			flush()
			continue
		}
		reads, about := roundSubject(d, r)
		same := func(s string) bool { return subject[s] }
		joins := len(cur.ends) > 0 && r.Start == cur.end && reads == looking && (looking || slices.ContainsFunc(about, same))
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

// quiet reports whether a round has only the assistant's words, its calls and their
// results, all of which may be folded.
func quiet(d *fold.Draft, r transcript.Round) bool {
	for i := r.Start; i < r.End; i++ {
		f := d.Message(i)
		if f.Typed {
			return false
		}
		for b := range f.Blocks {
			bf := &f.Blocks[b]
			if d.Kept(transcript.BlockRef{Message: i, Block: b}) || bf.Fixed && bf.Kind != transcript.KindThinking ||
				f.Role != transcript.RoleAssistant && bf.Kind == transcript.KindText {
				return false
			}
		}
	}
	return true
}

// roundSubject says whether a round only reads, and what it is about.
func roundSubject(d *fold.Draft, r transcript.Round) (reads bool, about []string) {
	reads = true
	for _, c := range r.Calls {
		e := d.Ledger().Entry(int(d.Facts(c.Call).Call))
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

// stretchText is the text that replaces a stretch. Changes come first and then failures, as
// far as its tokens go; the rest is counted.
func stretchText(d *fold.Draft, f *fold.Fold) string {
	sub := d.Ledger().Between(f.Start, f.End)
	var b strings.Builder
	fmt.Fprintf(&b, "[folded: %s, %s]\n", f.Reason, text.Plural(sub.Len(), "call"))
	b.WriteString(sub.Render(ledger.RenderOptions{UpTo: f.End, Budget: stretchTokens, Count: d.Count}))
	if how := d.Recall(f.Handle); how != "" {
		fmt.Fprintf(&b, "\nEverything of it: %s", how)
	}
	return b.String()
}
