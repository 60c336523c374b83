// Package speaker says who speaks where messages are written down as text.
package speaker

import (
	"slices"

	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Program is who speaks in a user's message of which nobody typed a word, and the type of the
// blocks that [Of] makes.
const Program = "program"

// Of returns a message as it is to be written down, for readers who take a user's message for what
// the user said. If nobody typed any of it, its role is [Program]. Otherwise the texts
// that a program put beside the typed ones are opaque blocks of that type, with the text in Raw.
func Of(m transcript.Message) transcript.Message {
	said := m.Blocks()
	if m.Role() != transcript.RoleUser || !said.Has(transcript.KindText) && !said.Has(transcript.KindToolResult) {
		return m
	}
	typed := userwords.TypedBlocks(m)
	if !slices.ContainsFunc(typed, func(s string) bool { return s != "" }) {
		return transcript.NewMessage(Program, said.List()...)
	}
	blocks := make([]transcript.Block, 0, len(typed))
	for i, blk := range said.All() {
		if t, ok := blk.(transcript.Text); ok && typed[i] == "" {
			blk = transcript.Opaque{Type: Program, Raw: t.Text.String()}
		}
		blocks = append(blocks, blk)
	}
	return transcript.NewMessage(m.Role(), blocks...).WithOrigin(m.Origin())
}
