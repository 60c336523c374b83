package lever

import (
	"context"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
)

// Truncate drops the first half of the view and leaves no stub: the baseline to beat. The first
// message stays where no other may come first.
type Truncate struct {
	Fit bool `json:"fit,omitempty"` // halves again until the goal is met
}

// Name returns "truncate".
func (Truncate) Name() string { return "truncate" }

// Pull drops the first half, or more.
func (t Truncate) Pull(ctx context.Context, d *fold.Draft) error {
	defer d.Allow(fold.AnyUnseen)()
	for before := -1; !d.Enough() && d.Tokens() != before; {
		before = d.Tokens()
		if err := t.half(ctx, d); err != nil || !t.Fit {
			return err
		}
	}
	return nil
}

func (t Truncate) half(ctx context.Context, d *fold.Draft) error {
	facts := d.Facts()
	n, last := len(facts), 0
	if spans := d.Folds().Spans(); len(spans) > 0 {
		last = spans[len(spans)-1].End
	}
	cut := last + (n-last)/2
	start, at := facts.Prompt(), cut
	for at < n && !(safe(d, at) && facts[at].Role == transcript.RoleUser && !facts.Has(at, transcript.KindToolResult)) {
		at++
	}
	if at == n {
		start, at = min(facts.Opening(), n), d.Back(cut)
	}
	if at <= start {
		return nil
	}
	f, err := d.Span(ctx, start, at, t, "the first half")
	if err != nil {
		return err
	}
	f.Final = true
	d.FoldSpan(f)
	return nil
}
