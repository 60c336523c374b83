package pleat

import (
	"slices"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// gap looks for a history that lacks messages of the session: the oldest, or those behind the
// first question, or behind its answer. It must have the newest two.
func (s *Session) gap(h *handed, own []turn) (best meeting, found bool) {
	for _, head := range s.kept(h, own) {
		theirs := h.turns(head.history)
		for end := len(theirs) - 1; end >= 0; end-- {
			known := theirs[:end+1]
			if m, ok := s.endsAt(h, own, known, head.said); ok {
				if m.history > best.history &&
					(m.named || s.tells(h, own, len(own)-len(known), known, s.begins(h, own))) {
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
func (s *Session) kept(h *handed, own []turn) []meeting {
	facts := s.st.Facts()
	i, j := facts.Prompt(), h.heads
	list := []meeting{{history: j, said: i}}
	for i < facts.Opening() && j < len(h.msgs) && s.st.SaidAt(i, i+1).Equal(h.said(j)) {
		i, j = i+1, j+1
	}
	list = append(list, meeting{history: j, said: i})
	for k := 1; k < len(own); k++ {
		before := own[k].start - 1
		if facts[before].Role != transcript.RoleAssistant || facts.Has(before, transcript.KindToolCall) {
			continue
		}
		if theirs := h.turns(h.heads); s.alike(h, own[:k], theirs, true) == k {
			list = append(list, meeting{history: theirs[k-1].end, said: own[k].start})
		}
		break
	}
	return list
}

// endsAt reports whether the newest turns of the session are these of the history, and begin
// behind its first messages.
func (s *Session) endsAt(h *handed, own, theirs []turn, behind int) (m meeting, ok bool) {
	for k := range theirs {
		u, v := len(own)-1-k, len(theirs)-1-k
		if u < 0 || own[u].start < behind {
			return m, false
		}
		more, ok := s.has(h, own[u], theirs[v], conv.How{More: k == 0, Cut: v == 0})
		exact := ok
		if !ok && k > 1 {
			ok = s.hasRenamed(h, own[u], theirs[v], v == 0)
		}
		if !ok || len(more) > 0 && s.answers(own[u]) {
			return m, false // an answer that says more is another one
		}
		if k == 0 {
			m = h.behind(theirs[v], more, s.st.Len())
		}
		m.named = m.named || exact && s.named(h.saidIn(theirs[v]))
		if len(theirs) == 1 && h.saidIn(theirs[0]).Len()-len(more) < 2 {
			return m, false // a question alone may be that of another conversation
		}
	}
	return m, true
}

// hasRenamed reports whether two turns are the same but for ids, which are new ones: a turn with the
// id of another call is the turn of that call.
func (s *Session) hasRenamed(h *handed, own, theirs turn, cut bool) bool {
	_, ok := s.has(h, own, theirs, conv.How{Cut: cut, Open: true})
	ids := s.st.SaidAt(own.start, own.end).IDs()
	return ok && !slices.ContainsFunc(h.saidIn(theirs).IDs(), func(id string) bool {
		return !slices.Contains(ids, id) && s.callsNamed(id) > 0
	})
}

// gapInView looks for a history that lacks messages of a view, as in gap, and has the rest of it.
func (s *Session) gapInView(h *handed, view []transcript.ViewMessage) (meeting, bool) {
	for _, head := range s.kept(h, s.turns) {
		for x := max(0, len(view)-len(h.msgs)+head.history); x < len(view)-1; x++ {
			end := head.history + len(view) - x
			if s.shownBefore(h, end, view[x:]) {
				return h.from(end, s.st.Len()), true
			}
		}
	}
	return meeting{}, false
}

// shownBefore reports whether the history has these messages of a view before one of its own. What the
// view made, or put in place of what came, must be among them: no other session has its handles.
func (s *Session) shownBefore(h *handed, end int, view []transcript.ViewMessage) bool {
	made := false
	for k, vm := range slices.Backward(view) { // the newest first, since most of them are as they came
		j := end - len(view) + k
		if _, shown := s.st.SaidBy(vm).Has(h.said(j), conv.How{Open: true}); !shown {
			return false
		}
		made = made || vm.Source < 0 || len(vm.Edits) > 0 && !s.st.SaidAt(vm.Source, vm.Source+1).Equal(h.said(j))
	}
	return made
}

// slid looks for a history that lacks messages of the session as in gap, but goes another way
// behind what it has of it. That must be three turns, with their ids, that stand in one place only.
func (s *Session) slid(h *handed, own []turn) (best meeting, found bool) {
	begins := s.begins(h, own)
	for _, head := range s.kept(h, own) {
		theirs := h.turns(head.history)
		for x := range own {
			m, k := s.runsFrom(h, own[x:], theirs)
			if k == 0 || own[x].start <= head.said || !m.named && !s.tells(h, own, x, theirs[:k], begins) {
				continue
			}
			switch {
			case m.history > best.history:
				best, found = m, true
			case m.history == best.history && m.said != best.said:
				found = false
			}
		}
	}
	return best, found
}

// runsFrom is where turns of the session and of the history that begin alike go different ways,
// and how many are alike; none: too few.
func (s *Session) runsFrom(h *handed, own, theirs []turn) (m meeting, k int) {
	for k < min(len(own), len(theirs)) {
		if _, same := s.has(h, own[k], theirs[k], conv.How{Cut: k == 0}); !same {
			break
		}
		k++
	}
	if k < 3 || k == len(own) {
		return m, 0
	}
	i, j := own[k].start, len(h.msgs)
	if k < len(theirs) {
		i, j = s.within(h, own[k], theirs[k], conv.How{})
	}
	if i == s.st.Len() {
		return m, 0
	}
	m = s.partAt(h, j, i)
	for _, t := range theirs[:k] {
		m.named = m.named || s.named(h.saidIn(t))
	}
	return m, k
}

// tells reports whether turns of the history must be the same turns of the session, from own[at] on.
// A history that begins as the session does may be a whole one instead: what stood behind that
// place was taken back, and the turns were said anew. Then two of them must stand behind it, and one
// must be an answer that the session has only once. Where what stands before them is repeated too, words
// typed at that place do not count: they may have been typed there in place of others.
func (s *Session) tells(h *handed, own []turn, at int, theirs []turn, begins int) bool {
	if begins == h.heads {
		return true
	}
	i, j := own[at].start, theirs[0].start
	again := j < begins || s.st.SaidAt(i-1, i).Equal(h.said(j-1))
	for len(theirs) > 0 && theirs[0].end <= begins {
		at, theirs = at+1, theirs[1:]
	}
	if again && len(theirs) > 0 && !s.answers(own[at]) {
		at, theirs = at+1, theirs[1:]
	}
	for k := range theirs {
		if len(theirs) > 1 && s.answers(own[at+k]) && s.once(own, at+k) {
			return true
		}
	}
	return false
}

func (s *Session) answers(t turn) bool { return s.st.Facts()[t.start].Role == transcript.RoleAssistant }

// once reports whether no other turn of the session says the same. It looks at the nearest first,
// so that it soon finds what is said all the time.
func (s *Session) once(own []turn, at int) bool {
	said := s.st.SaidAt(own[at].start, own[at].end)
	for d := 1; d <= max(at, len(own)-1-at); d++ {
		for _, k := range []int{at - d, at + d} {
			if k >= 0 && k < len(own) && s.st.SaidAt(own[k].start, own[k].end).Equal(said) {
				return false
			}
		}
	}
	return true
}

// named reports whether a turn has a call, or the result of one, whose id one call of the session has.
func (s *Session) named(turn conv.Said) bool {
	return slices.ContainsFunc(turn.IDs(), func(id string) bool { return s.callsNamed(id) == 1 })
}

// callsNamed returns how many calls have an id.
func (s *Session) callsNamed(id string) (n int) {
	for _, r := range s.st.Rounds() {
		for _, c := range r.Calls {
			if c.ID == id {
				n++
			}
		}
	}
	return n
}
