package match

import (
	"hash/maphash"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/transcript"
)

// History is a history that was handed over.
type History struct {
	Heads int // system messages at its beginning

	msgs  []transcript.Message
	known map[int]conv.Said // what they say, where it was asked for
	looks []uint64          // glances of them, where they were asked for
}

// Read makes a history of messages.
func Read(msgs []transcript.Message) *History {
	h := &History{msgs: msgs, known: make(map[int]conv.Said), looks: make([]uint64, len(msgs))}
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

// Ways stands for what a conversation and a history both have, and the first message that only the
// history has.
func (m Meeting) Ways(st *epoch.State, h *History) string {
	var said []conv.Said
	for i := st.Facts().Prompt(); i < m.Said; i++ {
		said = append(said, st.SaidAt(i, i+1))
	}
	if m.History < len(h.msgs) {
		said = append(said, h.Said(m.History))
	}
	return conv.Fingerprint(said...).String()
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

// from is a Meeting with a session of which the first j messages of the history say all.
func (h *History) from(j, said int) Meeting { return Meeting{History: j, Said: said, Rest: h.msgs[j:]} }

// behind is the same where these blocks of a turn are new, and all behind it.
func (h *History) behind(t turn, more []transcript.BlockRef, said int) Meeting {
	if len(more) == 0 {
		return h.from(t.end, said)
	}
	m := Meeting{History: more[0].Message, Said: said}
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

// look is a hash of all that tells a turn from others, with its ids. It is good for this process.
func (h *History) look(t turn) uint64 {
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
func (h *History) glance(i int) uint64 {
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
