// Package match finds out how far a history that a program hands over and a conversation are the
// same: whether the history goes on, lacks old messages, or goes another way. It stores nothing and
// takes no lock: a [Meeting] follows from the conversation and the history alone. The proxy does not use it:
// its package lineage knows forks by marks that it stores.
package match

import (
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/transcript"
)

// Meeting is how far a history and a conversation are the same.
type Meeting struct {
	Theirs, Own int                  // how many messages of the history stand for how many of the conversation
	Diverges    bool                 // after these, both go different ways
	Edited      bool                 // these are none, but what follows the first turn is the same
	Rest        []transcript.Message // of the history, that the conversation does not have; none if they diverge
	Back        Stretch              // what was said after the last answer, and the history lacks: it is taken back
	Again       *transcript.Message  // the message before that, as the history has it: without text at its end
	Epoch       *epoch.Data          // that opened after the place where they diverge, and that a fork gets; nil if none

	sure bool // no other conversation can have what both have: a call's id that is there once, or text of a view
}

// Stretch is messages Start ≤ i < End.
type Stretch struct{ Start, End int }

// Len is the number of messages.
func (s Stretch) Len() int { return s.End - s.Start }

// Meet finds out how far a history and a conversation are the same.
func Meet(st *epoch.State, h *History) (Meeting, error) {
	switch heads := st.Facts().Prompt(); st.Len() {
	case 0:
		return Meeting{Rest: h.msgs}, nil
	case heads:
		return h.from(h.Heads, heads), nil
	}
	c := &comparison{st, h}
	own := c.turns()
	if m, ok := c.follows(own); ok {
		return m, nil
	}
	best := c.apart(own)
	if st.Folded() || len(st.History) > 0 { // folds that were undone, too
		m, ok, err := c.meetViews()
		if err != nil || ok {
			return m, err
		}
		if m.Theirs > best.Theirs {
			best = m
		}
	}
	return best, nil
}

// comparison is that of a conversation and a history.
type comparison struct {
	st *epoch.State
	h  *History
}

// follows reports whether the history has all of these turns, or the newest of them, or either but for what the
// user said last. Of turns that differ by ids alone the window is looked for first: all of them begin alike.
func (c *comparison) follows(own []turn) (m Meeting, ok bool) {
	backs := append([]Stretch{{}}, c.mayBeBack()...)
	exact := func(own []turn) (Meeting, bool) { return c.begins(own, false) }
	open := func(own []turn) (Meeting, bool) { return c.begins(own, true) }
	for _, cut := range c.mayBeCut() {
		own := c.shortened(own, cut)
		for _, same := range []func([]turn) (Meeting, bool){exact, c.window, open} {
			for _, back := range backs {
				if m, ok = same(c.without(own, back)); ok {
					m.Back, m.Own = back, m.Own-back.Len()
					if m.Again = c.again(cut, back); m.Again != nil && back.Len() == 0 {
						m.Back = Stretch{c.st.Len(), c.st.Len()}
					}
					return m, true
				}
			}
		}
	}
	return m, false
}

// begins reports whether the history has all of the turns from the first on.
func (c *comparison) begins(own []turn, open bool) (Meeting, bool) {
	theirs, last := c.h.turns(c.h.Heads), len(own)-1
	if last < 0 || last >= len(theirs) || c.alike(own[:last], theirs, open) < last {
		return Meeting{}, false
	}
	more, ok := c.has(own[last], theirs[last], conv.How{More: true, Open: open})
	return c.h.behind(theirs[last], more, c.st.Len()), ok
}

// alike returns how many of the turns the history has at its beginning.
func (c *comparison) alike(own, theirs []turn, open bool) int {
	for k := range min(len(own), len(theirs)) {
		if _, ok := c.has(own[k], theirs[k], conv.How{Open: open}); !ok {
			return k
		}
	}
	return min(len(own), len(theirs))
}

// has compares a turn of the conversation with one of the history, see [conv.Said.Has].
func (c *comparison) has(own, theirs turn, how conv.How) (more []transcript.BlockRef, ok bool) {
	if c.holds(own, theirs) {
		return nil, true
	}
	if rounds := c.st.Rounds(); how.More && len(rounds) > 0 {
		for _, call := range rounds[len(rounds)-1].Calls {
			if !call.Answered {
				how.Waits = append(how.Waits, call.ID)
			}
		}
	}
	if how.Open && own.start > 0 && theirs.start > 0 {
		how.Renamed = c.st.SaidAt(own.start-1, own.start).Renamed(c.h.Said(theirs.start - 1))
	}
	return c.said(own).Has(c.h.saidIn(theirs), how)
}

// holds reports whether the messages of a turn are in memory, and the same as those of the history.
func (c *comparison) holds(own, theirs turn) bool {
	if own.shown != nil || own.end-own.start != theirs.end-theirs.start {
		return false
	}
	for i := range own.end - own.start {
		if !c.st.Holds(own.start+i, c.h.msgs[theirs.start+i]) {
			return false
		}
	}
	return true
}

// apart is where the conversation and the history go different ways. The history does not follow the turns.
func (c *comparison) apart(own []turn) Meeting {
	theirs := c.h.turns(c.h.Heads)
	k := c.alike(own, theirs, false)
	i, j := own[k].start, len(c.h.msgs)
	if k < len(theirs) {
		i, j = c.within(own[k], theirs[k])
	}
	edited := k == 0 && j <= c.h.Heads && len(theirs) > 0 && c.alike(own[1:], theirs[1:], false) > 1
	return Meeting{Theirs: j, Own: i, Diverges: true, Edited: edited}
}

// within returns up to where the messages of two turns are the same.
func (c *comparison) within(own, theirs turn) (i, j int) {
	i, j = own.start, theirs.start
	for _, vm := range own.messages() {
		i = max(i, vm.Source)
		if j == theirs.end {
			return i, j
		}
		if _, ok := c.st.SaidBy(vm).Has(c.h.Said(j), conv.How{}); !ok {
			return i, j
		}
		i, j = max(i, vm.Source+1), j+1
	}
	return own.end, j
}
