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
			if m, ok := s.endsAt(h, own, theirs[:end+1], head.said); ok {
				if m.history > best.history {
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
		if theirs := h.turns(h.heads); s.alike(h, own[:k], theirs, false) == k {
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
		if !ok || len(more) > 0 && s.st.Facts()[own[u].start].Role == transcript.RoleAssistant {
			return m, false // an answer that says more is another one
		}
		if k == 0 {
			m = h.behind(theirs[v], more, s.st.Len())
		}
		m.named = m.named || s.named(h.saidIn(theirs[v]))
		if len(theirs) == 1 && h.saidIn(theirs[0]).Len()-len(more) < 2 {
			return m, false // a question alone may be that of another conversation
		}
	}
	return m, true
}

// slid looks for a history that lacks messages of the session as in gap, but goes another way
// behind what it has of it. That must be three turns, with their ids, that stand in one place only.
func (s *Session) slid(h *handed, own []turn) (best meeting, found bool) {
	begins := s.begins(h, own)
	for _, head := range s.kept(h, own) {
		theirs := h.turns(head.history)
		for x := range own {
			m, ok := s.runsFrom(h, own[x:], theirs)
			// A history that begins as the session does may be a whole one that was taken back.
			if !ok || own[x].start <= head.said || !m.named && begins > head.history-h.heads {
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

// runsFrom is where turns of the session and of the history that begin alike go different ways.
func (s *Session) runsFrom(h *handed, own, theirs []turn) (m meeting, ok bool) {
	k := 0
	for k < min(len(own), len(theirs)) {
		if _, same := s.has(h, own[k], theirs[k], conv.How{Cut: k == 0}); !same {
			break
		}
		k++
	}
	if k < 3 || k == len(own) {
		return m, false
	}
	i, j := own[k].start, len(h.msgs)
	if k < len(theirs) {
		i, j = s.within(h, own[k], theirs[k], conv.How{})
	}
	if i == s.st.Len() {
		return m, false
	}
	m = s.partAt(h, j, i)
	for _, t := range theirs[:k] {
		m.named = m.named || s.named(h.saidIn(t))
	}
	return m, true
}

// named reports whether a turn has a call, or the result of one, whose id one call of the session has.
func (s *Session) named(turn conv.Said) bool {
	return slices.ContainsFunc(turn.IDs(), func(id string) bool {
		calls := 0
		for _, r := range s.st.Rounds() {
			for _, c := range r.Calls {
				if c.ID == id {
					calls++
				}
			}
		}
		return calls == 1
	})
}
