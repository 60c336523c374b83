package lever

import (
	"context"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Shorten cuts user messages that take more than their share of the view. The typed words, the
// beginning and the end stay: of a message that a person typed, and of the newest, as much as the
// share; of what a program put before the first answer, such as the rules of AGENTS.md, half of
// it; of what it put elsewhere, a quarter. All of it is under the handle. A system or developer
// message counts as a program's only if its origin says so: then the system prompt stands
// elsewhere.
type Shorten struct {
	Typed    int `json:"typed,omitempty"`    // a text may take target/typed tokens; 0: any number
	Injected int `json:"injected,omitempty"` // the same for what a program put there; 0: any number
}

// Name returns "shorten".
func (Shorten) Name() string { return "shorten" }

// Check refuses negative numbers.
func (s Shorten) Check() error { return fold.CheckNumbers("typed and injected", s.Typed, s.Injected) }

// Pull shortens.
func (s Shorten) Pull(ctx context.Context, d *fold.Draft) error {
	if d.Enough() {
		return nil
	}
	at := d.Marks()
	for i := range at.End {
		m := &d.Facts()[i]
		program := i < at.Prompt && m.Origin == transcript.OriginInjected
		if d.Folds().Overlaps(i, i+1) || m.Role != transcript.RoleUser && !program {
			continue
		}
		share, part := s.Typed, 1
		switch {
		case m.Typed || i >= at.Newest:
		case program || i >= at.Opening:
			share, part = s.Injected, 4
		default:
			share, part = s.Injected, 2
		}
		if share == 0 {
			continue
		}
		if err := s.message(ctx, d, i, d.Limits.Target/share, d.Limits.Target/share/part); err != nil {
			return err
		}
	}
	return nil
}

// message shortens the texts of a message that have more than most tokens to keep tokens.
func (s Shorten) message(ctx context.Context, d *fold.Draft, i, most, keep int) error {
	for b := range d.Facts()[i].Blocks {
		ref := transcript.BlockRef{Message: i, Block: b}
		bf, old := d.Facts().Block(ref), d.Folds().Block(ref)
		if bf.Kind != transcript.KindText || bf.Fixed || int(bf.Tokens) <= most || old != nil && old.After <= most {
			continue
		}
		words, err := blockText(ctx, d, ref)
		if err != nil {
			return err
		}
		how := d.Recall(bf.Handle.String())
		if how != "" {
			how = "; the rest: " + how
		}
		words = userwords.Shorten(words, how, func(s string) bool { return d.Count(s) <= keep })
		if f := d.FoldBlock(ref, s, "a text that takes too much of the view", words); f != nil {
			f.Final = true
		}
	}
	return nil
}
