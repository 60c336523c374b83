package summarizer

import (
	"fmt"
	"sort"
	"strings"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Need is a digest that is wanted.
type Need struct {
	Start, End int // the messages Start ≤ i < End that it stands for
	Room       int // tokens; with Trust, 0: as many as the model gives
	Spare      int // tokens beyond it for which the rest of the view gives way
	Focus      string
}

// Ask is how a policy wants a digest asked for.
type Ask struct {
	Prompt   string // what the summarizer is told beyond the usual; with Trust, all of it
	Opening  string // with Trust: the first words of the message with the turns
	Closing  string // with Trust: its last words
	JSON     bool   // with Trust: the turns are JSON, a list of messages
	Source   int    // characters of the conversation that it reads; 0: all
	Retries  int    // further tries when its stream breaks
	ZeroTemp bool   // temperature 0, where the model takes one
	Trust    bool   // its text is used as it came: no gate, no ladder
}

// Source is everything that a digest is written from and checked against. It is a copy, so
// that the session can go on while the model writes.
type Source struct {
	Need   Need
	Hash   transcript.Hash
	Calls  int             // how many calls there are: digests name them by number
	First  int             // the message that Msgs begins with
	Msgs   []SourceMessage // what the summarizer has to read, up to Need.End
	Prev   string          // the earlier digest, of messages before First; empty: none
	Said   []userwords.Said
	Pins   []string
	Notes  []transcript.Note
	System string
	Tools  []model.Tool
	// View is what the live request shows of the messages before Need.End; for a summary that is
	// taken as it comes, what the levers before it left of them.
	View []transcript.Message
	// Spoken is, for such a summary, View as [annotate.AttributedView] has it.
	Spoken []transcript.Message

	ViewTokens int
	ViewHead   int // messages of View before those that the digest replaces
	Summed     int // messages after them that are an earlier summary
	Replaces   int // tokens of the messages that the digest replaces
}

// SourceMessage is a message with what is known of its blocks.
type SourceMessage struct {
	transcript.Message
	Handles    []string // of each block
	Superseded []bool   // of each block: a later call superseded it
	Cut        bool     // a group may begin here without splitting a round
	Whole      bool     // it stands in the view beside the digest, all of it
}

// lengths are how many characters of a block the summarizer is shown, and of a result that a later call superseded.
type lengths struct{ block, superseded int }

// leastCut is what each block has at least before the turns are read in several requests, harder are those
// of a round that is too large by itself.
var (
	leastCut = lengths{1_500, 375}
	harder   = []lengths{{400, 100}, {100, 25}}
)

// cuts are the ways to write blocks, the longest first: superseded results give way before the others.
func (s *Source) cuts() []lengths {
	all := 0
	for i := range s.Msgs {
		for _, b := range s.Msgs[i].Blocks().All() {
			all = max(all, 2*len(transcript.BlockText(b)))
			if o, ok := b.(transcript.Opaque); ok {
				all = max(all, len(o.Raw))
			}
		}
	}
	list := []lengths{{all, all}}
	for n := all; n > leastCut.superseded; n = n * 9 / 10 {
		list = append(list, lengths{all, n})
	}
	for n := all; n > leastCut.block; n = n * 9 / 10 {
		list = append(list, lengths{n, leastCut.superseded})
	}
	return append(list, leastCut)
}

// piece is a block, written for the summarizer.
type piece struct {
	message int
	text    string
}

// pieces writes the blocks of messages start ≤ i < end. Blocks that are longer lose their middle.
func (s *Source) pieces(start, end int, most lengths) (list []piece) {
	var b strings.Builder
	for i := start; i < end; i++ {
		m := &s.Msgs[i-s.First]
		_, parts := annotate.AttributedBlocks(m.Message)
		for k, blocks := range parts {
			for _, blk := range blocks {
				b.Reset()
				s.writeBlock(&b, m, k, blk, most)
				list = append(list, piece{i, b.String()})
			}
		}
	}
	return list
}

// sample is a part of what the summarizer has to read, from all over it.
func (s *Source) sample() string {
	const messages = 100
	var b strings.Builder
	for i := 0; i < len(s.Msgs); i += 1 + len(s.Msgs)/messages {
		for _, p := range s.pieces(s.First+i, s.First+i+1, leastCut) {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// write writes all but the middle of some pieces: so many of the first and of the last of them.
func (s *Source) write(list []piece, ends int) string {
	var b strings.Builder
	left := len(list) - 2*ends
	at := -1 // the message that is being written
	for k, p := range list {
		if k >= ends && k < ends+left {
			if k == ends {
				fmt.Fprintf(&b, "[… %s left out …]\n", text.Plural(left, "block"))
			}
			at = -1
			continue
		}
		if m := &s.Msgs[p.message-s.First]; p.message != at {
			at = p.message
			role, _ := annotate.AttributedBlocks(m.Message)
			fmt.Fprintf(&b, "--- message %d, %s\n", at+1, fence.Line(string(role)))
		}
		b.WriteString(p.text)
	}
	return b.String()
}

func (s *Source) writeBlock(b *strings.Builder, m *SourceMessage, k int, blk transcript.Block, cut lengths) {
	most := cut.block
	switch blk := blk.(type) {
	case transcript.Text:
		b.WriteString(fence.Block("text", text.ShortMiddle(blk.Text.String(), 4*most)))
	case transcript.Thinking:
		if blk.Text.IsEmpty() {
			return
		}
		b.WriteString("(thinking)" + fence.After("thinking", text.ShortMiddle(blk.Text.String(), most/2)))
	case transcript.ToolCall:
		fmt.Fprintf(b, "(call) %s%s", fence.Line(blk.Name),
			fence.After("input", text.ShortMiddle(blk.Input.String(), most)))
	case transcript.ToolResult:
		word := "result"
		if blk.Error {
			word = "error"
		}
		if m.Superseded[k] {
			word, most = "superseded "+word, cut.superseded
		}
		txt := text.ShortMiddle(annotate.Output(blk.Text()), most)
		fmt.Fprintf(b, "(%s [%s])%s", word, m.Handles[k], fence.After("result", txt))
	case transcript.Image:
		b.WriteString("(image)")
	case transcript.Opaque:
		fmt.Fprintf(b, "(%s)", fence.Line(blk.Type))
		if blk.Type == annotate.ByProgram {
			b.WriteString(fence.After("text", text.ShortMiddle(blk.Raw, 4*most)))
		}
	}
	b.WriteString("\n")
}

// group is messages that the summarizer reads in one request.
type group struct {
	start, end int
	text       string
}

// groups divides what has to be read into as few groups of room tokens as possible, never
// through a round. Long blocks are cut first, as little as fits; what does not fit by itself is cut harder.
func (s *Source) groups(from, room int, count func(string) int) []group {
	cuts, whole := s.cuts(), group{start: from, end: s.Need.End}
	fits := func(n int) bool {
		list := s.pieces(from, s.Need.End, cuts[n])
		whole.text = s.write(list, len(list))
		return count(whole.text) <= room
	}
	if fits(0) {
		return []group{whole}
	}
	if n := sort.Search(len(cuts), fits); n < len(cuts) && fits(n) {
		return []group{whole}
	}
	var out []group
	open := group{start: from}
	tokens := 0
	for i := from; i < s.Need.End; {
		next := i + 1
		for next < s.Need.End && !s.Msgs[next-s.First].Cut {
			next++
		}
		list := s.pieces(i, next, leastCut)
		txt := s.write(list, len(list))
		for _, cut := range harder {
			if count(txt) > room {
				list = s.pieces(i, next, cut)
				txt = s.write(list, len(list))
			}
		}
		if count(txt) > room { // one round of very many calls: its beginning and end
			ends := sort.Search(len(list)/2, func(n int) bool { return count(s.write(list, n+1)) > room })
			txt = s.write(list, ends)
		}
		n := count(txt)
		if tokens+n > room && tokens > 0 {
			out = append(out, open)
			open, tokens = group{start: i}, 0
		}
		open.end, open.text = next, open.text+txt
		tokens += n
		i = next
	}
	return append(out, open)
}
