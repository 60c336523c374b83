package match

import (
	"slices"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// window looks for a history that lacks messages: the oldest, or those behind the first question, or
// behind its answer in words. It must have the newest two.
func (c *comparison) window(own []turn) (best Meeting, found bool) {
	for _, head := range c.kept(own) {
		theirs := c.h.turns(head.Theirs)
		for end := len(theirs); end > 0; end-- {
			if m, ok := c.endsAt(own, theirs[:end], head.Own); ok {
				if m.Theirs > best.Theirs && (m.sure || c.tells(own, len(own)-end, theirs[:end])) {
					best, found = m, true
				}
				break
			}
		}
	}
	return best, found
}

// kept lists what a history may have kept of the beginning: nothing, the first question, or that with
// its answer.
func (c *comparison) kept(own []turn) []Meeting {
	facts := c.st.Facts()
	i, j := facts.Prompt(), c.h.Heads
	list := []Meeting{{Theirs: j, Own: i}}
	for i < facts.Opening() && j < len(c.h.msgs) && c.st.SaidAt(i, i+1).Equal(c.h.Said(j)) {
		i, j = i+1, j+1
	}
	list = append(list, Meeting{Theirs: j, Own: i})
	inWords := func(t turn) bool { return c.answers(t) && !facts.Has(t.end-1, transcript.KindToolCall) }
	k := slices.IndexFunc(own, inWords) + 1
	if theirs := c.h.turns(c.h.Heads); k > 0 && c.alike(own[:k], theirs, true) == k {
		list = append(list, Meeting{Theirs: theirs[k-1].end, Own: own[k-1].end})
	}
	return list
}

// endsAt reports whether the newest turns of the conversation are these of the history, and begin
// behind its first messages.
func (c *comparison) endsAt(own, theirs []turn, behind int) (m Meeting, ok bool) {
	for k := range theirs {
		u, v := len(own)-1-k, len(theirs)-1-k
		if u < 0 || own[u].start < behind {
			return m, false
		}
		more, ok := c.has(own[u], theirs[v], conv.How{More: k == 0, Cut: v == 0})
		if !ok || len(more) > 0 && c.answers(own[u]) {
			return m, false // an answer that says more is another one
		}
		if len(theirs) == 1 && c.h.saidIn(theirs[0]).Len()-len(more) < 2 {
			return m, false // a question alone may be that of another conversation
		}
		if k == 0 {
			m = c.h.behind(theirs[v], more, c.st.Len())
		}
		m.sure = m.sure || c.named(theirs[v]) ||
			own[u].made() && !c.st.SaidAt(own[u].start, own[u].end).Equal(c.h.saidIn(theirs[v]))
	}
	return m, true
}

// tells reports whether turns of the history must be the same turns of the conversation, from own[at] on.
// A history that begins as the conversation does may be a whole one instead: what stood behind that
// place was taken back, and the turns were said anew. Then two of them must stand behind it, and one
// must be an answer that was given only once. Where what stands before them is repeated too, words
// typed at that place do not count: they may have been typed there in place of others.
func (c *comparison) tells(own []turn, at int, theirs []turn) bool {
	begins := c.apart(own).Theirs
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

// once reports whether no other turn of the conversation says the same. It looks at the nearest first,
// so that it soon finds what is said all the time.
func (c *comparison) once(own []turn, at int) bool {
	said := c.said(own[at])
	for d := 1; d <= max(at, len(own)-1-at); d++ {
		for _, k := range []int{at - d, at + d} {
			if k >= 0 && k < len(own) && c.said(own[k]).Equal(said) {
				return false
			}
		}
	}
	return true
}

// named reports whether a turn of the history has a call, or the result of one, whose id one call of the
// conversation has.
func (c *comparison) named(t turn) bool {
	for i := t.start; i < t.end; i++ {
		for _, b := range c.h.msgs[i].Blocks().All() {
			switch b := b.(type) {
			case transcript.ToolCall:
				if c.calls(b.ID) == 1 {
					return true
				}
			case transcript.ToolResult:
				if c.calls(b.CallID) == 1 {
					return true
				}
			}
		}
	}
	return false
}

// calls returns how many calls have an id.
func (c *comparison) calls(id string) (n int) {
	for _, r := range c.st.Rounds() {
		for _, call := range r.Calls {
			if call.ID == id {
				n++
			}
		}
	}
	return n
}
