package match

import (
	"slices"

	"github.com/pleat-dev/pleat/transcript"
)

// mayBeBack lists what a history may lack of what the user said since the last answer but one: some messages in
// a row, the fewest and newest first. Before the last answer something else must have been said beside them, or
// they may be old ones. What is folded, or stands before a fold, stays.
func (c *comparison) mayBeBack() (list []Stretch) {
	facts := c.st.Facts()
	answers := func(i int) bool { return i >= 0 && i < len(facts) && facts[i].Role == transcript.RoleAssistant }
	start := facts.Prompt() + 1 // without the first message it is another conversation, or a window
	for _, f := range c.st.Folds {
		start = max(start, f.End)
	}
	runs := 0
	for i := len(facts) - 1; i >= start; i-- {
		if answers(i) && !answers(i+1) {
			if runs++; runs == 2 {
				start = i + 1
			}
		}
	}
	for n := 1; n <= mostBack; n++ {
		for at := len(facts) - n; at >= start; at-- {
			others := slices.ContainsFunc(facts[at:at+n], func(f transcript.MessageFacts) bool { return !plain(f) })
			if !others && !(answers(at-1) && answers(at+n)) {
				list = append(list, Stretch{at, at + n})
			}
		}
	}
	return list
}

// mostBack is how many messages are taken back at once.
const mostBack = 3

// plain reports whether a message is the user's and answers no call.
func plain(f transcript.MessageFacts) bool {
	isResult := func(b transcript.BlockFacts) bool { return b.Kind == transcript.KindToolResult }
	return f.Role == transcript.RoleUser && !slices.ContainsFunc(f.Blocks, isResult)
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
