// Package epoch keeps what a session has folded: a [State] is a conversation with the folds in
// force, the view that they make, what requests with it have cost, and the epochs so far. What is
// stored of it changes as entries are taken in, and in no other way.
package epoch

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// State is a conversation and the folds in force: what a view is computed from.
type State struct {
	*conv.Conversation
	Layout fold.Layout // of the folds in force
	Binds  bool        // thinking is bound to the exact bytes before it
	Silent bool        // nobody can be asked to drop thinking that may no longer verify: it is not shown

	// In a fork, the results behind the newest mark or view were never shown, also those that
	// an answer follows: another session had them.
	Forked bool
	Marked int // number of messages before the newest mark or view
	Since  int // the first message of a turn that is not over; 0: not known

	Folds   []*fold.Fold // every fold ever made; Folds[i] has the number i+1
	Born    fold.Set     // of these, the ones made at birth: these blocks were never shown whole
	Parts   fold.Parts   // of the view, head included
	Count   int          // of messages in the view
	Unbound int          // thinking in messages before this one may no longer verify

	History  []Data // epochs and undos, oldest first
	Epochs   int    // number of the newest epoch
	Epoch    int    // number of the epoch in force, which is an older one after an undo; 0: none
	EpochSeq uint64 // number of the newest epoch's entry
	Backs    int    // how often messages were taken back
	inEffect []int  // the epochs that were not undone, as places in History
	lengths  []int  // of the transcript, at those

	Pins  []string
	Notes []transcript.Note

	lead   *Lead      // nil: views begin as the conversation does
	longer int        // tokens that the lead has more than what it stands for
	head   fold.Parts // what the system prompt and the tools take

	folded int    // bytes of memory that the folds take, about
	told   []told // digests by a model that can be used, newest last
	shown  fold.Shown

	answers int // requests that were answered: runs of assistant messages
	heard   int // number of messages before the newest of them
	asked   int // of those, how many this session has shown
	spent   spending
}

// New returns the state of a conversation, with no fold in force.
func New(c *conv.Conversation, head fold.Parts) *State {
	s := &State{Conversation: c, Layout: fold.Layout{Source: c, Head: head}, head: head}
	s.rebuild()
	return s
}

// perFold is about what a fold takes besides its stub, in bytes.
const perFold = 400

// Weight is about how many bytes of memory the session takes.
func (s *State) Weight() int { return s.Conversation.Weight() + s.folded }

// Record adds a new message and shows it.
func (s *State) Record(m transcript.Message, shapes []conv.BlockShape, at conv.KeptMessage) {
	if m.Role() == transcript.RoleAssistant && s.LastRole() != transcript.RoleAssistant {
		s.answered()
	}
	foreign := s.Forked && s.Marked < s.Len() && m.Role() == transcript.RoleAssistant
	s.Add(m, shapes, at)
	s.show()
	if foreign && m.Blocks().Has(transcript.KindThinking) {
		s.unbind(s.Len()) // another session got it, perhaps behind folds
	}
}

// unbind says that thinking in messages before n may no longer verify.
func (s *State) unbind(n int) {
	if s.Unbound = n; s.Silent && s.Layout.In.Bare < n {
		s.Layout.In.Bare = n
		s.rebuild()
	}
}

// LastRole is the role of the newest message; empty: there is none.
func (s *State) LastRole() transcript.Role {
	if n := s.Len(); n > 0 {
		return s.Facts()[n-1].Role
	}
	return ""
}

// Pin adds a text that every view must hold, or removes it. Pins that a plan or a digest was given
// stay as they are.
func (s *State) Pin(text string, remove bool) {
	s.Pins = slices.DeleteFunc(slices.Clone(s.Pins), func(p string) bool { return p == text })
	if !remove {
		s.Pins = append(s.Pins, text)
	}
}

// Note sets the note with that key. An empty text removes it. As with pins, what was given stays.
func (s *State) Note(n transcript.Note) {
	s.Notes = slices.DeleteFunc(slices.Clone(s.Notes), func(o transcript.Note) bool { return o.Key == n.Key })
	if n.At = s.Len(); n.Text != "" {
		s.Notes = append(s.Notes, n)
	}
}

