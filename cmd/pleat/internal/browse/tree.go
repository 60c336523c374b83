// Package browse shows a session as a tree to look around in.
package browse

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Show shows a session on the terminal, or prints its tree. About says what its folds leave:
// a format for the tokens that are left and for all of them. Count counts what fills it. The handles of
// one that is not stored are not shown: nothing knows them later.
func Show(
	ctx context.Context, p *term.Console, name, about string, s *pleat.Session, count *tokens.Tokenizer, stored bool,
) error {
	b := &browser{Screen: p.Screen(), tree: &branch{open: true}, name: name, count: count, stored: stored}
	report := library.Report(s)
	b.about = fmt.Sprintf(": "+about, term.Short(report.Snapshot.Tokens), term.Short(report.Whole))
	if err := b.grow(ctx, s, report.Folds); err != nil {
		return err
	}
	if !p.Interactive() || p.Getenv("TERM") == "dumb" {
		return p.Output(false, b)
	}
	b.tree.kids[len(b.tree.kids)-1].open = true
	_, err := tea.NewProgram(&browseView{browser: b}, tea.WithContext(ctx), tea.WithInput(p.Stdin),
		tea.WithOutput(p.Stdout), tea.WithEnvironment(stores.ChildEnv())).Run()
	return err
}

// browser is a session as a tree: turns, and the blocks of their messages.
type browser struct {
	term.Screen
	name, about string
	tree        *branch
	count       *tokens.Tokenizer
	stored      bool
}

// title shortens the name so that the numbers fit.
func (b *browser) title(width int) string {
	return b.ClipMiddle(b.name, width-term.Columns(b.about)) + b.about
}

type branch struct {
	kids   []*branch
	open   bool
	depth  int
	what   string
	tokens int
	fold   *fold.Fold // that hides it from the model
	text   string     // what was said
}

// grow makes the tree. A turn begins where a person speaks.
func (b *browser) grow(ctx context.Context, s *pleat.Session, folds []*fold.Fold) error {
	calls := library.Whats(s)
	var turn *branch
	for i := range s.Len() {
		m, err := s.Message(ctx, i)
		if err != nil {
			return err
		}
		if typed, ok := userwords.TypedText(m); ok || turn == nil {
			turn = &branch{what: cmp.Or(term.OneLine(typed), "(before anybody spoke)"), depth: 0}
			b.tree.kids = append(b.tree.kids, turn)
		}
		turn.tokens += b.count.CountMessage(m)
		for j, blk := range m.Blocks().All() {
			d := sessionfile.DescribeBlock(blk)
			if o, ok := blk.(transcript.Opaque); ok { // pleat does not know what is in it
				d.Text = o.Raw
			}
			kind := strings.ReplaceAll(d.Kind, "_", " ")
			switch blk.Kind() {
			case transcript.KindText:
				kind = string(m.Role()) // who said it
			case transcript.KindOpaque:
				kind = cmp.Or(d.Type, kind)
			}
			ref := transcript.BlockRef{Message: i, Block: j}
			kid := &branch{
				depth: 1, text: d.Text, tokens: b.count.CountBlock(blk), fold: library.Hiding(folds, ref),
				what: fmt.Sprintf("%d %s %s", i+1, kind, term.OneLine(cmp.Or(calls[ref],
					strings.TrimSpace(d.Tool+" "+d.Text), "(no text)"))),
			}
			turn.kids = append(turn.kids, kid)
		}
	}
	if turn == nil {
		return fmt.Errorf("there is nothing to look at in %s", b.name)
	}
	return nil
}

func (b *browser) line(x *branch, width int) string {
	mark := "  "
	if len(x.kids) > 0 {
		mark = "▸ "
		if x.open {
			mark = "▾ "
		}
	}
	line := fmt.Sprintf("%7s  %s%s", term.Thousands(x.tokens), strings.Repeat("  ", x.depth), mark)
	note := ""
	if x.fold != nil {
		note = "  ⤓ " + x.fold.Lever
	}
	return line + b.Clip(x.what, max(width-term.Columns(line)-term.Columns(note), 12)) + note
}

// Print implements [term.Result]: it writes the whole tree.
func (b *browser) Print(p *term.Page) {
	p.Line("%s", p.Bold(b.title(p.Width)))
	width := p.Width
	if b.Whole { // a line of the tree only says what is there
		b.Whole, width = false, 120
	}
	for _, turn := range b.tree.kids {
		turn.open = true
		p.Line("%s", b.line(turn, width))
		for _, kid := range turn.kids {
			p.Line("%s", b.line(kid, width))
		}
	}
}
