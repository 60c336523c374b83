package lever

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// Collapse folds closed stretches of work into what the assistant said in them and a line for
// each call, oldest first: rounds in a row that only look around, or that work on the same
// things, with nobody speaking in between.
type Collapse struct {
	Rounds int `json:"rounds,omitempty"` // least rounds of a stretch; 0: it folds nothing
	Keep   int `json:"keep,omitempty"`   // newest messages that stay; 0: none
}

// Name returns "collapse".
func (Collapse) Name() string { return "collapse" }

// Check refuses negative numbers.
func (c Collapse) Check() error {
	return fold.CheckNumbers("rounds and keep", c.Rounds, c.Keep)
}

// Pull collapses stretches until the goal is met.
func (c Collapse) Pull(ctx context.Context, d *fold.Draft) error {
	if c.Rounds <= 0 || d.Enough() {
		return nil
	}
	for _, st := range c.stretches(d, tail(d, c.Keep)) {
		if d.Enough() {
			return nil
		}
		st = c.enoughOf(d, st)
		f, err := d.Span(ctx, st.start, st.end, c, st.why)
		if err != nil {
			return err
		}
		if f.Stub, err = stretchText(ctx, d, f); err != nil {
			return err
		}
		d.FoldSpan(f)
	}
	return nil
}

// stretch is a run of rounds on one thing.
type stretch struct {
	start, end int
	ends       []int // of the rounds
	why        string
}

// The text for a stretch has about a quarter of its tokens at most, or stretchTokens if that
// is more.
const stretchTokens = 400

// enoughOf cuts a stretch to its oldest rounds if folding those makes the view small
// enough: the others may as well stay.
func (c Collapse) enoughOf(d *fold.Draft, st stretch) stretch {
	const opening, line = 60, 40 // tokens
	at, saved, said := st.start, 0, 0
	for i, end := range st.ends {
		saved += d.TokensIn(at, end)
		for _, ref := range spoken(d, at, end) {
			said += int(d.Facts().Block(ref).Tokens)
		}
		at = end
		left := opening + min(said, saved/4) + line*d.Source.Ledger().Between(st.start, end)
		if i+1 >= c.Rounds && safe(d, end) && d.Tokens()-saved+left <= d.Goal {
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
		if len(cur.ends) >= c.Rounds && safe(d, cur.start) && safe(d, cur.end) {
			out = append(out, cur)
		}
		cur, subject = stretch{}, nil
	}
	opening := d.Facts().Opening()
	for _, r := range d.Source.Rounds() {
		if r.End > end || r.Start < opening || r.Open() || d.Folds().Overlaps(r.Start, r.End) || !quiet(d, r) {
			flush()
			continue
		}
		reads, about := roundSubject(d, r)
		same := func(s string) bool { return subject[s] }
		joins := len(cur.ends) > 0 && r.Start == cur.end && reads == looking &&
			(looking || slices.ContainsFunc(about, same))
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
		f := &d.Facts()[i]
		if f.Typed {
			return false
		}
		for b := range f.Blocks {
			bf := &f.Blocks[b]
			if d.Keep[transcript.BlockRef{Message: i, Block: b}] || bf.Fixed && !signed(bf) ||
				f.Role != transcript.RoleAssistant && bf.Kind == transcript.KindText {
				return false
			}
		}
	}
	return true
}

// signed reports whether a block that is not folded by itself may go with its round: thinking, and
// calls with a signature.
func signed(bf *transcript.BlockFacts) bool {
	return bf.Kind == transcript.KindThinking || bf.Kind == transcript.KindToolCall
}

// roundSubject says whether a round only reads, and what it is about.
func roundSubject(d *fold.Draft, r transcript.Round) (reads bool, about []string) {
	reads = true
	for _, c := range r.Calls {
		e := d.Source.Ledger().Entry(int(d.Facts().Block(c.Call).Call))
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

// stretchText is the text that replaces a stretch: what the assistant said, then each call
// with the handle of its result.
func stretchText(ctx context.Context, d *fold.Draft, f *fold.Fold) (string, error) {
	calls := d.Calls(f.Start, f.End)
	room := max(stretchTokens, d.TokensIn(f.Start, f.End)/4)
	var lines string
	for _, width := range []int{80, 40, 20} {
		if lines = ledger.Lines(calls, width); d.Count(lines) <= room/2 {
			break
		}
	}
	var b strings.Builder
	const opening = "[pleat: %s is folded, %s. This was put here by a program, not typed by the user.]\n"
	fmt.Fprintf(&b, opening, f.Reason, text.Plural(len(calls), "call"))
	said, err := saidText(ctx, d, f, max(room-d.Count(lines), room/2))
	if err != nil {
		return "", err
	}
	b.WriteString(said + lines)
	if how := d.Recall(f.Handle); how != "" {
		fmt.Fprintf(&b, "Everything of it: %s", how)
	}
	return b.String(), nil
}

// leastSaid is the least number of tokens for which it is worth to begin a text.
const leastSaid = 40

// saidText writes what the assistant said in a stretch, in about so many tokens. Texts that
// are longer than their share lose their middle; where the shares would be too small, the
// oldest are only named.
func saidText(ctx context.Context, d *fold.Draft, f *fold.Fold, room int) (string, error) {
	texts := spoken(d, f.Start, f.End)
	left := 0
	share := fairShare(d, texts, room)
	for share < leastSaid && left < len(texts) {
		left++
		share = fairShare(d, texts[left:], room)
	}
	var b strings.Builder
	if len(texts) > 0 {
		b.WriteString("The assistant said:\n")
	}
	if left > 0 {
		fmt.Fprintf(&b, "- [%s left out", text.Plural(left, "older text"))
		if d.Recall(f.Handle) != "" {
			b.WriteString(":")
			for _, ref := range texts[:left] {
				b.WriteString(" " + d.Facts().Block(ref).Handle.String())
			}
		}
		b.WriteString("]\n")
	}
	for _, ref := range texts[left:] {
		words, err := blockText(ctx, d, ref)
		if err != nil {
			return "", err
		}
		words = strings.TrimSpace(words)
		if bf := d.Facts().Block(ref); int(bf.Tokens) > share {
			words = shortText(words, share, d.Count, foldedMark(d, bf.Handle.String()))
		}
		fmt.Fprintf(&b, "- message %d:%s\n", ref.Message+1, fence.After("text", words))
	}
	return b.String(), nil
}

// spoken lists the assistant's texts in messages start ≤ i < end.
func spoken(d *fold.Draft, start, end int) []transcript.BlockRef {
	var texts []transcript.BlockRef
	for i := start; i < end; i++ {
		m := &d.Facts()[i]
		for b := range m.Blocks {
			if m.Role == transcript.RoleAssistant && m.Blocks[b].Kind == transcript.KindText && m.Blocks[b].Bytes > 0 {
				texts = append(texts, transcript.BlockRef{Message: i, Block: b})
			}
		}
	}
	return texts
}

// fairShare returns the most tokens that each text may take, so that all of them together
// take at most so many: short ones stay whole, and none keeps out another.
func fairShare(d *fold.Draft, texts []transcript.BlockRef, room int) int {
	const around = 6 // the number of the message
	sizes := make([]int, len(texts))
	for i, ref := range texts {
		sizes[i] = int(d.Facts().Block(ref).Tokens) + around
	}
	slices.Sort(sizes)
	for i, n := range sizes {
		if share := room / (len(sizes) - i); n > share {
			return share - around
		}
		room -= n
	}
	return math.MaxInt
}
