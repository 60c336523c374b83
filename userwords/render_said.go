package userwords

import (
	"cmp"
	"math"
	"slices"
)

type entry struct {
	at   int // index into the page's list
	size size
	took int // tokens that it has on the page
}

// say shows the words on the page's list, and returns their messages.
func (p *page) say() []*entry {
	p.said = make(map[int]string)
	var list []*entry // newest first
	for _, i := range slices.Backward(p.eligible()) {
		if p.o.Budget <= 0 {
			p.said[i] = p.saidText(p.list[i], p.list[i].Text)
			continue
		}
		list = append(list, &entry{at: i, size: p.size(i)})
	}
	if len(list) > 0 {
		p.unask(list)
		if !p.doubt {
			p.sayNewest(list[0])
		}
		p.sayShort(list)
	}
	for _, e := range list { // something of each before more of any
		if e.took == 0 {
			p.sayIn(e, min(e.size.least, p.room))
		}
	}
	for _, e := range list {
		if most := min(p.o.Budget/saidShares, p.room+e.took); e.took < e.size.whole && e.took < most {
			p.sayIn(e, most)
		}
	}
	slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(a.size.whole, b.size.whole) })
	for _, e := range list { // the typed words of those that were cut
		if e.took < e.size.whole && p.room > 0 {
			p.sayIn(e, p.room+e.took)
		}
		if e.took == 0 {
			p.left = append(p.left, p.list[e.at].Message)
		}
	}
	return list
}

// unask leaves out what the oldest messages answer, as far as all that was typed would not fit
// beside it: these are the assistant's words.
func (p *page) unask(list []*entry) {
	took := 0
	for _, e := range list {
		took += e.size.whole
	}
	for _, e := range slices.Backward(list) {
		if took <= p.room {
			return
		}
		took -= e.size.whole
		p.o.Told = max(p.o.Told, p.list[e.at].Message+1)
		e.size = p.size(e.at)
		took += e.size.whole
	}
}

func (p *page) sayNewest(e *entry) {
	p.sayIn(e, max(min(max(p.o.Budget/newestShare, newestLeast), p.room), newestAlways))
	if e.took == 0 {
		p.sayAlways(e)
	}
}

// sayShort shows short messages, the newest first, in half of the room, so that many long ones
// do not keep out an old rule of one sentence.
func (p *page) sayShort(list []*entry) {
	room := p.room / 2
	for _, e := range list {
		if n := e.size.whole; e.took == 0 && n <= p.o.Budget/shortShare && n <= room {
			p.sayIn(e, n)
			room -= n
		}
	}
}

// sayWhole shows what people pasted where there is room left, the shortest messages first.
func (p *page) sayWhole(list []*entry) {
	list = slices.DeleteFunc(list, func(e *entry) bool {
		return e.took != e.size.whole || len(p.list[e.at].pastes) == 0
	})
	slices.SortStableFunc(list, func(a, b *entry) int { return len(p.list[a.at].Text) - len(p.list[b.at].Text) })
	for _, e := range list {
		s := p.list[e.at]
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
func (p *page) sayIn(e *entry, room int) {
	s, txt, n := p.list[e.at], "", e.size.whole
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
func (p *page) sayAlways(e *entry) {
	s := p.list[e.at]
	s.Question = ""
	words, rest := s.Brief(p.rest(s.Message)), p.rest(s.Message)
	if e.size.least < e.size.whole {
		words = withoutMiddle(words, minKept, rest)
	}
	txt := p.saidText(s, words)
	e.took = p.o.Count(txt) + 1
	p.room -= e.took
	p.said[e.at] = txt
}

func (p *page) size(i int) size {
	s := p.list[i]
	rest := p.rest(s.Message)
	words := s.Brief(rest)
	z := size{p.o.Count(p.saidText(s, words)) + 1, math.MaxInt}
	if len(words) > 3*minKept { // else the mark would take as much as it saves
		z.least = p.o.Count(p.saidText(s, withoutMiddle(words, minKept, rest))) + 1
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
