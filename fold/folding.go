package fold

import (
	"slices"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// folding is a conversation and the folds in force: what a view is computed from.
type Folding struct {
	*conv.Conversation
	Recall func(handle string) string // how stubs say to get content back; nil: they do not
	Head   Parts                      // system and tools
	Policy *Policy                    // which stretches will be measured; nil: not known

	answers int // runs of assistant messages: requests that were answered
	asked   int // number of messages that the newest of them was asked with
	spent   spending

	Folds  []*Fold // every fold ever made; number i+1
	InUse  Folded
	Epochs int // number of the newest epoch
	Epoch  int // number of the epoch in force, which is an older one after an undo; 0: none
	Shown  ShownView
	Parts  Parts // of the view, head included

	Unbound   int                           // thinking in messages before this one may no longer verify
	lastParts Parts                         // of the newest message
	born      map[transcript.BlockRef]*Fold // spilled at birth: what is never shown whole
	History   []EpochData                   // epochs and undos, oldest first
	Pinned    []string
	Notes     []transcript.Note
	Told      []conv.Narrative // digests by a model that can be used, newest last
	EpochSeq  uint64           // number of the newest epoch's entry
	pages     Writer           // writes the pages that stand for folded turns
}

// folded is a set of folds in force.
type Folded struct {
	spans  []*Fold // whole messages: ascending, disjoint
	blocks map[transcript.BlockRef]*Fold
	Bare   int // messages before this one are shown without thinking
}

// newFolding makes the folding of a conversation, with no fold in force.
func NewFolding(c *conv.Conversation, pages Writer) *Folding {
	s := &Folding{Conversation: c, pages: pages, born: make(map[transcript.BlockRef]*Fold), InUse: Folded{blocks: make(map[transcript.BlockRef]*Fold)}}
	c.Starts = s.stretchStarts
	return s
}

// record takes a new message in and shows it.
func (s *Folding) Record(m transcript.Message, shapes []conv.BlockShape, at conv.KeptMessage) {
	i := s.Transcript.Len()
	if m.Role() == transcript.RoleAssistant && (i == 0 || s.Facts[i-1].Role != transcript.RoleAssistant) {
		s.answered()
	}
	s.Add(m, shapes, at)
	s.show(i)
}

func (s *Folding) Pin(text string, remove bool) {
	s.Pinned = slices.DeleteFunc(s.Pinned, func(p string) bool { return p == text })
	if !remove {
		s.Pinned = append(s.Pinned, text)
	}
}

func (s *Folding) Note(n transcript.Note) {
	s.Notes = slices.DeleteFunc(s.Notes, func(o transcript.Note) bool { return o.Key == n.Key })
	if n.Text != "" {
		s.Notes = append(s.Notes, n)
	}
}

// stretchStarts are the places where the stretches begin that levers fold again and again:
// behind the system prompt, behind the head and behind what a [Starter] keeps.
func (s *Folding) stretchStarts() []int {
	starts := []int{s.Prompt()}
	if s.First != starts[0] {
		starts = append(starts, s.First)
	}
	if s.Policy == nil {
		return starts
	}
	for _, l := range slices.Concat(s.Policy.EveryTurn, s.Policy.AtRed) {
		if st, ok := l.(Starter); ok && st.Behind() > 0 {
			if at := s.behind(st.Behind()); !slices.Contains(starts, at) {
				starts = append(starts, at)
			}
		}
	}
	return starts
}

// behind is the first place behind n messages and the head that leaves rounds whole.
func (s *Folding) behind(n int) int {
	at := s.First
	if s.Policy.FoldHead {
		at = s.Prompt()
	}
	at = max(n, at)
	for r := range s.Transcript.AllRounds() {
		if r.Start >= at {
			break
		}
		at = max(at, r.End)
	}
	return at
}
