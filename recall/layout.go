package recall

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/search"
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
	l := x.layoutOf(i)
	old := l.windows != nil && !l.windows[[2]int{h.Start, h.End}]
	var out []candidate
	add := func(c candidate) {
		if x.count(&c); c.from < c.to && c.start < c.end {
			out = append(out, c)
		}
	}
	for b, at := range l.spots {
		bf, ref := &x.s.Facts()[i].Blocks[b], transcript.BlockRef{Message: i, Block: b}
		if bf.Name == 0 || !old && (h.End <= at.start || h.Start >= at.start+at.bytes) || at.damaged || x.s.isEcho(bf) || x.s.isReceipt(bf) || !x.s.admits(&x.narrow, ref, bf) {
			continue
		}
		if old {
			if !x.whole[ref] {
				x.whole[ref] = true
				for w := range search.Windows(x.text(ref)) {
					add(candidate{ref: ref, score: h.Score, from: w.From, to: w.To, start: w.Start, end: w.End})
				}
			}
			continue
		}
		add(candidate{
			ref: ref, score: h.Score,
			from: max(h.From-at.line, 0), to: min(h.To-at.line, at.lines),
			start: max(h.Start-at.start, 0), end: min(h.End-at.start, at.bytes),
		})
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

// layout is how a message is laid out in the text that it is found by. Stores that were
// written before calls were read as text have the JSON of calls in it: then a window is not
// one of those that the text has today, and all windows of the message are candidates.
type layout struct {
	spots   []spot
	windows map[[2]int]bool // bytes of the windows; nil: there is no call
}

func (x *searcher) layoutOf(i int) *layout {
	if known, ok := x.layouts[i]; ok {
		return known
	}
	l := &layout{}
	var texts []string
	var at spot
	calls := false
	for b, block := range x.s.message(i).Blocks().All() {
		txt := x.text(transcript.BlockRef{Message: i, Block: b})
		at.lines, at.bytes = text.LineCount(txt), len(txt)
		at.damaged = len(transcript.BlockText(block)) != int(x.s.Facts()[i].Blocks[b].Bytes)
		l.spots = append(l.spots, at)
		at.line += at.lines
		at.start += at.bytes
		if txt != "" && !strings.HasSuffix(txt, "\n") {
			at.start++
		}
		texts = append(texts, txt)
		calls = calls || block.Kind() == transcript.KindToolCall
	}
	if calls {
		l.windows = make(map[[2]int]bool)
		for w := range search.Windows(conv.JoinTexts(texts)) {
			l.windows[[2]int{w.Start, w.End}] = true
		}
	}
	x.layouts[i] = l
	return l
}
