package page

import (
	"iter"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// needs says how likely each name is to be needed again. A line is worth keeping for the
// names in it that nothing else on the page has.
type needs struct {
	names map[uint64]float32 // how much each is needed, all mentions together
	focus map[uint64]bool
	buf   []text.Anchor
}

// What a mention is worth, by who made it. A name in the newest turns is in use; one that
// the user wrote is wanted; one that the assistant spoke of mattered to it; one that it
// wrote into a file is part of the work.
const (
	needFocus  = 20
	needTail   = 3
	needUser   = 2.5
	needProse  = 0.7 // times the source's weight
	needChange = 0.5
	needRecent = 0.4 // in results of the newest quarter of what is folded
	needMost   = 9   // all mentions together
)

const (
	tailBytes = 16 << 10  // of a block of the newest turns that are looked at
	tailTotal = 128 << 10 // of all of them
)

// tail yields the beginnings of the texts of the newest turns, which come after the page, the
// newest first.
func (in *input) tail() iter.Seq[string] {
	return func(yield func(string) bool) {
		left := tailTotal
		for i := len(in.Facts()) - 1; i >= in.End && left > 0; i-- {
			for _, b := range in.Reading.Message(i).Blocks().All() {
				text := text.CutText(transcript.BlockText(b), tailBytes)
				if left -= len(text); !yield(text) {
					return
				}
			}
		}
	}
}

// needsOf weighs the names of the whole conversation.
func (in *input) needsOf(srcs []source) *needs {
	n := &needs{names: make(map[uint64]float32)}
	n.mention(in.Focus, needFocus)
	n.focus = focusWords(in.Focus)
	for _, s := range newestSaid(in.Words().Said()) {
		n.mention(s.Text, needUser)
	}
	for text := range in.tail() {
		n.mention(text, needTail)
	}
	for k := range srcs {
		s := &srcs[k]
		w := float32(0)
		switch {
		case s.kind.prose():
			w = needProse * s.weight
		case s.kind == fromChange:
			w = needChange
		case s.kind == fromResult && s.ref.Message >= in.recent():
			w = needRecent
		}
		for _, h := range s.names {
			n.add(h, w)
		}
	}
	return n
}

// newestSaid is what people said last, as far as its names are looked at.
func newestSaid(list []userwords.Said) []userwords.Said {
	i := len(list)
	for left := tailTotal; i > 0 && left > 0; i-- {
		left -= len(list[i-1].Text)
	}
	return list[i:]
}

// recent is where the newest quarter of the stretch begins.
func (in *input) recent() int { return in.End - (in.End-in.Start)/4 }

// mention notes the names of a text.
func (n *needs) mention(txt string, w float32) {
	n.buf = text.AppendAnchors(n.buf[:0], txt)
	for _, a := range n.buf {
		n.add(a.Hash, w)
	}
}

func (n *needs) add(h uint64, w float32) {
	if w == 0 {
		return
	}
	if old, most := n.names[h], max(w, needMost); old < most {
		n.names[h] = min(old+w, most)
	}
}

// of returns what covering a name is worth.
func (n *needs) of(h uint64) float32 { return n.names[h] }

func focusWords(focus string) map[uint64]bool {
	if strings.TrimSpace(focus) == "" {
		return nil
	}
	words := make(map[uint64]bool)
	_, list := text.CueScore(focus, nil)
	for _, h := range list {
		words[h] = true
	}
	return words
}
