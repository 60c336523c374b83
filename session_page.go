package pleat

// pageDesk writes the pages of a session.
type pageDesk struct{ miner *miner }

func (d pageDesk) input(r pageRequest) pageInput {
	return pageInput{
		s: d.miner, start: r.start, end: r.end, pins: r.pins, notes: r.notes, focus: r.focus, narrative: r.narrative,
		recall: r.recall, handle: r.handle, restore: restoring(r.restore), thrash: r.thrash,
		room: roomOfPage{total: r.room.total, files: r.room.files, plain: r.room.plain, most: maxPage},
	}
}

func (d pageDesk) write(r pageRequest) writtenPage {
	p := writePage(d.input(r))
	return writtenPage{p.Text, Parts{Pins: p.Pins, Ledger: p.Ledger, Digest: max(p.Total-p.Pins-p.Ledger, 0)}, p.By}
}

func (d pageDesk) restored(r pageRequest) string { return writeRestored(d.input(r)) }
