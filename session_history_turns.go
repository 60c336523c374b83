package pleat

import (
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// handed is a history that was handed over.
type handed struct {
	msgs  []Message
	known map[int]conv.Said // what they say, where it was asked for
	looks []uint64          // glances of them, where they were asked for
	heads int               // system messages at its beginning
}

func readHistory(msgs []Message) (*handed, error) {
	for i, m := range msgs {
		err := checkBlocks(m.Blocks())
		if err == nil {
			err = checkRole(m)
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	h := &handed{msgs: msgs, known: make(map[int]conv.Said), looks: make([]uint64, len(msgs))}
	for h.heads < len(msgs) && isSystem(msgs[h.heads].Role()) {
		h.heads++
	}
	return h, nil
}

func isSystem(r transcript.Role) bool {
	return r == transcript.RoleSystem || r == transcript.RoleDeveloper
}

// turn is what is compared as one, messages start ≤ i < end: an answer, or all that was said
// between two answers.
type turn struct {
	start, end int
	shown      []transcript.ViewMessage // what a view shows of it; nil: it is as it came
}

// addTurns adds the messages from start on to turns that end there.
func addTurns(list []turn, start, end int, role func(i int) transcript.Role) []turn {
	list = slices.Grow(list, end-start)
	joins := func(r transcript.Role) bool { return r == transcript.RoleUser || r == transcript.RoleTool }
	for i := start; i < end; i++ {
		if last := len(list) - 1; last >= 0 && joins(role(i)) && joins(role(i-1)) {
			list[last].end++
		} else {
			list = append(list, turn{start: i, end: i + 1})
		}
	}
	return list
}

func (h *handed) turns(from int) []turn {
	return addTurns(nil, from, len(h.msgs), h.role)
}

func (h *handed) role(i int) transcript.Role { return h.msgs[i].Role() }

// turnsIn returns the turns of a view, behind the system messages at its beginning. Each ends where the
// next one begins: with what a page stands for, if it ends with one.
func (s *Session) turnsIn(view []transcript.ViewMessage) []turn {
	at := s.st.Facts().Prompt()
	view = slices.DeleteFunc(slices.Clone(view), func(vm transcript.ViewMessage) bool {
		return vm.Source >= 0 && vm.Source < at
	})
	list := addTurns(nil, 0, len(view), func(i int) transcript.Role {
		if view[i].Source < 0 {
			return view[i].Made.Role()
		}
		return s.st.Facts()[view[i].Source].Role
	})
	for k, t := range list {
		shown := view[t.start:t.end]
		if at = max(at, shown[0].Source); k > 0 {
			list[k-1].end = at
		}
		start := at
		for _, vm := range shown {
			at = max(at, vm.Source+1)
		}
		list[k] = turn{start, at, shown}
	}
	return list
}

// saidIn returns what a turn of the session says.
func (s *Session) saidIn(t turn) conv.Said {
	if t.shown == nil {
		return s.st.SaidAt(t.start, t.end)
	}
	list := make([]conv.Said, 0, len(t.shown))
	for _, vm := range t.shown {
		list = append(list, s.st.SaidBy(vm))
	}
	return conv.Joined(list)
}

func (h *handed) said(i int) conv.Said {
	said, ok := h.known[i]
	if !ok {
		said = conv.SaidIn(h.msgs[i], i)
		h.known[i] = said
	}
	return said
}

func (h *handed) saidIn(t turn) conv.Said {
	list := make([]conv.Said, 0, t.end-t.start)
	for i := t.start; i < t.end; i++ {
		list = append(list, h.said(i))
	}
	return conv.Joined(list)
}

// from is a meeting with a session of which the first j messages of the history say all.
func (h *handed) from(j, said int) meeting { return meeting{history: j, said: said, rest: h.msgs[j:]} }

// behind is the same where these blocks of a turn are new, and all behind it.
func (h *handed) behind(t turn, more []transcript.BlockRef, said int) meeting {
	if len(more) == 0 {
		return h.from(t.end, said)
	}
	m := meeting{history: more[0].Message, said: said}
	for len(more) > 0 {
		msg := h.msgs[more[0].Message]
		var blocks []transcript.Block
		for at := more[0].Message; len(more) > 0 && more[0].Message == at; more = more[1:] {
			blocks = append(blocks, msg.Blocks().At(more[0].Block))
		}
		if len(blocks) < msg.Blocks().Len() {
			msg = transcript.NewMessage(msg.Role(), blocks...).WithOrigin(msg.Origin())
		}
		m.rest = append(m.rest, msg)
	}
	m.rest = append(m.rest, h.msgs[t.end:]...)
	return m
}

// look is a hash of all that tells a turn from others, with its ids. It is good for this process.
func (h *handed) look(t turn) uint64 {
	if t.end == t.start+1 {
		return h.glance(t.start)
	}
	var sum maphash.Hash
	sum.SetSeed(glanceSeed)
	for i := t.start; i < t.end; i++ {
		maphash.WriteComparable(&sum, h.glance(i))
	}
	return sum.Sum64()
}

// glance is that of a message.
func (h *handed) glance(i int) uint64 {
	if h.looks[i] != 0 {
		return h.looks[i]
	}
	var sum maphash.Hash
	sum.SetSeed(glanceSeed)
	m := h.msgs[i]
	maphash.WriteComparable(&sum, m.Role())
	for _, b := range m.Blocks().All() {
		maphash.WriteComparable(&sum, b.Kind())
		switch b := b.(type) {
		case transcript.ToolCall:
			maphash.WriteComparable(&sum, b.ID)
			maphash.WriteComparable(&sum, b.Name)
			maphash.WriteComparable(&sum, b.Input)
		case transcript.ToolResult:
			maphash.WriteComparable(&sum, b.CallID)
			for _, p := range b.Parts.All() {
				maphash.WriteComparable(&sum, p.Kind())
				if t, ok := p.(transcript.Text); ok {
					maphash.WriteComparable(&sum, t.Text)
				}
			}
		case transcript.Text:
			maphash.WriteComparable(&sum, b.Text)
		}
	}
	h.looks[i] = sum.Sum64()
	return h.looks[i]
}

var glanceSeed = maphash.MakeSeed()
