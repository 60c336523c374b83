package userwords

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/toolname"
)

// RenderOptions say which of people's words a page shows, and in how much room.
type RenderOptions struct {
	UpTo   int                      // only messages before this one; 0: all
	Budget int                      // tokens; 0: no bound
	Pastes int                      // tokens that words may take with their pastes whole; 0: pastes are shortened
	Tasks  int                      // tokens that the task list may take even if there is no room left
	Count  func(text string) int    // counts tokens; nil: a quarter of the bytes
	Skip   func(message int) bool   // messages shown in full elsewhere; nil: none
	Handle func(message int) string // address of a message's full text; nil: none
	Pins   []string                 // texts pinned by hand
	Told   int                      // messages before this one are shown without what they answer; 0: none
	Sizes  Sizes                    // what was counted for other pages; nil: nothing is remembered
}

// Sizes remembers how many tokens messages take, from one page of the same words to the next.
// The pages must count in the same way.
type Sizes map[sizeKey]size

type sizeKey struct {
	at     int    // index into the list of what was said
	rest   string // what a message that is cut ends with
	asking asking
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
// handle. It returns "" when there is nothing to show.
func (w *Words) Render(o RenderOptions) string {
	p := newPage(o)
	for _, pin := range o.Pins {
		line := "-" + fence.After("pin", strings.TrimSpace(pin))
		p.room -= p.o.Count(line) + 1
		p.pins = append(p.pins, line)
	}
	p.room = max(p.room, o.Budget/2) // no pin keeps out what people typed
	list := p.say(w)
	p.room -= max(o.Budget-o.Pastes, 0)
	beyond := max(o.Tasks-p.room, 0)
	p.room += beyond
	p.taskList(w)
	p.room -= beyond
	p.sayWhole(w, list)
	return p.String()
}

// TaskList writes the task list alone, in at most o.Tasks tokens.
func (w *Words) TaskList(o RenderOptions) string {
	o.Budget = o.Tasks
	p := newPage(o)
	p.taskList(w)
	return p.String()
}

func newPage(o RenderOptions) *page {
	p := &page{o: o, room: o.Budget}
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
	said   map[int]string // by index into the list of what was said
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
func (p *page) eligible(w *Words) []int {
	var list []int
	for i, s := range w.said {
		if s.Message >= p.o.UpTo || p.o.Skip != nil && p.o.Skip(s.Message) {
			continue
		}
		if i+1 < len(w.said) {
			next := w.said[i+1]
			if next.Message < p.o.UpTo && len(s.Text) > 20 && strings.HasPrefix(next.Text, s.Text) {
				continue
			}
		}
		list = append(list, i)
	}
	return list
}

type entry struct {
	at   int // index into the list of what was said
	size size
	took int // tokens that it has on the page
}

// say shows what people typed, and returns the messages.
func (p *page) say(w *Words) []*entry {
	p.said = make(map[int]string)
	var list []*entry // newest first
	for _, i := range slices.Backward(p.eligible(w)) {
		if p.o.Budget <= 0 {
			p.said[i] = p.saidText(w.said[i], w.said[i].Text)
			continue
		}
		list = append(list, &entry{at: i, size: p.size(w, i)})
	}
	if len(list) > 0 {
		p.unask(w, list)
		p.sayNewest(w, list[0])
		p.sayShort(w, list[1:])
	}
	for _, e := range list {
		if e.took == 0 {
			p.sayIn(w, e, min(p.o.Budget/saidShares, p.room))
		}
	}
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(a.size.whole, b.size.whole) })
	for _, e := range list { // the typed words of those that were cut
		if e.took < e.size.whole && p.room > 0 {
			p.sayIn(w, e, p.room+e.took)
		}
		if e.took == 0 {
			p.left = append(p.left, w.said[e.at].Message)
		}
	}
	return list
}

// unask leaves out what the oldest messages answer, as far as all that was typed would not fit
// beside it: these are the assistant's words.
func (p *page) unask(w *Words, list []*entry) {
	took := 0
	for _, e := range list {
		took += e.size.whole
	}
	for _, e := range slices.Backward(list) {
		if took <= p.room {
			return
		}
		took -= e.size.whole
		p.o.Told = max(p.o.Told, w.said[e.at].Message+1)
		e.size = p.size(w, e.at)
		took += e.size.whole
	}
}

func (p *page) sayNewest(w *Words, e *entry) {
	p.sayIn(w, e, max(min(max(p.o.Budget/newestShare, newestLeast), p.room), newestAlways))
	if e.took == 0 {
		p.sayAlways(w, e)
	}
}

// sayShort shows short messages, the newest first, in half of the room, so that many long ones
// do not keep out an old rule of one sentence.
func (p *page) sayShort(w *Words, list []*entry) {
	room := p.room / 2
	for _, e := range list {
		if n := e.size.whole; n <= p.o.Budget/shortShare && n <= room {
			p.sayIn(w, e, n)
			room -= n
		}
	}
}

