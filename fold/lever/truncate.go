package lever

import (
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// Truncate drops the first half of the view without a word, repeatedly until the goal is
// met: the baseline to beat. The first message stays where no other may come first.
type Truncate struct{}

// Name returns "truncate".
func (Truncate) Name() string { return "truncate" }

// Pull drops halves.
func (t Truncate) Pull(d *fold.Draft) {
	defer d.AllowUnseen(true)()
	for before := -1; !d.Enough() && d.Tokens() != before; {
		before = d.Tokens()
		t.half(d)
	}
}

func (t Truncate) half(d *fold.Draft) {
	n := d.Len()
	last := d.LastSpan()
	cut := last + (n-last)/2
	start, at := d.Prompt(), cut
	for at < n && !(d.Safe(at) && d.Message(at).Role == transcript.RoleUser && !hasResult(d, at)) {
		at++
	}
	if at == n {
		start, at = min(d.Opening(), n), d.Back(cut)
	}
	if at > start {
		d.FoldSpan(d.Span(start, at, t, "the first half"))
	}
}

func hasResult(d *fold.Draft, i int) bool {
	return slices.ContainsFunc(d.Message(i).Blocks, func(b conv.BlockFacts) bool { return b.Kind == transcript.KindToolResult })
}
