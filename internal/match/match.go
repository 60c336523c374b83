// Package match finds out how far a history that a program hands over and a conversation are the
// same: whether the history goes on, lacks old messages, or goes another way. It stores nothing,
// takes no lock and asks nobody: what it compares is a value.
package match

import (
	"slices"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/transcript"
)

// Meeting is how far a history and a conversation are the same.
type Meeting struct {
	History, Said int                  // how many messages of the history stand for how many of the conversation
	Rest          []transcript.Message // of the history, that the conversation does not have
	UpTo          uint64               // the entry before the conversation's first message that the history lacks; 0: it has all
	Epoch         *epoch.Data          // that was opened behind that place, and a fork gets; nil: none

	named bool // what both have has ids, which no other has
}

// Parts reports whether the conversation and the history go different ways.
func (m Meeting) Parts() bool { return m.UpTo > 0 }

// Memo remembers what was compared before, so that the next history is compared with what is new of
// it. The zero value remembers nothing. It is of one conversation.
type Memo struct {
	turns []turn   // of the messages that were compared
	looks []uint64 // at the end of each, the look of what a history was seen to have for it; 0: none
}

type comparison struct {
	st   *epoch.State
	h    *History
	memo *Memo
}

// Meet finds out how far a history and a conversation are the same.
func Meet(st *epoch.State, h *History, memo *Memo) (Meeting, error) {
	c := &comparison{st, h, memo}
	return c.meet()
}

func (c *comparison) meet() (Meeting, error) {
	n, heads := c.st.Len(), c.st.Facts().Prompt()
	switch {
	case n == 0:
		return Meeting{Rest: c.h.msgs}, nil
	case n == heads:
		return c.h.from(c.h.Heads, n), nil
	}
	c.memo.looks = append(c.memo.looks, make([]uint64, max(n-len(c.memo.looks), 0))...)
	done := heads
	if k := len(c.memo.turns); k > 0 {
		done = c.memo.turns[k-1].end
	}
	c.memo.turns = addTurns(c.memo.turns, done, n, func(i int) transcript.Role { return c.st.Facts()[i].Role })
	own := c.memo.turns
	if m, ok := c.goesOn(own, false); ok {
		return m, nil
	}
	if m, ok := c.gap(own); ok {
		return m, nil
	}
	if m, ok := c.goesOn(own, true); ok {
		return m, nil
	}
	best := c.apart(own)
	if c.st.Folded() || len(c.st.History) > 0 { // folds that were undone, too
		m, err := c.meetViews()
		if err != nil {
			return m, err
		}
		if m.History > best.History {
			best = m
		}
	}
	if best.Parts() {
		if m, ok := c.slid(own); ok && m.History > best.History {
			best = m
		}
	}
	return best, nil
}

// partAt is a Meeting that ends before message i of the session and j of the history.
func (c *comparison) partAt(j, i int) Meeting {
	return Meeting{History: j, Said: i, UpTo: c.st.Contents.Entry(i) - 1}
}

// goesOn reports whether the history has all of the session's turns from the first on.
func (c *comparison) goesOn(own []turn, open bool) (Meeting, bool) {
	theirs, last := c.h.turns(c.h.Heads), len(own)-1
	if last >= len(theirs) || c.alike(own[:last], theirs, open) < last {
		return Meeting{}, false
	}
	more, ok := c.has(own[last], theirs[last], conv.How{More: true, Open: open})
	return c.h.behind(theirs[last], more, c.st.Len()), ok
}

// alike returns how many of the session's turns the history has at its beginning.
func (c *comparison) alike(own, theirs []turn, open bool) int {
	for k := range min(len(own), len(theirs)) {
		if _, ok := c.has(own[k], theirs[k], conv.How{Open: open}); !ok {
			return k
		}
	}
	return min(len(own), len(theirs))
}

// begins returns where the history first says something else than the session.
func (c *comparison) begins(own []turn) (j int) {
	theirs := c.h.turns(c.h.Heads)
	k := c.alike(own, theirs, true)
	switch k {
	case len(theirs):
		return len(c.h.msgs)
	case len(own):
		return theirs[k].start
	}
	_, j = c.within(own[k], theirs[k], conv.How{Open: true})
	return j
}

// has compares a turn of the session with one of the history, see [conv.Said.Has]. If they were
// the same last time, a quick look is enough to see it again.
func (c *comparison) has(own, theirs turn, how conv.How) (more []transcript.BlockRef, ok bool) {
	look := c.h.look(theirs)
	if own.shown == nil && c.memo.looks[own.end-1] == look {
		return nil, true
	}
	if rounds := c.st.Rounds(); how.More && len(rounds) > 0 {
		for _, call := range rounds[len(rounds)-1].Calls {
			if !call.Answered {
				how.Waits = append(how.Waits, call.ID)
			}
		}
	}
	if how.Open {
		how.Renamed = c.renamed(own, theirs)
	}
	more, ok = c.saidIn(own).Has(c.h.saidIn(theirs), how)
	if ok && len(more) == 0 && !how.Cut && !how.Open && own.shown == nil {
		c.memo.looks[own.end-1] = look
	}
	return more, ok
}

// renamed returns the session's ids of the calls before a turn for those of the history.
func (c *comparison) renamed(own, theirs turn) map[string]string {
	if own.start == 0 || theirs.start == 0 {
		return nil
	}
	return c.st.SaidAt(own.start-1, own.start).Renamed(c.h.Said(theirs.start - 1))
}

// apart is where the session and the history go different ways.
func (c *comparison) apart(own []turn) Meeting {
	theirs := c.h.turns(c.h.Heads)
	k := c.alike(own, theirs, true)
	i, j := own[k].start, len(c.h.msgs)
	if k < len(theirs) {
		i, j = c.within(own[k], theirs[k], conv.How{Open: true, Renamed: c.renamed(own[k], theirs[k])})
	}
	// Calls that have other ids in the history would wait in a fork for results under the old ones.
	for _, r := range slices.Backward(c.st.Rounds()) {
		if r.End <= i {
			break
		}
		for x := k - 1; x >= 0 && own[x].start >= r.Start; x-- {
			if _, ok := c.has(own[x], theirs[x], conv.How{}); !ok {
				first := slices.IndexFunc(own, func(t turn) bool { return t.end > r.Start })
				return c.partAt(theirs[first].start, own[first].start)
			}
		}
	}
	return c.partAt(j, i)
}

// within returns up to where the messages of two turns are the same.
func (c *comparison) within(own, theirs turn, how conv.How) (i, j int) {
	shown := own.shown
	if shown == nil {
		shown = transcript.Whole(own.end).Messages[own.start:]
	}
	i, j = own.start, theirs.start
	for _, vm := range shown {
		i = max(i, vm.Source)
		if j == theirs.end {
			return i, j
		}
		if _, ok := c.st.SaidBy(vm).Has(c.h.Said(j), how); !ok {
			return i, j
		}
		i, j = max(i, vm.Source+1), j+1
	}
	return own.end, j
}