// sayWhole shows what people pasted where there is room left, the shortest messages first.
func (p *page) sayWhole(w *Words, list []*entry) {
	list = slices.DeleteFunc(list, func(e *entry) bool {
		return e.took != e.size.whole || len(w.said[e.at].pastes) == 0
	})
	slices.SortStableFunc(list, func(a, b *entry) int { return len(w.said[a.at].Text) - len(w.said[b.at].Text) })
	for _, e := range list {
		s := w.said[e.at]
		if len(s.Text) > (p.room+e.took)*maxTokenBytes {
			continue
		}
		p.room += e.took
		if full := p.saidText(s, s.Text); p.fits(full) {
			p.said[e.at] = full
		} else {
			p.room -= e.took
		}
	}
}

// How the room is shared among messages.
const (
	saidShares  = 12 // at first each may take budget/saidShares tokens
	newestShare = 3  // the newest may take budget/newestShare tokens
	newestLeast = 300
	shortShare  = 40 // a message of budget/shortShare tokens is short

	newestAlways = 80 // tokens of the newest, whatever the budget
)

// sayIn shows as much of a message as fits into room tokens: its typed words, or their
// beginning and end.
func (p *page) sayIn(w *Words, e *entry, room int) {
	s, txt, n := w.said[e.at], "", e.size.whole
	switch {
	case n <= room:
		txt = p.saidText(s, s.Brief(p.rest(s.Message)))
	case e.size.least > room:
		return
	default:
		if txt = p.shortened(s, room); txt == "" {
			return
		}
		n = p.o.Count(txt) + 1
	}
	p.room -= n - e.took
	p.said[e.at], e.took = txt, n
}

// sayAlways shows a message for which there is no room: without what it answers, and if it is
// long only its beginning and its end.
func (p *page) sayAlways(w *Words, e *entry) {
	s := w.said[e.at]
	s.Question = ""
	words, rest := s.Brief(p.rest(s.Message)), p.rest(s.Message)
	if len(words) > 3*minKept { // else the mark would take as much as it saves
		words = withoutMiddle(words, minKept, rest)
	}
	txt := p.saidText(s, words)
	e.took = p.o.Count(txt) + 1
	p.room -= e.took
	p.said[e.at] = txt
}

func (p *page) size(w *Words, i int) size {
	s := w.said[i]
	key := sizeKey{i, p.rest(s.Message), p.asking(s)}
	z, known := p.o.Sizes[key]
	if !known {
		words := s.Brief(key.rest)
		z = size{p.o.Count(p.saidText(s, words)) + 1, math.MaxInt}
		if len(words) >= minKept {
			z.least = p.o.Count(p.saidText(s, withoutMiddle(words, minKept, key.rest))) + 1
		}
		if p.o.Sizes != nil {
			p.o.Sizes[key] = z
		}
	}
	return z
}

// asking says how much a page shows of the question that a message answers.
type asking uint8

const (
	allAsked asking = iota
	briefAsked
	notAsked
)

func (p *page) asking(s Said) asking {
	switch {
	case s.Question == "" || s.Message < p.o.Told:
		return notAsked
	case p.o.Budget > 0 && p.o.Budget < fullQuestions:
		return briefAsked
	}
	return allAsked
}

// shortened writes a message without its middle, in at most room tokens; "": there is no
// room for anything worth showing.
func (p *page) shortened(s Said, room int) string {
	rest := p.rest(s.Message)
	words := s.Brief(rest)
	write := func(keep int) string { return p.saidText(s, withoutMiddle(words, keep, rest)) }
	low, high := minKept-1, min(len(words), max(room, 0)*maxTokenBytes)
	for low < high { // by bisection
		mid := (low + high + 1) / 2
		if p.o.Count(write(mid))+1 <= room {
			low = mid
		} else {
			high = mid - 1
		}
	}
	if low < minKept {
		return ""
	}
	return write(low)
}

const (
	minKept       = 60 // bytes of a message that are worth showing
	maxTokenBytes = 16 // of a token, on average: what is longer cannot fit anyway
)

// rest says under which handle the rest of a message is found.
func (p *page) rest(message int) string {
	if h := p.o.Handle(message); h != "" {
		return "; the rest: " + h
	}
	return ""
}

func (p *page) saidText(s Said, words string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- message %d", s.Message+1)
	switch {
	case s.Via != "" && toolname.Of(s.Via) == toolname.Ask:
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

// String puts the page together.
func (p *page) String() string {
	var sections []string
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			sections = append(sections, title+"\n"+strings.Join(lines, "\n")+"\n")
		}
	}
	section("## Pinned", p.pins)
	said := make([]string, 0, len(p.said)+1)
	for _, i := range slices.Sorted(maps.Keys(p.said)) {
		said = append(said, p.said[i])
	}
	if len(p.left) > 0 {
		slices.Sort(p.left)
		said = append(said, p.leftOut())
	}
	section("## What the user said (verbatim, oldest first)", said)
	title := "## Task list (the agent's own)"
	if p.taskAs > 0 {
		title = fmt.Sprintf("## Task list (the agent's own, as of message %d; what came later may have finished more)",
			p.taskAs)
	}
	section(title, p.tasks)
	return strings.Join(sections, "\n")
}

// leftOut names the messages that did not fit: at most a dozen with their handles.
func (p *page) leftOut() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[not shown for want of room: %d more of the user's messages:", len(p.left))
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
