package pleat

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/page"
)

// pageDesk writes the pages of a session.
type pageDesk struct{ miner *page.Miner }

func (d pageDesk) input(r fold.PageRequest) page.Input {
	return page.Input{
		Miner: d.miner, Start: r.Start, End: r.End, Pins: r.Pins, Notes: r.Notes, Focus: r.Focus, Narrative: r.Narrative,
		Recall: r.Recall, Handle: r.Handle, Restore: page.Restore(r.Restore), Thrash: r.Thrash,
		Room: page.Room{Total: r.Room.Total, Files: r.Room.Files, Words: r.Room.Words, Plain: r.Room.Plain, Most: max(fold.MaxPage, r.Room.Total)},
	}
}

func (d pageDesk) Page(r fold.PageRequest) fold.WrittenPage {
	p := page.Write(d.input(r))
	return fold.WrittenPage{Text: p.Text, Parts: fold.Parts{Pins: p.Pins, Ledger: p.Ledger, Digest: max(p.Total-p.Pins-p.Ledger, 0)}, By: p.By}
}

func (d pageDesk) Restored(r fold.PageRequest) string { return page.WriteRestored(d.input(r)) }
