package annotate

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/transcript"
)

// ByProgram is who speaks in a user's message of which nobody typed a word, and the type of the
// blocks that [Attributed] makes.
const ByProgram = "program"

// Attributed returns a message as it is to be written down, for readers who take a user's message for what
// the user said. If nobody typed any of it, its role is [ByProgram]. Otherwise what a program
// put beside the typed words stands in opaque blocks of that type, with the text in Raw.
func Attributed(m transcript.Message) transcript.Message {
	role, parts := AttributedBlocks(m)
	return transcript.NewMessage(role, slices.Concat(parts...)...).WithOrigin(m.Origin())
}

// AttributedBlocks returns what [Attributed] makes of a message, block by block.
func AttributedBlocks(m transcript.Message) (transcript.Role, [][]transcript.Block) {
	return shown(m, m, nil)
}

// AttributedView is [Attributed] for the messages that a view resolved to. Who speaks in a message is judged by all of it: what a
// view cuts off may be the end by which a program's words are known. Source reads a message of the transcript.
func AttributedView(
	v transcript.View, msgs []transcript.Message, source func(i int) (transcript.Message, error),
) ([]transcript.Message, error) {
	out := make([]transcript.Message, len(msgs))
	for i, vm := range v.Messages {
		if len(vm.Edits) == 0 || msgs[i].Role() != transcript.RoleUser {
			out[i] = Attributed(msgs[i])
			continue
		}
		whole, err := source(vm.Source)
		if err != nil {
			return nil, err
		}
		role, parts := shown(whole, msgs[i], vm.Edits)
		out[i] = transcript.NewMessage(role, slices.Concat(parts...)...).WithOrigin(whole.Origin())
	}
	return out, nil
}

// shown is [AttributedBlocks] for what edits left of a message.
func shown(whole, left transcript.Message, edits []transcript.BlockEdit) (transcript.Role, [][]transcript.Block) {
	var parts [][]transcript.Block
	role, notes := whole.Role(), Notes(nil)
	said := whole.Blocks()
	if role == transcript.RoleUser && (said.Has(transcript.KindText) || said.Has(transcript.KindToolResult)) {
		if notes = Message(whole, nil); !slices.ContainsFunc(notes.Typed(whole), func(s string) bool { return s != "" }) {
			role = ByProgram
		}
	}
	n := 0 // of the blocks that are left
	for i, was := range said.All() {
		if slices.ContainsFunc(edits, func(e transcript.BlockEdit) bool { return e.Block == i && e.Drop }) {
			continue
		}
		blk := left.Blocks().At(n)
		n++
		if t, ok := was.(transcript.Text); ok && role == transcript.RoleUser {
			parts = append(parts, notes.Of(i).split(t, blk.(transcript.Text)))
			continue
		}
		parts = append(parts, []transcript.Block{blk})
	}
	return role, parts
}

// split parts what is shown of a text into what was typed and what a program put beside it.
func (n Notes) split(whole, shown transcript.Text) (list []transcript.Block) {
	all, left := whole.Text.String(), shown.Text.String()
	if len(n) == 0 {
		return []transcript.Block{shown}
	}
	end, place := 0, kept(all, left)
	program := func(part string) {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, transcript.Opaque{Type: ByProgram, Raw: part})
		}
	}
	for _, s := range n {
		if s.Who != User {
			continue
		}
		from, to := place(s.Start, s.End)
		from, to = max(from, end), max(to, end)
		program(left[end:from])
		if words := strings.TrimSpace(left[from:to]); words != "" {
			list = append(list, transcript.Say(words))
		}
		end = to
	}
	program(left[end:])
	return list
}

// kept returns where the bytes start ≤ i < end of a text are in what is left of it, for any of them. The same
// bytes begin and end both, and between them stands what nobody can tell the place of: it counts only if all that can be
// there does.
func kept(all, left string) func(start, end int) (from, to int) {
	most := min(len(all), len(left))
	head := 0
	for head < most && all[head] == left[head] {
		head++
	}
	for head > 0 && head < len(left) && !utf8.RuneStart(left[head]) {
		head--
	}
	tail := 0
	for tail < most-head && all[len(all)-1-tail] == left[len(left)-1-tail] {
		tail++
	}
	for tail > 0 && !utf8.RuneStart(left[len(left)-tail]) {
		tail--
	}
	place := func(i, between int) int {
		switch {
		case i <= head:
			return i
		case i >= len(all)-tail:
			return i - len(all) + len(left)
		}
		return between
	}
	return func(start, end int) (from, to int) {
		from = place(start, len(left)-tail)
		return from, max(from, place(end, head))
	}
}
