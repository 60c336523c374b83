package recall

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// split finds the blocks that a window covers.
func (x *searcher) split(h store.Hit) []candidate {
	i, ok := x.s.MessageAt(h.Seq)
	if !ok || x.s.isHead(i) {
		return nil
	}
	if x.narrows() && !x.admitsAny(i) {
		return nil
	}
	var out []candidate
	for b, at := range x.layoutOf(i) {
		bf, ref := &x.s.Facts()[i].Blocks[b], transcript.BlockRef{Message: i, Block: b}
		outside := h.End <= at.start || h.Start >= at.start+at.bytes
		if outside || at.damaged || bf.Handle == 0 || x.s.isEcho(bf) || x.s.isReceipt(bf) ||
			!x.s.admits(&x.narrow, ref, bf) {
			continue
		}
		c := candidate{
			ref: ref, score: h.Score,
			from: max(h.From-at.line, 0), to: min(h.To-at.line, at.lines),
			start: max(h.Start-at.start, 0), end: min(h.End-at.start, at.bytes),
		}
		if x.count(&c); c.from < c.to && c.start < c.end {
			out = append(out, c)
		}
	}
	return out
}

// admitsAny reports whether the query looks in any block of message i.
func (x *searcher) admitsAny(i int) bool {
	for b := range x.s.Facts()[i].Blocks {
		if x.s.admits(&x.narrow, transcript.BlockRef{Message: i, Block: b}, &x.s.Facts()[i].Blocks[b]) {
			return true
		}
	}
	return false
}

// spot is where a block is in the text that its message is found by.
type spot struct {
	line, start  int
	lines, bytes int
	damaged      bool // what is there is only a stand-in for the block
}

// layoutOf returns where the blocks of a message are in the text that it is found by.
func (x *searcher) layoutOf(i int) []spot {
	if known, ok := x.layouts[i]; ok {
		return known
	}
	var spots []spot
	var at spot
	for b, block := range x.s.message(i).Blocks().All() {
		txt := x.text(transcript.BlockRef{Message: i, Block: b})
		at.lines, at.bytes = text.LineCount(txt), len(txt)
		at.damaged = len(transcript.BlockText(block)) != int(x.s.Facts()[i].Blocks[b].Bytes)
		spots = append(spots, at)
		at.line += at.lines
		at.start += at.bytes
		if txt != "" && !strings.HasSuffix(txt, "\n") {
			at.start++
		}
	}
	x.layouts[i] = spots
	return spots
}
