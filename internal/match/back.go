package match

import (
	"slices"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// answered reports whether a message is an answer.
func (c *comparison) answered(i int) bool {
	return i >= 0 && i < c.st.Len() && c.st.Facts()[i].Role == transcript.RoleAssistant
}

// newest is where what was said since the last answer but one begins.
func (c *comparison) newest() int {
	runs := 0
	for i := c.st.Len() - 1; i >= 0; i-- {
		if c.answered(i) && !c.answered(i+1) {
			if runs++; runs == 2 {
				return i + 1
			}
		}
	}
	return 0
}

// mayBeBack lists what a history may lack of what was said since the last answer but one: some messages in
// a row, the fewest and newest first. Before the last answer something else must have been said beside them, or
// they may be old ones. What is folded, or stands before a fold, stays.
func (c *comparison) mayBeBack() (list []Stretch) {
	// Without the first message it is another conversation, or a window.
	start := max(c.st.Facts().Prompt()+1, c.st.LooseFrom(), c.newest())
	for n := 1; n <= mostBack; n++ {
		for at := c.st.Len() - n; at >= start; at-- {
			loose := true
			for i := at; i < at+n; i++ {
				loose = loose && c.st.Loose(i)
			}
			if loose && !(c.answered(at-1) && c.answered(at+n)) {
				list = append(list, Stretch{at, at + n})
			}
		}
	}
	return list
}

// mostBack is how many messages are taken back at once.
const mostBack = 3

// cut is what a history has of messages without the text at their end, by message.
type cut map[int]shorter

type shorter struct {
	edits []transcript.BlockEdit
	now   transcript.Message
}

// mayBeCut lists nothing, and the messages since the last answer but one that the history has in its newest turns without
// text at their end.
func (c *comparison) mayBeCut() []cut {
	found := make(cut)
	for i := max(c.newest(), c.st.Facts().Prompt()); i < c.st.Len(); i++ {
		was, known := c.st.Contents.Held(i)
		answers := 0
		for j := len(c.h.msgs) - 1; known && j >= c.h.Heads && answers < 3; j-- {
			if now := c.h.msgs[j]; now.Role() == transcript.RoleAssistant {
				answers++
			} else if edits, ok := conv.Cut(was, now); ok {
				found[i] = shorter{edits, now}
			}
		}
	}
	if len(found) == 0 {
		return []cut{nil}
	}
	return []cut{nil, found}
}

// shortened returns the turns with messages as the history has them.
func (c *comparison) shortened(own []turn, by cut) []turn {
	if len(by) == 0 {
		return own
	}
	own = slices.Clone(own)
	for k, t := range own {
		shown := slices.Clone(t.messages())
		for n, vm := range shown {
			if s, ok := by[vm.Source]; ok && len(vm.Edits) == 0 {
				shown[n].Edits, own[k].shown = s.edits, shown
			}
		}
	}
	return own
}

// again is the message that is the newest after others are taken back, as the history has it; nil if it stays.
func (c *comparison) again(by cut, back Stretch) *transcript.Message {
	last := c.st.Len() - 1
	if back.Len() > 0 && back.End == c.st.Len() {
		last = back.Start - 1
	} else if back.Len() > 0 {
		return nil
	}
	s, ok := by[last]
	if !ok || !c.st.CanShorten(last, conv.ShapesOf(s.now)) {
		return nil
	}
	return &s.now
}

// without returns the turns without some messages.
func (c *comparison) without(own []turn, back Stretch) []turn {
	if back.Len() == 0 {
		return own
	}
	out := make([]turn, 0, len(own))
	for _, t := range own {
		if t.start < back.End && back.Start < t.end {
			t.shown = slices.DeleteFunc(slices.Clone(t.messages()), func(vm transcript.ViewMessage) bool {
				return vm.Source >= back.Start && vm.Source < back.End
			})
			if len(t.shown) == 0 {
				continue
			}
		}
		out = append(out, t)
	}
	return out
}
