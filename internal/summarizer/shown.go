package summarizer

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/dump"
	"github.com/pleat-dev/pleat/transcript"
)

// shown writes what the levers before it left of the turns to be summarized, for policies that
// take a summary as it comes. It leaves out the first groups: a group is an answer of the model
// and what follows it. An earlier summary stands for all that was before it and stays.
func (s *Source) shown(asJSON bool, dropped int) string {
	var parts []string
	write := func(m transcript.Message) {
		if asJSON {
			parts = append(parts, dump.JSON(m, false))
		} else {
			parts = append(parts, dump.Plain(m)...)
		}
	}
	if dropped > 0 {
		write(transcript.User("[earlier turns are left out: all of them together are too long to summarize]"))
	}
	summed, turns := s.turns()
	for _, m := range summed {
		write(m)
	}
	if !asJSON {
		turns = s.Spoken[len(s.Spoken)-len(turns):]
	}
	groups := 0
	for i, m := range turns {
		if i == 0 || m.Role() == transcript.RoleAssistant {
			groups++
		}
		if groups > dropped {
			write(m)
		}
	}
	if asJSON {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return strings.Join(parts, "\n")
}

// turns are the messages of the view that the summary replaces: an earlier summary, and the
// rest.
func (s *Source) turns() (summed, rest []transcript.Message) {
	all := s.View[min(s.ViewHead, len(s.View)):]
	return all[:s.Summed], all[s.Summed:]
}

// shownGroups is how many groups there are to leave out.
func (s *Source) shownGroups() int {
	n := 0
	_, turns := s.turns()
	for i, m := range turns {
		if i == 0 || m.Role() == transcript.RoleAssistant {
			n++
		}
	}
	return n
}
