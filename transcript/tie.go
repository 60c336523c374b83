package transcript

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// Unnamed returns the message without the id by which its provider knows which thinking it followed; the message
// itself if it has none, or needs it.
func (m Message) Unnamed() Message {
	is := m.get()
	if bound, _ := m.bound(); bound || m.thinks() || jsonspan.Value(is.raw).Get("id").Kind() != jsonspan.String {
		return m
	}
	with := *is
	with.raw = string(jsonspan.Value(is.raw).Without("id"))
	return Message{&with}
}

// thinks reports whether the message is thinking and nothing else.
func (m Message) thinks() bool {
	for _, b := range m.Blocks().list {
		if b.Kind() != KindThinking {
			return false
		}
	}
	return m.Blocks().Len() > 0
}

// bound reports whether the message cannot be without the thinking before it, and whether it is a reference.
func (m Message) bound() (bound, refers bool) {
	for _, b := range m.Blocks().list {
		switch b := b.(type) {
		case ToolCall:
			bound = bound || b.Bound
		case Opaque:
			bound, refers = bound || b.Bound || b.Refers || b.Stands, refers || b.Refers
		}
	}
	return bound, refers
}

// ties are what a provider holds together beside calls and their results.
type ties struct {
	needs    []need
	waits    []wait
	followed []int32 // by message: 1 + the newest thinking before it in its answer; 0: none
	thought  int32   // the same for the next message
	refers   int     // 1 + the first reference in the newest answer; 0: none
	from     int     // the first message that the newest is held together with
	thinks   bool    // because of thinking
}

// need is a block that a view may show only together with another.
type need struct{ of, other BlockRef }

// wait is an opaque block that another one answers.
type wait struct {
	key  string
	at   BlockRef
	left bool // the user has spoken since
}

// tie notes what message i is tied to.
func (t *Transcript) tie(i int, m Message) {
	s, answers := &t.ties, m.Role() == RoleAssistant
	s.from, s.thinks = i, false
	memory := false
	for k, b := range m.Blocks().list {
		switch b := b.(type) {
		case Opaque:
			memory = memory || b.Stands
			s.opaque(b, BlockRef{i, k}, t.read != nil)
		case Text, Image:
			for w := range s.waits {
				s.waits[w].left = s.waits[w].left || m.Role() == RoleUser
			}
		}
	}
	for _, w := range s.waits {
		if !w.left {
			s.from = min(s.from, w.at.Message)
		}
	}
	switch {
	case answers && m.thinks():
		s.thought = int32(i + 1)
	case answers && memory, !answers && m.Role() != RoleTool:
		s.thought = 0
	}
	s.followed = append(s.followed, s.thought)
	if answers {
		bound, refers := m.bound()
		s.bound(i, t.turnAt, bound, refers)
	}
}

// opaque opens or closes a pair. Keys are copied if the message is not kept.
func (s *ties) opaque(b Opaque, at BlockRef, copies bool) {
	if b.Opens != "" {
		if copies {
			b.Opens = strings.Clone(b.Opens)
		}
		s.waits = append(s.waits, wait{key: b.Opens, at: at})
	}
	if b.Closes == "" {
		return
	}
	for k, w := range slices.Backward(s.waits) {
		if w.key == b.Closes {
			s.waits = slices.Delete(s.waits, k, k+1)
			s.bind(w.at, at)
			return
		}
	}
}

// bind ties a block of the newest message to an earlier one, and that to it.
func (s *ties) bind(first, at BlockRef) {
	if first.Message < at.Message {
		s.needs = append(s.needs, need{first, at}, need{at, first})
		s.from = min(s.from, first.Message)
	}
}

// bound ties message i of an answer that begins at message answer to the thinking that it cannot be without, and to
// the answer's references.
func (s *ties) bound(i, answer int, bound, refers bool) {
	if i == answer {
		s.refers = 0
	}
	if start, end := s.thoughts(i); bound && start < end {
		for k := start; k < end; k++ {
			s.needs = append(s.needs, need{BlockRef{i, 0}, BlockRef{k, 0}})
		}
		s.from, s.thinks = min(s.from, start), true
	}
	switch {
	case s.refers > 0:
		s.bind(BlockRef{s.refers - 1, 0}, BlockRef{i, 0})
	case refers:
		s.refers = i + 1
	}
}

// thoughts returns the thinking that message i followed in its answer: messages start ≤ k < end.
func (s *ties) thoughts(i int) (start, end int) {
	end = int(s.followed[i])
	for start = end; start > 0 && int(s.followed[start-1]) == start; {
		start--
	}
	return start, end
}

// takeOut does [Transcript.TakeOut], where moved gives a message its new place.
func (s *ties) takeOut(start, end int, moved func(*int)) {
	for i := range s.needs {
		moved(&s.needs[i].of.Message)
		moved(&s.needs[i].other.Message)
	}
	for i := range s.waits {
		moved(&s.waits[i].at.Message)
	}
	s.followed = slices.Delete(s.followed, start, end)
	for i := start; i < len(s.followed); i++ {
		if at := int(s.followed[i]); at > end {
			s.followed[i] -= int32(end - start)
		}
	}
}

// lost says of each message of the transcript whether the view hides thinking that it followed: such a message is
// shown [Message.Unnamed].
func (v View) lost(t *Transcript) []bool {
	lost := make([]bool, t.Len())
	if v.IsWhole(t.Len()) {
		return lost
	}
	shown := make([]bool, t.Len())
	for _, m := range v.Messages {
		if m.Source >= 0 && m.Source < len(shown) {
			shown[m.Source] = true
		}
	}
	for i := range lost {
		start, end := t.ties.thoughts(i)
		lost[i] = slices.Contains(shown[start:end], false)
	}
	return lost
}
