package lever

import (
	"context"
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Shorten cuts user messages that take more than their share of the view: of a message that
// a person typed, of the newest, and of one before the first answer, which has rules such as
// those of AGENTS.md, the typed words, the beginning and the end stay; of what a program put
// into another one, the first lines. All of it is under the handle. A system or developer
// message counts as the latter only if its origin says so: then the system prompt stands
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
		share, keep := s.Typed, 1
		if !m.Typed && i < at.Newest {
			share = s.Injected
			if program || i >= at.Opening {
				keep = firstLines
			}
		}
		if share == 0 {
			continue
		}
		if err := s.message(ctx, d, i, d.Limits.Target/share, d.Limits.Target/share/keep); err != nil {
			return err
		}
	}
	return nil
}

// firstLines is how small a part of its share stays of what a program put there.
const firstLines = 4

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
		if keep < most {
			head := text.CutText(words, keep*4)
			words = fmt.Sprintf("%s\n[… %s folded%s …]", head, text.Plural(len(words)-len(head), "byte"), how)
		} else {
			words = userwords.Shorten(words, how, func(s string) bool { return d.Count(s) <= keep })
		}
		if f := d.FoldBlock(ref, s, "a text that takes too much of the view", words); f != nil {
			f.Final = true
		}
	}
	return nil
}