// TakeBack takes n messages out, from one on, which are no answers and answer no call, as if they had never been
// there. No fold may stand for them, or for what is behind them.
func (s *State) TakeBack(at, n int) error {
	end := at + n
	if at < s.Facts().Prompt() || n < 1 || n > s.Len()-at {
		return fmt.Errorf("take back messages %d to %d of %d: %w", at, end, s.Len(), store.ErrCorrupt)
	}
	for i := at; i < end; i++ {
		if !s.Loose(i) {
			return fmt.Errorf("take back message %d, which is an answer: %w", i, store.ErrCorrupt)
		}
	}
	if s.LooseFrom() > at {
		return fmt.Errorf("take back message %d, which is folded: %w", at, store.ErrCorrupt)
	}
	moved := func(place *int) {
		if *place >= end {
			*place -= n
		} else {
			*place = min(*place, at)
		}
	}
	for _, place := range []*int{&s.Marked, &s.heard, &s.Since, &s.Unbound, &s.Layout.In.Bare} {
		moved(place)
	}
	s.Notes, s.History, s.lengths = slices.Clone(s.Notes), slices.Clone(s.History), slices.Clone(s.lengths)
	for i := range s.Notes {
		moved(&s.Notes[i].At)
	}
	for i := range s.History {
		moved(&s.History[i].Messages)
		moved(&s.History[i].Bare)
	}
	for i := range s.lengths {
		moved(&s.lengths[i])
	}
	s.told = slices.DeleteFunc(s.told, func(t told) bool { return t.End > at })
	s.TakeOut(at, end)
	s.Backs++
	s.rebuild()
	return nil
}

// Loose reports whether a message may be taken back, if it is not folded: it is no answer, and answers no call.
func (s *State) Loose(i int) bool {
	return s.Facts()[i].Role != transcript.RoleAssistant && !s.Facts().Has(i, transcript.KindToolResult)
}

// LooseFrom is the first message that no fold stands for, nor for any after it.
func (s *State) LooseFrom() (i int) {
	for _, f := range s.Folds {
		i = max(i, f.End)
	}
	return i
}

// CanShorten reports whether a message with these blocks can come in place of message i: no fold stands for what
// would change.
func (s *State) CanShorten(i int, shapes []conv.BlockShape) bool {
	return !slices.ContainsFunc(s.Folds, func(f *fold.Fold) bool {
		return f.Start <= i && i < f.End && (f.Block < 0 || f.Block >= len(shapes) || f.Hash != shapes[f.Block].Hash)
	})
}

// Shorten puts m in place of message i, which has more text at its end.
func (s *State) Shorten(i int, m transcript.Message, shapes []conv.BlockShape, at conv.KeptMessage) error {
	if i < s.Facts().Prompt() || i >= s.Len() || s.Facts()[i].Role != m.Role() || m.Role() == transcript.RoleAssistant ||
		len(shapes) > len(s.Facts()[i].Blocks) || !s.CanShorten(i, shapes) {
		return fmt.Errorf("put another message in place of message %d: %w", i, store.ErrCorrupt)
	}
	s.Conversation.Shorten(i, m, shapes, at)
	s.Backs++
	s.rebuild()
	return nil
}

// show counts the newest message as a part of the view.
func (s *State) show() {
	parts, count := s.Layout.PartsOf(s.Len() - 1)
	s.Count += count
	s.Parts.Add(parts)
}

// rebuild counts the view from scratch, as after new folds.
func (s *State) rebuild() {
	s.shown = fold.Shown{}
	s.Parts, s.Count = s.Layout.Parts()
}

// View returns the view in force.
func (s *State) View() []transcript.ViewMessage { return s.Layout.Render(&s.shown) }

// Entry is the number of the entry that message i was stored as.
func (s *State) Entry(i int) uint64 { return s.Contents.Entry(i) }

// InForce lists the numbers of the folds in force.
func (s *State) InForce() []int { return s.Layout.In.IDs() }

// WholeView counts the view of the whole transcript, head included.
func (s *State) WholeView() int { return s.Layout.Head.Total() + s.Whole() }

// ViewOf returns the view with other folds in force.
func (s *State) ViewOf(in fold.Set) []transcript.ViewMessage {
	then := s.Layout
	then.In = in
	return then.Render(&fold.Shown{})
}

// PartsIn counts the view with other folds in force.
func (s *State) PartsIn(in fold.Set) fold.Parts {
	then := s.Layout
	then.In = in
	parts, _ := then.Parts()
	return parts
}

// Folded reports whether any fold is in force.
func (s *State) Folded() bool { return !s.Layout.In.IsEmpty() }

// Past returns what a plan has to know of the session.
func (s *State) Past() fold.Past {
	o := fold.Past{
		Epoch: s.Epochs + 1, Folds: len(s.Folds), Seen: s.seen(), Answered: s.heard, Ahead: s.expected(), Born: s.Born,
		Pins: s.Pins, Notes: s.Notes, Epochs: slices.Clip(s.lengths),
	}
	for _, t := range s.told {
		t.Old = t.seq <= s.EpochSeq
		o.Told = append(o.Told, t.Narrative)
	}
	return o
}
