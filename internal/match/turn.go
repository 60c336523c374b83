package match

import (
	"slices"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// turn is what is compared as one, messages start ≤ i < end: an answer, or all that was said
// between two answers.
type turn struct {
	start, end int
	shown      []transcript.ViewMessage // what a view shows of it; nil: it is as it came
}

// addTurns adds the messages from start on to turns that end there.
func addTurns(list []turn, start, end int, role func(i int) transcript.Role) []turn {
	list = slices.Grow(list, end-start)
	joins := func(r transcript.Role) bool { return r == transcript.RoleUser || r == transcript.RoleTool }
	for i := start; i < end; i++ {
		if last := len(list) - 1; last >= 0 && joins(role(i)) && joins(role(i-1)) {
			list[last].end++
		} else {
			list = append(list, turn{start: i, end: i + 1})
		}
	}
	return list
}

// turns are those of the conversation as it came.
func (c *comparison) turns() []turn {
	facts := c.st.Facts()
	return addTurns(nil, facts.Prompt(), len(facts), func(i int) transcript.Role { return facts[i].Role })
}

// turnsIn returns the turns of a view, behind the system messages at its beginning. Each ends where the
// next one begins: with what a page stands for, if it ends with one.
func (c *comparison) turnsIn(view []transcript.ViewMessage) []turn {
	at := c.st.Facts().Prompt()
	view = slices.DeleteFunc(slices.Clone(view), func(vm transcript.ViewMessage) bool {
		return vm.Source >= 0 && vm.Source < at
	})
	list := addTurns(nil, 0, len(view), func(i int) transcript.Role {
		if view[i].Source < 0 {
			return view[i].Made.Role()
		}
		return c.st.Facts()[view[i].Source].Role
	})
	for k, t := range list {
		shown := view[t.start:t.end]
		if at = max(at, shown[0].Source); k > 0 {
			list[k-1].end = at
		}
		start := at
		for _, vm := range shown {
			at = max(at, vm.Source+1)
		}
		list[k] = turn{start, at, shown}
	}
	return list
}

// messages are those of the turn, as a view shows them.
func (t turn) messages() []transcript.ViewMessage {
	if t.shown != nil {
		return t.shown
	}
	return transcript.Whole(t.end).Messages[t.start:]
}

// made reports whether the view made a part of it, or put something in place of what came.
func (t turn) made() bool {
	return slices.ContainsFunc(t.shown, func(vm transcript.ViewMessage) bool { return vm.Source < 0 || len(vm.Edits) > 0 })
}

// said returns what a turn of the conversation says.
func (c *comparison) said(t turn) conv.Said {
	if t.shown == nil {
		return c.st.SaidAt(t.start, t.end)
	}
	list := make([]conv.Said, 0, len(t.shown))
	for _, vm := range t.shown {
		list = append(list, c.st.SaidBy(vm))
	}
	return conv.Joined(list)
}

func (c *comparison) answers(t turn) bool {
	return c.st.Facts()[t.start].Role == transcript.RoleAssistant
}
