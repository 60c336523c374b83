package match

import (
	"fmt"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/transcript"
)

// History is a history that was handed over.
type History struct {
	Heads int // system messages at its beginning

	msgs  []transcript.Message
	known map[int]conv.Said // what they say, where it was asked for
}

// Read makes a history of messages.
func Read(msgs []transcript.Message) *History {
	h := &History{msgs: msgs, known: make(map[int]conv.Said)}
	for h.Heads < len(msgs) && isSystem(msgs[h.Heads].Role()) {
		h.Heads++
	}
	return h
}

func isSystem(r transcript.Role) bool {
	return r == transcript.RoleSystem || r == transcript.RoleDeveloper
}

// Lead are the system messages at its beginning.
func (h *History) Lead() []transcript.Message { return h.msgs[:h.Heads] }

// Reason says where a conversation and a history part; empty: they do not.
func (m Meeting) Reason(h *History) string {
	switch {
	case !m.Diverges:
		return ""
	case m.Theirs <= h.Heads && !m.Edited:
		return "the history has nothing of the session"
	case m.Theirs == len(h.msgs):
		return fmt.Sprintf("the history ends before message %d of the session", m.Own)
	}
	return fmt.Sprintf("message %d of the history is not message %d of the session", m.Theirs, m.Own)
}

// Ways stands for what a conversation and a history both have, and the first message that only the
// history has.
func (m Meeting) Ways(st *epoch.State, h *History) string {
	var said []conv.Said
	for i := st.Facts().Prompt(); i < m.Own; i++ {
		said = append(said, st.SaidAt(i, i+1))
	}
	if m.Theirs < len(h.msgs) {
		said = append(said, h.Said(m.Theirs))
	}
	return conv.Fingerprint(said...).String()
}

func (h *History) turns(from int) []turn {
	return addTurns(nil, from, len(h.msgs), func(i int) transcript.Role { return h.msgs[i].Role() })
}

// Said returns what message i says.
func (h *History) Said(i int) conv.Said {
	said, ok := h.known[i]
	if !ok {
		said = conv.SaidIn(h.msgs[i], i)
		h.known[i] = said
	}
	return said
}

func (h *History) saidIn(t turn) conv.Said {
	list := make([]conv.Said, 0, t.end-t.start)
	for i := t.start; i < t.end; i++ {
		list = append(list, h.Said(i))
	}
	return conv.Joined(list)
}

// from is a meeting with a conversation of which the first j messages of the history say all.
func (h *History) from(j, said int) Meeting { return Meeting{Theirs: j, Own: said, Rest: h.msgs[j:]} }

// behind is the same where these blocks of a turn are new, and all behind it.
func (h *History) behind(t turn, more []transcript.BlockRef, said int) Meeting {
	if len(more) == 0 {
		return h.from(t.end, said)
	}
	m := Meeting{Theirs: more[0].Message, Own: said}
	for len(more) > 0 {
		msg := h.msgs[more[0].Message]
		var blocks []transcript.Block
		for at := more[0].Message; len(more) > 0 && more[0].Message == at; more = more[1:] {
			blocks = append(blocks, msg.Blocks().At(more[0].Block))
		}
		if len(blocks) < msg.Blocks().Len() {
			msg = transcript.NewMessage(msg.Role(), blocks...).WithOrigin(msg.Origin())
		}
		m.Rest = append(m.Rest, msg)
	}
	m.Rest = append(m.Rest, h.msgs[t.end:]...)
	return m
}
