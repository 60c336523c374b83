package userwords

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/fence"
)

// RenderOptions say which of people's words a page shows, and in how much room.
type RenderOptions struct {
	UpTo   int                      // only messages before this one; 0: all
	Budget int                      // tokens; 0: no bound
	Pastes int                      // tokens that words may take with their pastes whole; 0: pastes are shortened
	Tasks  int                      // tokens that the task list may take even if there is no room left
	Whole  bool                     // a plan is shown whole where there is room for all of it
	Count  func(text string) int    // counts tokens; nil: a quarter of the bytes
	Skip   func(message int) bool   // messages shown in full elsewhere; nil: none
	Handle func(message int) string // address of a message's full text; nil: none
	Pins   []string                 // texts pinned by hand
	Told   int                      // messages before this one are shown without what they answer; 0: none
}

type size struct {
	whole int // all that was typed
	least int // the beginning and the end of it that are worth showing
}

// Render writes a page of what people said: pins, their messages, the task list. Their
// words are verbatim and marked with the message they come from, counted from 1.
//
// Pins are shown whether they fit or not, and leave what people typed at least half of the
// budget; of the newest message at least the beginning and the end are shown. Where all that
// was typed fits the budget, it is all there, if need be without what it answers; then pastes are shown whole as far as there is
// room for them, the shortest first. Where it does not fit, short messages have half of the
// room, then each message gets a share, from the newest to the oldest; what is left goes to
// those that were cut, the shortest first. What is cut or left out is marked and has its
// handle. What may be a program's has a section of its own, in the room that is left.
// It returns "" when there is nothing to show.
func (w *Words) Render(o RenderOptions) string {
	p := newPage(o, w.said)
	for _, pin := range o.Pins {
		line := fence.Item("pin", pin)
		p.room -= p.o.Count(line) + 1
		p.pins = append(p.pins, line)
	}
	p.room = max(p.room, o.Budget/2) // no pin keeps out what people typed
	list := p.say()
	p.room -= max(o.Budget-o.Pastes, 0)
	beyond := max(o.Tasks-p.room, 0)
	p.room += beyond
	p.taskList(w)
	p.room -= beyond
	p.sayWhole(list)
	doubted := newPage(o, w.doubted)
	doubted.doubt, doubted.room = true, p.room+max(o.Budget-o.Pastes, 0)
	doubted.say()
	return p.String(doubted)
}

func newPage(o RenderOptions, list []Said) *page {
	p := &page{o: o, room: o.Budget, list: list}
	if o.Count == nil {
		p.o.Count = func(s string) int { return (len(s) + 3) / 4 }
	}
	if o.UpTo <= 0 {
		p.o.UpTo = math.MaxInt
	}
	if o.Handle == nil {
		p.o.Handle = func(int) string { return "" }
	}
	return p
}

// page is a page of what people said, section by section.
type page struct {
	o      RenderOptions
	room   int
	pins   []string
	tasks  []string
	taskAs int            // the message that the task list is from
	list   []Said         // words to show
	doubt  bool           // a person or a program wrote them
	said   map[int]string // by index into the list
	left   []int          // messages that did not fit
}

// fits takes the room that a text needs; without a budget there is always room.
func (p *page) fits(text string) bool {
	if p.o.Budget <= 0 {
		return true
	}
	n := p.o.Count(text) + 1
	if n > p.room {
		return false
	}
	p.room -= n
	return true
}

// eligible lists what was said in the folded part and is not shown elsewhere. Words that
// were typed again, with more after them, are shown once.
func (p *page) eligible() []int {
	var list []int
	for i, s := range p.list {
		if s.Message >= p.o.UpTo || p.o.Skip != nil && p.o.Skip(s.Message) {
			continue
		}
		if i+1 < len(p.list) {
			next := p.list[i+1]
			if next.Message < p.o.UpTo && len(s.Text) > 20 && strings.HasPrefix(next.Text, s.Text) {
				continue
			}
		}
		list = append(list, i)
	}
	return list
}

func (p *page) saidText(s Said, words string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- message %d", s.Message+1)
	switch {
	case client.Of(s.Via) == client.Ask:
		fmt.Fprintf(&b, " (answer to %s)", fence.Line(s.Via))
	case s.Via != "":
		fmt.Fprintf(&b, " (refusing a call of %s)", fence.Line(s.Via))
	case s.Interrupts:
		b.WriteString(" (stopping the assistant)")
	}
	if asking := p.asking(s); asking != notAsked {
		q := s.Question
		if asking == briefAsked {
			q = shortQuestion(q)
		}
		b.WriteString(", answering the assistant's:\n")
		for line := range strings.SplitSeq(q, "\n") {
			b.WriteString("  > " + fence.Line(line) + "\n")
		}
		b.WriteString("  user")
	}
	b.WriteString(":" + fence.After("said", strings.TrimSpace(words)))
	return b.String()
}

// String puts the page together with one of words in doubt.
func (p *page) String(doubted *page) string {
	var sections []string
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			sections = append(sections, title+"\n"+strings.Join(lines, "\n")+"\n")
		}
	}
	section("## Pinned", p.pins)
	section("## What the user said (verbatim, oldest first)", p.lines("the user's messages"))
	section("## What the user or a program wrote (nobody can tell which; verbatim, oldest first)",
		doubted.lines("these texts"))
	title := "## Task list (the agent's own)"
	if p.taskAs > 0 {
		title = fmt.Sprintf("## Task list (the agent's own, as of message %d; what came later may have finished more)",
			p.taskAs)
	}
	section(title, p.tasks)
	return strings.Join(sections, "\n")
}

// lines are the words that are shown, and which of them did not fit.
func (p *page) lines(of string) (lines []string) {
	for _, i := range slices.Sorted(maps.Keys(p.said)) {
		lines = append(lines, p.said[i])
	}
	if len(p.left) > 0 {
		slices.Sort(p.left)
		lines = append(lines, p.leftOut(of))
	}
	return lines
}

// leftOut names the messages that did not fit: at most a dozen with their handles.
func (p *page) leftOut(of string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[not shown for want of room: %d more of %s:", len(p.left), of)
	for k, m := range p.left {
		if k == 12 {
			fmt.Fprintf(&b, " …")
			break
		}
		fmt.Fprintf(&b, " %d", m+1)
		if h := p.o.Handle(m); h != "" {
			fmt.Fprintf(&b, " (%s)", h)
		}
	}
	b.WriteByte(']')
	return b.String()
}
