// Package annotate says whose words stand in a message. It is the only reader of what clients write into
// messages beside what people type; what that is, package client has in tables.
//
// The rules are few, and where they do not fit, the answer is [Unsure]:
//
//   - A tool's result is never a person's, but for the answer of a tool that asks, by its exact name, and for
//     the reason of a refusal where the log names the client.
//   - What a user's message says without a client's element or form is typed.
//   - Elements begin a line and alternate opening and closing by name. What stands between the first and the
//     last element of one name is unsure, and so is a block that does not parse.
//   - A log's word that a program wrote a message decides; its silence, and roles, decide nothing.
//
// Every client's tables count in every session: who writes is not known for certain.
package annotate

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/transcript"
)

// Who says whose words they are.
type Who uint8

// Whose words they are.
const (
	Program Who = iota // a program's: a client's, or what it put there
	User               // a person's
	Unsure             // a person's or a program's
)

// Span is a stretch of a block's text, the text of a result, and whose it is.
type Span struct {
	Block int    `json:"block,omitempty"`
	Start int    `json:"start,omitempty"`
	End   int    `json:"end"`
	Who   Who    `json:"who,omitempty"`
	Via   string `json:"via,omitempty"` // of a result: the tool; of a text: what was typed before it, which is not there
}

// Notes are the stretches of a message that are somebody else's than its role says: a text block of a user without
// any is all typed, any other block without one has none of a person's words. They are in order.
type Notes []Span

// State is what has to be known of earlier messages: which calls wait for their results. The zero value is ready.
type State struct {
	waiting map[string]string // names of tools by id
	begun   bool              // somebody other than the program has spoken
}

// call remembers a call until it is answered. Once more than 1,000 wait, all are forgotten: nobody answered them.
func (s *State) call(c transcript.ToolCall) {
	if s.waiting == nil || len(s.waiting) > 1000 {
		s.waiting = make(map[string]string)
	}
	if name, waits := s.waiting[c.ID]; waits && name != c.Name {
		c.Name = "" // nobody knows which of them a result answers
	}
	s.waiting[c.ID] = c.Name
}

// Message reads the next message of a conversation. Before may be nil: then results have no notes.
func Message(m transcript.Message, before *State) (notes Notes) {
	if before == nil {
		before = &State{begun: true}
	}
	for i, b := range m.Blocks().All() {
		switch b := b.(type) {
		case transcript.ToolCall:
			if m.Role() == transcript.RoleAssistant {
				before.call(b)
			}
		case transcript.ToolResult:
			if tool, ok := before.waiting[b.CallID]; ok {
				delete(before.waiting, b.CallID)
				for _, s := range answered(tool, b, m.Origin() == transcript.OriginTyped) {
					s.Block, s.Via = i, tool
					notes = append(notes, s)
				}
			}
		}
	}
	system := m.Role() == transcript.RoleSystem || m.Role() == transcript.RoleDeveloper
	before.begun = before.begun || !system
	switch m.Role() {
	case transcript.RoleAssistant, transcript.RoleTool:
		return notes
	case transcript.RoleUser:
		notes = append(notes, readUser(m)...)
		slices.SortStableFunc(notes, func(a, b Span) int { return a.Block - b.Block })
		return notes
	}
	who := Unsure
	if m.Origin() == transcript.OriginTyped {
		who = User
	} else if !before.begun || m.Origin() > transcript.OriginTyped {
		return notes
	}
	for i, b := range m.Blocks().All() {
		if t, ok := b.(transcript.Text); ok {
			if list, ok := quoted(t.Text.String(), who); ok {
				notes = append(notes, shifted(i, 0, list)...)
			}
		}
	}
	return notes
}

// readUser reads a user's message.
func readUser(m transcript.Message) (notes Notes) {
	texts := make([]string, m.Blocks().Len())
	only := true // it is nothing but text
	for i, b := range m.Blocks().All() {
		if t, ok := b.(transcript.Text); ok {
			texts[i] = t.Text.String()
		} else {
			only = false
		}
	}
	lists := readBlocks(texts)
	for i, t := range texts {
		if m.Origin() > transcript.OriginTyped {
			lists[i] = spanOf(t, Program)
		} else if only && m.Origin() == transcript.OriginTyped && !has(lists, User) {
			lists[i] = spanOf(t, Unsure) // it was typed, though it reads like a client's
		}
	}
	for i, list := range lists {
		typed := len(list) == 1 && list[0].Who == User && list[0].Via == "" && spans(list[0], texts[i])
		if !typed && texts[i] != "" {
			notes = append(notes, shifted(i, 0, joined(list))...)
		}
	}
	return notes
}

