package sessionfile

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

func (r *Folded) writeJSON(w io.Writer) error {
	rep := r.Report
	view, err := r.viewJSON()
	if err != nil {
		return err
	}
	c := compactJSON{
		Format: "pleat/compact/1", Source: r.File.Source(), Session: r.Session.Key().Session,
		Policy: r.Policy, Tokens: r.Tokens(),
		Messages: view, Folds: Folds(rep.Folds), Ledger: Entries(r.Session.Ledger(ledger.Filter{}), nil),
		Pins: []pinJSON{},
		Report: reportJSON{
			rep.Messages, len(r.view.Messages), library.ByLever(rep.Folds), rep.Epochs, rep.Snapshot, rep.Cache,
			rep.Digests,
			r.Warning,
		},
	}
	for _, text := range r.Session.Pins() {
		c.Pins = append(c.Pins, pinJSON{text, "pin"})
	}
	if c.Anchors, err = r.anchors(c.Messages); err != nil {
		return err
	}
	return term.WriteJSON(w, c)
}

// viewJSON describes the view message by message. Stubs and pages have the handle of what
// they stand for.
func (r *Folded) viewJSON() ([]viewJSON, error) {
	blocks := make(map[transcript.BlockRef]string)
	pages := make(map[string]string)
	for _, f := range r.Report.Folds {
		if f.Block >= 0 {
			blocks[transcript.BlockRef{Message: f.Start, Block: f.Block}] = f.Handle
		} else if f.Stub != "" {
			pages[f.Stub] = f.Handle
		}
	}
	list := []viewJSON{}
	for _, vm := range r.view.Messages {
		m := vm.Made
		if vm.Source >= 0 {
			var err error
			if m, err = r.Session.Message(context.Background(), vm.Source); err != nil {
				return nil, err
			}
		}
		j := viewJSON{Role: m.Role(), Message: vm.Source + 1, Blocks: []blockJSON{}}
		if vm.Source < 0 {
			j.Handle = pages[m.Text()]
		}
		next := 0
		for i, blk := range m.Blocks().All() {
			b := DescribeBlock(blk)
			if next < len(vm.Edits) && vm.Edits[next].Block == i {
				e := vm.Edits[next]
				if next++; e.Drop {
					continue
				}
				b.Text, b.Handle = e.Text, blocks[transcript.BlockRef{Message: vm.Source, Block: i}]
			}
			j.Blocks = append(j.Blocks, b)
		}
		list = append(list, j)
	}
	return list, nil
}

// DescribeBlock is a block as the JSON has it.
func DescribeBlock(blk transcript.Block) blockJSON {
	j := blockJSON{Kind: blk.Kind().String()}
	switch b := blk.(type) {
	case transcript.Text:
		j.Text = b.Text.String()
	case transcript.Thinking:
		j.Text = b.Text.String()
	case transcript.ToolCall:
		j.Text, j.Tool, j.CallID = b.Input.String(), b.Name, b.ID
	case transcript.ToolResult:
		j.Text, j.CallID, j.Error = b.Text(), b.CallID, b.Error
	case transcript.Image:
		j.Type = b.MediaType
	case transcript.Opaque:
		j.Type = b.Type
	}
	return j
}

// maxAnchors bounds the list of anchors; the most frequent come first.
const maxAnchors = 1_000

// anchors lists the exact names in what was folded, and whether the view still has them.
func (r *Folded) anchors(view []viewJSON) ([]anchorJSON, error) {
	counts, shown := make(map[string]int), make(map[string]int)
	count := func(into map[string]int, b blockJSON) {
		for name := range text.Anchors(b.Text) {
			into[name]++
		}
	}
	for _, f := range r.Report.Folds {
		for i := f.Start; i < f.End; i++ {
			m, err := r.Session.Message(context.Background(), i)
			if err != nil {
				return nil, err
			}
			for j, blk := range m.Blocks().All() {
				if f.Block < 0 || f.Block == j {
					count(counts, DescribeBlock(blk))
				}
			}
		}
	}
	for _, m := range view {
		for _, b := range m.Blocks {
			count(shown, b)
		}
	}
	list := make([]anchorJSON, 0, len(counts))
	for name, n := range counts {
		list = append(list, anchorJSON{name, n, shown[name] > 0})
	}
	slices.SortFunc(list, func(a, b anchorJSON) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	return list[:min(len(list), maxAnchors)], nil
}

// writeText writes the view as plain text, with or without thinking, and what comes after
// each message.
func (r *Folded) writeText(w io.Writer, thinking bool, after string) error {
	msgs, err := library.Spoken(context.Background(), r.Session, r.view)
	if err != nil {
		return err
	}
	for i, m := range msgs {
		library.WriteMessage(w, m, r.view.Messages[i].Source, thinking)
		fmt.Fprint(w, after)
	}
	return nil
}

// writePrompt writes a text that a new session can start from: what it is, the page,
// the newest turns word for word, and what the reader should do.
func (r *Folded) writePrompt(w io.Writer) error {
	key := r.Session.Key().Session
	var said strings.Builder
	if err := r.writeText(&said, false, ""); err != nil { // thinking is only valid in its own session
		return err
	}
	_, err := fmt.Fprint(w, library.HandoffHead(key, key, r.File.Info.Dir), library.Earlier(said.String()), library.GoOn)
	return err
}
