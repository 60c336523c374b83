package browse

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/transcript"
)

// BesideWidth is how wide a terminal must be for two columns.
const BesideWidth = 100

// The most lines that are shown of a page and what it stands for, and of a block and its stub.
const (
	mostPage  = 24
	mostBlock = 5
)

// SideRow is a piece of the session and what the model is shown of it.
type SideRow struct {
	left  []string
	right string
	most  int
	same  bool
}

// Beside walks a session and its view, and puts what belongs together into rows.
func Beside(ctx context.Context, s *pleat.Session, v transcript.View) ([]SideRow, error) {
	b := &browser{tree: new(branch)}
	if err := b.grow(ctx, s, nil); err != nil {
		return nil, err
	}
	var blocks []*branch
	for _, turn := range b.tree.kids {
		blocks = append(blocks, turn.kids...)
	}
	var rows []SideRow
	var made []string // pages that stand for what comes next on the left
	hidden := func(before int) {
		row := SideRow{right: strings.Join(made, "\n\n"), most: mostPage}
		for ; len(blocks) > 0 && blocks[0].ref.Message < before; blocks = blocks[1:] {
			row.left = append(row.left, blocks[0].what)
		}
		if made = nil; len(row.left) > 0 || row.right != "" {
			row.right = cmp.Or(row.right, "(left out)")
			rows = append(rows, row)
		}
	}
	for _, vm := range v.Messages {
		if vm.Source < 0 {
			made = append(made, vm.Made.Text())
			continue
		}
		hidden(vm.Source)
		for ; len(blocks) > 0 && blocks[0].ref.Message == vm.Source; blocks = blocks[1:] {
			rows = append(rows, besideBlock(blocks[0], vm.Edits))
		}
	}
	hidden(s.Len())
	return rows, nil
}

func besideBlock(x *branch, edits []transcript.BlockEdit) SideRow {
	for _, e := range edits {
		if e.Block != x.ref.Block {
			continue
		}
		row := SideRow{left: []string{x.what}, right: cmp.Or(e.Text, "(left out)"), most: mostBlock}
		for line := range strings.Lines(x.text) {
			if strings.TrimSpace(line) != "" {
				row.left = append(row.left, "  "+strings.TrimRight(line, "\r\n"))
			}
		}
		return row
	}
	return SideRow{left: []string{x.what}, right: "the same", most: 1, same: true}
}

// PrintBeside prints the rows that differ, each with the one before and after it.
func PrintBeside(p *term.Page, rows []SideRow) {
	p.Head("What the model would no longer see", "the session, and what the model is shown instead")
	differs := func(i int) bool { return i >= 0 && i < len(rows) && !rows[i].same }
	skipped := 0
	for i, r := range rows {
		if r.same && !differs(i-1) && !differs(i+1) {
			skipped++
			continue
		}
		printSkipped(p, skipped)
		skipped = 0
		printBesideRow(p, r)
	}
	printSkipped(p, skipped)
}

func printSkipped(p *term.Page, n int) {
	if n > 0 {
		p.Line("%s", p.Dim(fmt.Sprintf("… %s the same on both sides", term.Verb(n, "block", "is", "are"))))
	}
}

func printBesideRow(p *term.Page, r SideRow) {
	width := (p.Width - len(" | ")) / 2
	left := middle(r.left, r.most)
	right := middle(strings.Split(term.WrapWords(spaced(strings.TrimSpace(r.right)), width), "\n"), r.most)
	for i := range max(len(left), len(right)) {
		line := term.Pad(term.Clip(spaced(nth(left, i)), width), width) + " │ " + term.Clip(nth(right, i), width)
		if r.same {
			p.Line("%s", p.Dim(line))
		} else {
			p.Line("%s", strings.TrimRight(line, " "))
		}
	}
}

// spaced makes a text fit for columns: it has no tabs and nothing that moves the cursor.
func spaced(s string) string { return strings.ReplaceAll(term.Visible(s), "\t", "    ") }

// nth is line i, or "" if there are fewer lines.
func nth(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// middle cuts lines out of the middle, so that n are left.
func middle(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	tail := n / 3
	out := slices.Clone(lines[:n-tail])
	out[len(out)-1] = fmt.Sprintf("  … %s more", term.Plural(len(lines)-n+1, "line"))
	return append(out, lines[len(lines)-tail:]...)
}