// joined returns spans with those that follow each other and are one's as one.
func joined(list []Span) (out []Span) {
	for _, s := range list {
		if n := len(out); n > 0 && out[n-1].End == s.Start && out[n-1].Who == s.Who && s.Who == Program {
			out[n-1].End = s.End
			continue
		}
		out = append(out, s)
	}
	return out
}

// readBlocks reads the texts of a user's message. From a mark on that another block closes, they are read as one. What
// stands beside a block with an element that holds all that was typed is unsure.
func readBlocks(texts []string) [][]Span {
	lists := make([][]Span, len(texts))
	var typed []int         // blocks with such an element
	announced := len(texts) // from where on a program may have written all
	var next *header
	for i, t := range texts {
		if next != nil {
			lists[i], next = next.result(t, 0), nil
			continue
		}
		if opens(t) && i+1 < len(texts) {
			list, only := read(strings.Join(texts[i:], "\n"))
			if only {
				typed = append(typed, -1)
			}
			start := 0
			for k, t := range texts[i:] {
				lists[i+k] = clipped(list, start, start+len(t))
				start += len(t) + 1
			}
			break
		}
		switch head := headerOf(t); {
		case head != nil:
			lists[i] = head.result(t, head.end)
			if head.next {
				next = head
			}
		case announces(t):
			lists[i], next = spanOf(t, Program), &header{}
			announced = min(announced, i)
		default:
			list, only := read(t)
			if lists[i] = list; only {
				typed = append(typed, i)
			}
		}
	}
	for i, list := range lists {
		for k := range list {
			beside := len(typed) > 0 && !slices.Equal(typed, []int{i})
			if list[k].Who == User && (beside || i > announced) {
				list[k].Who = Unsure
			}
		}
	}
	return lists
}

// opens reports whether a text is a client's mark that opens.
func opens(txt string) bool {
	txt = strings.TrimSpace(txt)
	return slices.ContainsFunc(client.All().Marks, func(m client.Mark) bool { return txt == m.Open })
}

// Words returns a person's words in a block of a message, and what may be, as the notes say; a blank line
// separates the pieces.
func (n Notes) Words(m transcript.Message, block int) (words, unsure string) {
	list, blk := n.Of(block), m.Blocks().At(block)
	txt, isText := transcript.BlockText(blk), blk.Kind() == transcript.KindText
	if len(list) == 0 && isText && m.Role() == transcript.RoleUser {
		return strings.TrimSpace(txt), ""
	}
	var pieces [Unsure + 1][]string
	for _, s := range list {
		piece := strings.TrimSpace(txt[min(s.Start, len(txt)):min(s.End, len(txt))])
		if isText && piece != "" {
			piece = s.Via + piece
		}
		if piece != "" {
			pieces[s.Who] = append(pieces[s.Who], piece)
		}
	}
	return strings.Join(pieces[User], "\n\n"), strings.Join(pieces[Unsure], "\n\n")
}

// Typed returns a person's words in each block of a message.
func (n Notes) Typed(m transcript.Message) []string {
	texts := make([]string, m.Blocks().Len())
	for i := range texts {
		texts[i], _ = n.Words(m, i)
	}
	return texts
}

// Of returns the notes of one block, as of a message with no other.
func (n Notes) Of(block int) (list Notes) {
	at, _ := slices.BinarySearchFunc(n, block, func(s Span, block int) int { return s.Block - block })
	for ; at < len(n) && n[at].Block == block; at++ {
		list = append(list, n[at])
		list[len(list)-1].Block = 0
	}
	return list
}

// Lowered returns notes in which a block's words are a person's only where earlier notes of it said so as well: who
// has newer tables may know less of what was typed, never more.
func (n Notes) Lowered(block int, was Notes) (out Notes) {
	now := n.Of(block)
	if len(was) == 0 || slices.Equal(now, was) {
		return n
	}
	if len(now) == 0 {
		now = Notes{{End: was[len(was)-1].End, Who: User}}
	}
	for _, s := range now {
		if s.Who != User {
			out = append(out, s)
			continue
		}
		for len(was) > 0 && was[0].End <= s.Start {
			was = was[1:]
		}
		for _, w := range was {
			if w.Start >= s.End {
				break
			}
			w.Start, w.End, w.Who = max(s.Start, w.Start), min(s.End, w.End), min(w.Who, Unsure)
			if w.Start < w.End {
				out = append(out, w)
			}
		}
	}
	out = append(shifted(block, 0, out), slices.DeleteFunc(slices.Clone(n), func(s Span) bool { return s.Block == block })...)
	slices.SortStableFunc(out, func(a, b Span) int { return a.Block - b.Block })
	return out
}

// Via returns the tool in whose result a person's words are.
func (n Notes) Via(block int) string {
	if list := n.Of(block); len(list) > 0 {
		return list[0].Via
	}
	return ""
}
