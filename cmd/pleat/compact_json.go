package main

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/pleat-dev/pleat"
)

func writeViewJSON(w io.Writer, _ *program, r *folded) error {
	rep := r.report
	c := compactJSON{
		Format: formatCompact, Source: r.file.json(), Session: r.session.Key().Session, Policy: r.policy, Tokens: r.tokens(),
		Messages: r.viewJSON(), Folds: foldsJSON(rep.Folds), Ledger: entriesJSON(r.session.Ledger(pleat.LedgerFilter{})), Pins: []pinJSON{},
		Report: reportJSON{rep.Messages, len(r.view.Messages), byLever(rep.Folds), rep.Epochs, rep.Snapshot, rep.Cache, r.warning},
	}
	for _, text := range r.session.Pins() {
		c.Pins = append(c.Pins, pinJSON{Text: text, Kind: "pin"})
	}
	_, rules, _ := r.session.Words()
	for _, rule := range rules {
		if rule.InForce() {
			c.Pins = append(c.Pins, pinJSON{rule.Sentence, "rule", rule.Message + 1})
		}
	}
	if c.Anchors, err = r.anchors(c.Messages); err != nil {
		return err
	}
	return writeJSON(w, c)
}

func foldsJSON(folds []*pleat.Fold) []foldJSON {
	list := []foldJSON{}
	for _, f := range folds {
		j := foldJSON{f.Handle, f.Lever, f.Reason, [2]int{f.Start + 1, f.End}, nil, f.Before, f.After, f.Hash, f.Bytes, f.Lines}
		if f.Block >= 0 {
			j.Block = &f.Block
		}
		list = append(list, j)
	}
	return list
}

func entriesJSON(entries []pleat.LedgerEntry) []entryJSON {
	list := []entryJSON{}
	for _, e := range entries {
		list = append(list, entryJSON{e, e.Call.Message + 1})
	}
	return list
}

// viewJSON describes the view message by message, with the handle of everything that
// stands in for something else.
func (r *folded) viewJSON() []viewJSON {
	blocks := make(map[pleat.BlockRef]string)
	pages := make(map[string]string)
	for _, f := range r.report.Folds {
		if f.Block >= 0 {
			blocks[pleat.BlockRef{Message: f.Start, Block: f.Block}] = f.Handle
		} else if f.Stub != "" {
			pages[f.Stub] = f.Handle
		}
	}
	list := []viewJSON{}
	for _, vm := range r.view.Messages {
		m := vm.Made
		if vm.Source >= 0 {
			var err error
			if m, err = r.session.Message(context.Background(), vm.Source); err != nil {
				return nil, err
			}
		}
		j := viewJSON{Role: m.Role(), Message: vm.Source + 1, Blocks: []blockJSON{}}
		if vm.Source < 0 {
			j.Handle = pages[m.Text()]
		}
		next := 0
		for i, blk := range m.Blocks().All() {
			b := describeBlock(blk)
			if next < len(vm.Edits) && vm.Edits[next].Block == i {
				e := vm.Edits[next]
				if next++; e.Drop {
					continue
				}
				b.Text, b.Handle = e.Text, blocks[pleat.BlockRef{Message: vm.Source, Block: i}]
			}
			j.Blocks = append(j.Blocks, b)
		}
		list = append(list, j)
	}
	return list
}

func describeBlock(blk pleat.Block) blockJSON {
	j := blockJSON{Kind: blk.Kind().String()}
	switch b := blk.(type) {
	case pleat.Text:
		j.Text = b.Text.String()
	case pleat.Thinking:
		j.Text = b.Text.String()
	case pleat.ToolCall:
		j.Text, j.Tool, j.CallID = b.Input.String(), b.Name, b.ID
	case pleat.ToolResult:
		j.Text, j.CallID, j.Error = b.Text(), b.CallID, b.Error
	case pleat.Image:
		j.Type = b.MediaType
	case pleat.Opaque:
		j.Type = b.Type
	}
	return j
}

// maxAnchors bounds the list of anchors; the most frequent come first.
const maxAnchors = 1_000

// anchors lists the exact names in what was folded, and whether the view has them still.
func (r *folded) anchors(view []viewJSON) ([]anchorJSON, error) {
	counts := make(map[string]int)
	for _, f := range r.report.Folds {
		for i := f.Start; i < f.End; i++ {
			m, err := r.session.Message(context.Background(), i)
			if err != nil {
				return nil, err
			}
			for j, blk := range m.Blocks().All() {
				if f.Block < 0 || f.Block == j {
					for name := range pleat.Anchors(describeBlock(blk).Text) {
						counts[name]++
					}
				}
			}
		}
	}
	shown := make(map[string]bool)
	for _, m := range view {
		for _, b := range m.Blocks {
			for name := range pleat.Anchors(b.Text) {
				shown[name] = true
			}
		}
	}
	list := make([]anchorJSON, 0, len(counts))
	for name, n := range counts {
		list = append(list, anchorJSON{name, n, shown[name]})
	}
	slices.SortFunc(list, func(a, b anchorJSON) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	return list[:min(len(list), maxAnchors)], nil
}
