// Package speaker says who speaks where messages are written down as text.
package speaker

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Program is who speaks in a user's message of which nobody typed a word, and the type of the
// blocks that [Of] makes.
const Program = "program"

// Of returns a message as it is to be written down, for readers who take a user's message for what
// the user said. If nobody typed any of it, its role is [Program]. Otherwise what a program
// put beside the typed words stands in opaque blocks of that type, with the text in Raw.
func Of(m transcript.Message) transcript.Message {
	role, parts := Parts(m)
	return transcript.NewMessage(role, slices.Concat(parts...)...).WithOrigin(m.Origin())
}

// Parts returns what [Of] makes of a message, block by block.
func Parts(m transcript.Message) (transcript.Role, [][]transcript.Block) {
	said := m.Blocks()
	parts := make([][]transcript.Block, 0, said.Len())
	for _, blk := range said.All() {
		parts = append(parts, []transcript.Block{blk})
	}
	role, typed := judge(m)
	for i := range typed {
		if t, ok := said.At(i).(transcript.Text); ok {
			parts[i] = apart(t, t, typed[i])
		}
	}
	return role, parts
}

// judge returns who speaks in a message, and where somebody does beside programs, what was typed in each block.
func judge(m transcript.Message) (role transcript.Role, typed []string) {
	said := m.Blocks()
	if m.Role() != transcript.RoleUser || !said.Has(transcript.KindText) && !said.Has(transcript.KindToolResult) {
		return m.Role(), nil
	}
	typed = userwords.TypedBlocks(m)
	if !slices.ContainsFunc(typed, func(s string) bool { return s != "" }) {
		return Program, nil
	}
	return m.Role(), typed
}

// apart parts what is shown of a text into what was typed and what a program put before and behind it.
// Typed words that are not one stretch of the text, or stand in it more than once, follow all of it.
func apart(whole, shown transcript.Text, typed string) (list []transcript.Block) {
	all, left := strings.TrimSpace(whole.Text.String()), strings.TrimSpace(shown.Text.String())
	if all == typed {
		return []transcript.Block{shown}
	}
	words, before, behind := typed, left, ""
	if start, ok := onlyPlace(all, typed); ok {
		from, to := kept(all, left, start, start+len(typed))
		words, before, behind = left[from:to], left[:from], left[to:]
	} else if left != all {
		words = text.ShortMiddle(typed, len(left))
	}
	for i, part := range [...]string{before, words, behind} {
		switch part = strings.TrimSpace(part); {
		case part == "":
		case i == 1:
			list = append(list, transcript.Say(part))
		default:
			list = append(list, transcript.Opaque{Type: Program, Raw: part})
		}
	}
	return list
}

// onlyPlace returns where typed words begin in a text: that begins or ends with them, or has them once.
func onlyPlace(all, typed string) (start int, ok bool) {
	switch {
	case strings.HasPrefix(all, typed):
		return 0, true
	case strings.HasSuffix(all, typed):
		return len(all) - len(typed), true
	}
	return strings.Index(all, typed), strings.Count(all, typed) == 1
}
