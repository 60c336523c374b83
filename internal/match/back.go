package match

import (
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
)

// mayBeBack lists what the user said after the last answer, or before it if nothing after it, that a
// history may lack: each run of messages, the shortest first. What was folded since stays.
func (c *comparison) mayBeBack() (list []Stretch) {
	facts := c.st.Facts()
	start, end := 0, 0 // of the newest words
	for i := len(facts) - 1; i >= facts.Prompt(); i-- {
		if plain(facts, i) {
			if start = i; end == 0 {
				end = i + 1
			}
		} else if end > 0 || facts[i].Role == transcript.RoleAssistant && i > 0 &&
			facts[i-1].Role != transcript.RoleAssistant && !plain(facts, i-1) {
			break
		}
	}
	folded := func(f *fold.Fold) bool { return f.End > start }
	if slices.ContainsFunc(c.st.Folds, folded) {
		return nil
	}
	for n := 1; n <= min(end-start, mostBack); n++ {
		for at := end - n; at >= start; at-- {
			list = append(list, Stretch{at, at + n})
		}
	}
	return list
}

// mostBack is how many messages are taken back at once.
const mostBack = 3

// plain reports whether a message is the user's and answers no call.
func plain(facts transcript.Facts, i int) bool {
	return facts[i].Role == transcript.RoleUser && !facts.Has(i, transcript.KindToolResult)
}

// without returns the turns without some messages.
func (c *comparison) without(own []turn, back Stretch) []turn {
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
