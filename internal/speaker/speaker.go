// Package speaker says who speaks where messages are written down as text.
package speaker

import (
	"slices"
	"strings"

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
	if m.Role() != transcript.RoleUser || !said.Has(transcript.KindText) && !said.Has(transcript.KindToolResult) {
		return m.Role(), parts
	}
	typed := userwords.TypedBlocks(m)
	if !slices.ContainsFunc(typed, func(s string) bool { return s != "" }) {
		return Program, parts
	}
	for i, blk := range said.All() {
		if t, ok := blk.(transcript.Text); ok && strings.TrimSpace(t.Text.String()) != typed[i] {
			parts[i] = apart(strings.TrimSpace(t.Text.String()), typed[i])
		}
	}
	return m.Role(), parts
}

// apart parts a text into what was typed and what a program put before and behind it. Typed words that
// are not one stretch of the text, or stand in it more than once, follow all of it.
func apart(text, typed string) (list []transcript.Block) {
	before, behind := text, ""
	switch {
	case strings.HasPrefix(text, typed):
		before, behind = "", text[len(typed):]
	case strings.HasSuffix(text, typed):
		before = text[:len(text)-len(typed)]
	case strings.Count(text, typed) == 1:
		before, behind, _ = strings.Cut(text, typed)
	}
	for i, part := range [...]string{before, typed, behind} {
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
