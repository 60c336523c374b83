package speaker

import (
	"slices"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/transcript"
)

// View is [Of] for the messages that a view resolved to. Who speaks in a message is judged by all of it: what a
// view cuts off may be the end by which a program's words are known. Source reads a message of the transcript.
func View(
	v transcript.View, msgs []transcript.Message, source func(i int) (transcript.Message, error),
) ([]transcript.Message, error) {
	out := make([]transcript.Message, len(msgs))
	for i, vm := range v.Messages {
		if len(vm.Edits) == 0 || msgs[i].Role() != transcript.RoleUser {
			out[i] = Of(msgs[i])
			continue
		}
		whole, err := source(vm.Source)
		if err != nil {
			return nil, err
		}
		out[i] = shown(whole, msgs[i], vm.Edits)
	}
	return out, nil
}

// shown is [Of] for what edits left of a message.
func shown(whole, left transcript.Message, edits []transcript.BlockEdit) transcript.Message {
	role, typed := judge(whole)
	var blocks []transcript.Block
	rest := left.Blocks()
	n := 0 // of the blocks that are left
	for i, was := range whole.Blocks().All() {
		if slices.ContainsFunc(edits, func(e transcript.BlockEdit) bool { return e.Block == i && e.Drop }) {
			continue
		}
		blk := rest.At(n)
		n++
		t, ok := was.(transcript.Text)
		if !ok || typed == nil {
			blocks = append(blocks, blk)
			continue
		}
		blocks = append(blocks, apart(t, blk.(transcript.Text), typed[i])...)
	}
	return transcript.NewMessage(role, blocks...).WithOrigin(whole.Origin())
}

// kept returns where the bytes start ≤ i < end of a text are in what is left of it. The same bytes begin
// and end both, and between them stands what nobody can tell the place of: it counts only if all that can be
// there does.
func kept(all, left string, start, end int) (from, to int) {
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
	from = place(start, len(left)-tail)
	return from, max(from, place(end, head))
}
