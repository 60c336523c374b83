package pleat

import (
	"fmt"
	"strings"
)

// digestNeed is a digest that is wanted.
type digestNeed struct {
	start, end int // messages it shall tell of
	room       int // tokens
	focus      string
}

// digestAsk is how a policy wants a digest asked for.
type digestAsk struct {
	prompt   string // what the summarizer is told beyond the usual
	source   int    // characters of the conversation that it reads; 0: all
	retries  int    // further tries when its stream breaks
	zeroTemp bool   // temperature 0, where the model takes one
	trust    bool   // its text is taken as it came, with neither gate nor ladder
}

// digestSource is everything that a digest is written from and checked against: a copy,
// so that the session can go on while the model writes.
type digestSource struct {
	need   digestNeed
	hash   Hash
	first  int             // message that msgs begins with
	msgs   []sourceMessage // messages that the summarizer has to read, up to need.end
	prev   string          // the earlier digest, which tells of messages before first; empty: none
	said   []Said
	rules  []string // in force
	pins   []string
	notes  []Note
	system string
	tools  []Tool
	view   []Message // what the live request shows of them
	cold   bool      // the provider's cache of the live request is gone

	viewTokens int
	viewHead   int // messages of the view that stay as they are
	replaces   int // tokens that the view spends on them now
}

// sourceMessage is a message with what is known of its blocks.
type sourceMessage struct {
	Message
	handles []string
	stale   []int // number of the call that made the block stale, 0: none
	cut     bool  // a new group may begin here: no round is split
}

// shown writes what the live request shows of the turns to be folded: the source of
// policies that summarize what they sent.
func (s *digestSource) shown() string {
	var b strings.Builder
	for _, m := range s.view[min(s.viewHead, len(s.view)):] {
		fmt.Fprintf(&b, "--- %s\n", m.Role())
		for _, blk := range m.Blocks().All() {
			renderBlock(&b, blk)
		}
	}
	return b.String()
}

// Characters of a block that the summarizer is shown, from generous to tight.
var sourceCuts = []int{6_000, 1_500, 400}

// write writes messages start ≤ i < end for the summarizer. Blocks of more than cut
// characters lose their middle. A result that a later call made stale is only named.
func (s *digestSource) write(start, end, cut int) string {
	var b strings.Builder
	for i := start; i < end; i++ {
		m := &s.msgs[i-s.first]
		who := string(m.Role())
		if _, typed := TypedText(m.Message); m.Role() == RoleUser && !typed {
			who = "program" // whatever the wire calls it, no person typed it
		}
		fmt.Fprintf(&b, "--- message %d, %s\n", i+1, who)
		for k, blk := range m.Blocks().All() {
			s.writeBlock(&b, m, k, blk, cut)
		}
	}
	return b.String()
}

func (s *digestSource) writeBlock(b *strings.Builder, m *sourceMessage, k int, blk Block, cut int) {
	switch blk := blk.(type) {
	case Text:
		b.WriteString(shortMiddle(blk.Text.String(), 4*cut))
	case Thinking:
		if blk.Text.IsEmpty() {
			return
		}
		b.WriteString("(thinking) " + shortMiddle(blk.Text.String(), cut/2))
	case ToolCall:
		fmt.Fprintf(b, "(call) %s %s", blk.Name, shortMiddle(blk.Input.String(), cut))
	case ToolResult:
		word := "result"
		if blk.Error {
			word = "error"
		}
		fmt.Fprintf(b, "(%s [%s]) ", word, m.handles[k])
		if m.stale[k] > 0 {
			fmt.Fprintf(b, "left out: call %d made it stale", m.stale[k])
		} else {
			b.WriteString(shortMiddle(withoutReminder(blk.Text()), cut))
		}
	case Image:
		b.WriteString("(image)")
	case Opaque:
		fmt.Fprintf(b, "(%s)", blk.Type)
	}
	b.WriteString("\n")
}

// group is messages that the summarizer reads in one request.
type group struct {
	start, end int
	text       string
}

// groups divides what has to be read into as few groups as fit into room tokens each, from
// the head on and never through a round. Long blocks are cut first; a group that does not
// fit by itself is cut harder.
func (s *digestSource) groups(from, room int, count func(string) int) []group {
	cut := sourceCuts[0]
	for _, cut = range sourceCuts[:2] {
		if text := s.write(from, s.need.end, cut); count(text) <= room {
			return []group{{from, s.need.end, text}}
		}
	}
	var out []group
	open := group{start: from}
	tokens := 0
	for i := from; i < s.need.end; {
		next := i + 1
		for next < s.need.end && !s.msgs[next-s.first].cut {
			next++
		}
		text := s.write(i, next, cut)
		n := count(text)
		for _, harder := range []int{sourceCuts[2], sourceCuts[2] / 4} {
			if n > room {
				text = s.write(i, next, harder)
				n = count(text)
			}
		}
		if n > room { // one round of very many calls: its beginning and end
			text = shortMiddle(text, len(text)*room/n)
			n = count(text)
		}
		if tokens+n > room && tokens > 0 {
			out = append(out, open)
			open, tokens = group{start: i}, 0
		}
		open.end, open.text = next, open.text+text
		tokens += n
		i = next
	}
	return append(out, open)
}
