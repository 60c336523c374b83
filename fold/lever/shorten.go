package lever

import (
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Shorten cuts user messages that take more than their share of the view: of a message that
// a person typed, and of the newest, the typed words, the beginning and the end stay; of
// what a program put into an older one, the first lines. All of it is under the handle. A
// system or developer message counts as a program's only if its origin says so: then the
// system prompt stands elsewhere.
type Shorten struct {
	Typed    int `json:"typed,omitempty"`    // most of the target that a text may take, one part in so many; 0: any
	Injected int `json:"injected,omitempty"` // the same for what a program put there
}

// Name returns "shorten".
func (Shorten) Name() string { return "shorten" }

// Check refuses negative numbers.
func (s Shorten) Check() error { return notNegative("typed and injected", s.Typed, s.Injected) }

// Pull shortens.
func (s Shorten) Pull(d *fold.Draft) {
	if d.Enough() {
		return
	}
	newest := d.Newest()
	for i := range d.Len() {
		m := d.Message(i)
		if d.Covered(i) || m.Role != transcript.RoleUser && (i >= d.Prompt() || !d.Injected(i)) {
			continue
		}
		share, keep := s.Typed, 1
		if !m.Typed && i < newest {
			share, keep = s.Injected, firstLines
		}
		if share > 0 {
			s.message(d, i, d.Limits.Target/share, d.Limits.Target/share/keep)
		}
	}
}

// firstLines is how small a part of its share stays of what a program put there.
const firstLines = 4

// message shortens the texts of a message that have more than most tokens to keep tokens.
func (s Shorten) message(d *fold.Draft, i, most, keep int) {
	for b := range d.Message(i).Blocks {
		ref := transcript.BlockRef{Message: i, Block: b}
		bf := d.Facts(ref)
		t, ok := d.Block(ref).(transcript.Text)
		if !ok || bf.Fixed || int(bf.Tokens) <= most || d.Folded(ref) != nil && d.Folded(ref).After <= most {
			continue
		}
		how := d.Recall(bf.Name.String())
		if how != "" {
			how = "; the rest: " + how
		}
		words := t.Text.String()
		if keep < most {
			words = text.CutText(words, keep*4)
			words = fmt.Sprintf("%s\n[… %s folded%s …]", words, text.Plural(t.Text.Size()-len(words), "byte"), how)
		} else {
			words = userwords.Shorten(words, how, func(s string) bool { return d.Count(s) <= keep })
		}
		d.FoldBlock(ref, s, "a text of more than its share", words)
	}
}
