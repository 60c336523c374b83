package summarizer

import (
	"fmt"
	"strings"

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

// sourceCuts are how many characters of a block the summarizer is shown: all where its window
// holds them.
var sourceCuts = []int{1 << 40, 6_000, 1_500, 400}

// write writes messages start ≤ i < end for the summarizer. Blocks of more than cut
// characters lose their middle; results that a later call superseded lose more of it.
func (s *Source) write(start, end, cut int) string {
	var b strings.Builder
	for i := start; i < end; i++ {
		m := &s.Msgs[i-s.First]
		who := fence.Line(string(m.Role()))
		if _, typed := userwords.TypedText(m.Message); m.Role() == transcript.RoleUser && !typed {
			who = "program" // no person typed it
		}
		fmt.Fprintf(&b, "--- message %d, %s\n", i+1, who)
		for k, blk := range m.Blocks().All() {
			s.writeBlock(&b, m, k, blk, cut)
		}
	}
	return b.String()
}

func (s *Source) writeBlock(b *strings.Builder, m *SourceMessage, k int, blk transcript.Block, cut int) {
	switch blk := blk.(type) {
	case transcript.Text:
		b.WriteString(fence.Alone("text", text.ShortMiddle(blk.Text.String(), 4*cut)))
	case transcript.Thinking:
		if blk.Text.IsEmpty() {
			return
		}
		b.WriteString("(thinking)" + fence.After("thinking", text.ShortMiddle(blk.Text.String(), cut/2)))
	case transcript.ToolCall:
		fmt.Fprintf(b, "(call) %s%s", fence.Line(blk.Name),
			fence.After("input", text.ShortMiddle(blk.Input.String(), cut)))
	case transcript.ToolResult:
		word := "result"
		if blk.Error {
			word = "error"
		}
		if m.Superseded[k] {
			word, cut = "superseded "+word, cut/4
		}
		txt := text.ShortMiddle(text.WithoutReminder(blk.Text()), cut)
		fmt.Fprintf(b, "(%s [%s])%s", word, m.Handles[k], fence.After("result", txt))
	case transcript.Image:
		b.WriteString("(image)")
	case transcript.Opaque:
		fmt.Fprintf(b, "(%s)", fence.Line(blk.Type))
	}
	b.WriteString("\n")
}

// group is messages that the summarizer reads in one request.
type group struct {
	start, end int
	text       string
}

// groups divides what has to be read into as few groups of room tokens as possible, never
// through a round. Long blocks are cut first; what does not fit by itself is cut harder.
func (s *Source) groups(from, room int, count func(string) int) []group {
	cut := sourceCuts[0]
	for _, cut = range sourceCuts[:3] {
		if text := s.write(from, s.Need.End, cut); count(text) <= room {
			return []group{{from, s.Need.End, text}}
		}
	}
	var out []group
	open := group{start: from}
	tokens := 0
	for i := from; i < s.Need.End; {
		next := i + 1
		for next < s.Need.End && !s.Msgs[next-s.First].Cut {
			next++
		}
		txt := s.write(i, next, cut)
		n := count(txt)
		for _, harder := range []int{sourceCuts[3], sourceCuts[3] / 4} {
			if n > room {
				txt = s.write(i, next, harder)
				n = count(txt)
			}
		}
		if n > room { // one round of very many calls: its beginning and end
			txt = fence.Block("cut", text.ShortMiddle(txt, len(txt)*room/n)) + "\n"
			n = count(txt)
		}
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
