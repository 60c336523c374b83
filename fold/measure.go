package fold

import (
	"slices"
)

// stretchStarts are the places where the stretches begin that levers fold again and again:
// behind the system prompt, behind the head and, where the policy snips, behind the messages
// that it keeps.
func (s *Folding) stretchStarts() []int {
	starts := []int{s.Prompt()}
	if s.First != starts[0] {
		starts = append(starts, s.First)
	}
	if s.Policy == nil || s.Policy.Snip.Above <= 0 {
		return starts
	}
	at := s.First
	if s.Policy.Digest.NoHead {
		at = starts[0]
	}
	at = max(s.Policy.Snip.Head, at)
	for r := range s.Transcript.AllRounds() {
		if r.Start >= at {
			break
		}
		at = max(at, r.End) // a round at the head stays whole at the head
	}
	if !slices.Contains(starts, at) {
		starts = append(starts, at)
	}
	return starts
}
