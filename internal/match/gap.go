package match

import (
	"slices"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// gap looks for a history that lacks messages of the session: the oldest, or those behind the
// first question, or behind its answer. It must have the newest two.
func (c *comparison) gap(own []turn) (best Meeting, found bool) {
	for _, head := range c.kept(own) {
		theirs := c.h.turns(head.History)
		for end := len(theirs) - 1; end >= 0; end-- {
			known := theirs[:end+1]
			if m, ok := c.endsAt(own, known, head.Said); ok {
				if m.History > best.History &&
					(m.named || c.tells(own, len(own)-len(known), known, c.begins(own))) {
					best, found = m, true
				}
				break
			}
		}
	}
	return best, found
}

// kept lists what a history may have kept of the session's beginning: nothing, the first
// question, or that with its answer.
func (c *comparison) kept(own []turn) []Meeting {
	facts := c.st.Facts()
	i, j := facts.Prompt(), c.h.Heads
	list := []Meeting{{History: j, Said: i}}
	for i < facts.Opening() && j < len(c.h.msgs) && c.st.SaidAt(i, i+1).Equal(c.h.Said(j)) {
		i, j = i+1, j+1
	}
	list = append(list, Meeting{History: j, Said: i})
	for k := 1; k < len(own); k++ {
		before := own[k].start - 1
		if facts[before].Role != transcript.RoleAssistant || facts.Has(before, transcript.KindToolCall) {
			continue
		}
		if theirs := c.h.turns(c.h.Heads); c.alike(own[:k], theirs, true) == k {
			list = append(list, Meeting{History: theirs[k-1].end, Said: own[k].start})
		}
		break
	}
	return list
}

// endsAt reports whether the newest turns of the session are these of the history, and begin
// behind its first messages.
func (c *comparison) endsAt(own, theirs []turn, behind int) (m Meeting, ok bool) {
	for k := range theirs {
		u, v := len(own)-1-k, len(theirs)-1-k
		if u < 0 || own[u].start < behind {
			return m, false
		}
		more, ok := c.has(own[u], theirs[v], conv.How{More: k == 0, Cut: v == 0})
		exact := ok
		if !ok && k > 1 {
			ok = c.hasRenamed(own[u], theirs[v], v == 0)
		}
		if !ok || len(more) > 0 && c.answers(own[u]) {
			return m, false // an answer that says more is another one
		}
		if k == 0 {
			m = c.h.behind(theirs[v], more, c.st.Len())
		}
		m.named = m.named || exact && c.named(c.h.saidIn(theirs[v]))
		if len(theirs) == 1 && c.h.saidIn(theirs[0]).Len()-len(more) < 2 {
			return m, false // a question alone may be that of another conversation
		}
	}
	return m, true
}

// hasRenamed reports whether two turns are the same but for ids, which are new ones: a turn with the
// id of another call is the turn of that call.
func (c *comparison) hasRenamed(own, theirs turn, cut bool) bool {
	_, ok := c.has(own, theirs, conv.How{Cut: cut, Open: true})
	ids := c.st.SaidAt(own.start, own.end).IDs()
	return ok && !slices.ContainsFunc(c.h.saidIn(theirs).IDs(), func(id string) bool {
		return !slices.Contains(ids, id) && c.callsNamed(id) > 0
	})
}

// gapInView looks for a history that lacks messages of a view, as in gap, and has the rest of it.
func (c *comparison) gapInView(view []transcript.ViewMessage) (Meeting, bool) {
	for _, head := range c.kept(c.memo.turns) {
		for x := max(0, len(view)-len(c.h.msgs)+head.History); x < len(view)-1; x++ {
			end := head.History + len(view) - x
			if c.shownBefore(end, view[x:]) {
				return c.h.from(end, c.st.Len()), true
			}
		}
	}
	return Meeting{}, false
}

// shownBefore reports whether the history has these messages of a view before one of its own. What the
// view made, or put in place of what came, must be among them: no other session has its handles.
func (c *comparison) shownBefore(end int, view []transcript.ViewMessage) bool {
	made := false
	for k, vm := range slices.Backward(view) { // the newest first, since most of them are as they came
		j := end - len(view) + k
		if _, shown := c.st.SaidBy(vm).Has(c.h.Said(j), conv.How{Open: true}); !shown {
			return false
		}
		made = made || vm.Source < 0 || len(vm.Edits) > 0 && !c.st.SaidAt(vm.Source, vm.Source+1).Equal(c.h.Said(j))
	}
	return made
}

// slid looks for a history that lacks messages of the session as in gap, but goes another way
// behind what it has of it. That must be three turns, with their ids, that stand in one place only.
func (c *comparison) slid(own []turn) (best Meeting, found bool) {
	begins := c.begins(own)
	for _, head := range c.kept(own) {
		theirs := c.h.turns(head.History)
		for x := range own {
			m, k := c.runsFrom(own[x:], theirs)
			if k == 0 || own[x].start <= head.Said || !m.named && !c.tells(own, x, theirs[:k], begins) {
				continue
			}
			switch {
			case m.History > best.History:
				best, found = m, true
			case m.History == best.History && m.Said != best.Said:
				found = false
			}
		}
	}
	return best, found
}

// runsFrom is where turns of the session and of the history that begin alike go different ways,
// and how many are alike; none: too few.
func (c *comparison) runsFrom(own, theirs []turn) (m Meeting, k int) {
	for k < min(len(own), len(theirs)) {
		if _, same := c.has(own[k], theirs[k], conv.How{Cut: k == 0}); !same {
			break
		}
		k++
	}
	if k < 3 || k == len(own) {
		return m, 0
	}
	i, j := own[k].start, len(c.h.msgs)
	if k < len(theirs) {
		i, j = c.within(own[k], theirs[k], conv.How{})
	}
	if i == c.st.Len() {
		return m, 0
	}
	m = c.partAt(j, i)
	for _, t := range theirs[:k] {
		m.named = m.named || c.named(c.h.saidIn(t))
	}
	return m, k
}

// tells reports whether turns of the history must be the same turns of the session, from own[at] on.
// A history that begins as the session does may be a whole one instead: what stood behind that
// place was taken back, and the turns were said anew. Then two of them must stand behind it, and one
// must be an answer that the session has only once. Where what stands before them is repeated too, words
// typed at that place do not count: they may have been typed there in place of others.
func (c *comparison) tells(own []turn, at int, theirs []turn, begins int) bool {
	if begins == c.h.Heads {
		return true
	}
	i, j := own[at].start, theirs[0].start
	again := j < begins || c.st.SaidAt(i-1, i).Equal(c.h.Said(j-1))
	for len(theirs) > 0 && theirs[0].end <= begins {
		at, theirs = at+1, theirs[1:]
	}
	if again && len(theirs) > 0 && !c.answers(own[at]) {
		at, theirs = at+1, theirs[1:]
	}
	for k := range theirs {
		if len(theirs) > 1 && c.answers(own[at+k]) && c.once(own, at+k) {
			return true
		}
	}
	return false
}

func (c *comparison) answers(t turn) bool {
	return c.st.Facts()[t.start].Role == transcript.RoleAssistant
}

// once reports whether no other turn of the session says the same. It looks at the nearest first,
// so that it soon finds what is said all the time.
func (c *comparison) once(own []turn, at int) bool {
	said := c.st.SaidAt(own[at].start, own[at].end)
	for d := 1; d <= max(at, len(own)-1-at); d++ {
		for _, k := range []int{at - d, at + d} {
			if k >= 0 && k < len(own) && c.st.SaidAt(own[k].start, own[k].end).Equal(said) {
				return false
			}
		}
	}
	return true
}

// named reports whether a turn has a call, or the result of one, whose id one call of the session has.
func (c *comparison) named(turn conv.Said) bool {
	return slices.ContainsFunc(turn.IDs(), func(id string) bool { return c.callsNamed(id) == 1 })
}

// callsNamed returns how many calls have an id.
func (c *comparison) callsNamed(id string) (n int) {
	for _, r := range c.st.Rounds() {
		for _, call := range r.Calls {
			if call.ID == id {
				n++
			}
		}
	}
	return n
}
