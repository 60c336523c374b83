package fold

import (
	"maps"
	"slices"
	"sort"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// Folding is a conversation and the folds in force: what a view is computed from.
type Folding struct {
	*conv.Conversation
	Recall     func(handle string) string // how stubs say to get content back; nil: they do not
	Head       Parts                      // system and tools
	ThinkFirst bool                       // a turn with open calls must begin with thinking: no cut inside one may leave it without
	Policy     *Policy                    // says which stretches will be folded, and so measured; nil: not known
	// KeepFile keeps a plain copy and returns the name that it got; nil: none are kept.
	KeepFile func(name, text string) string

	// In a fork, the results behind the newest mark or view were never shown, also those that
	// an answer follows: another session had them.
	Forked bool
	Marked int // number of messages before the newest mark or view

	answers int // requests that were answered: runs of assistant messages
	heard   int // number of messages before the newest of them
	asked   int // of those, how many this session has shown
	spent   spending

	Folds  []*Fold // every fold ever made; Folds[i] has the number i+1
	InUse  Folded
	Epochs int // number of the newest epoch
	Epoch  int // number of the epoch in force, which is an older one after an undo; 0: none
	Shown  ShownView
	Parts  Parts // of the view, head included

	Unbound   int                           // thinking in messages before this one may no longer verify
	lastParts Parts                         // of the newest message
	born      map[transcript.BlockRef]*Fold // made at birth: these blocks were never shown whole
	History   []EpochData                   // epochs and undos, oldest first
	Pinned    []string
	Notes     []transcript.Note
	Told      []conv.Narrative // digests by a model that can be used, newest last
	EpochSeq  uint64           // number of the newest epoch's entry
	pages     Writer           // writes the pages that stand for folded turns
}

// Folded is a set of folds.
type Folded struct {
	spans  []*Fold // whole messages: ascending, disjoint
	blocks map[transcript.BlockRef]*Fold
	Bare   int // messages before this one are shown without thinking
}

// NewFolding returns the folding of a conversation, with no fold in force.
func NewFolding(c *conv.Conversation, pages Writer) *Folding {
	s := &Folding{Conversation: c, pages: pages, born: make(map[transcript.BlockRef]*Fold), InUse: Folded{blocks: make(map[transcript.BlockRef]*Fold)}}
	c.Starts = s.stretchStarts
	return s
}

// Record adds a new message and shows it.
func (s *Folding) Record(m transcript.Message, shapes []conv.BlockShape, at conv.KeptMessage) {
	i := s.Transcript.Len()
	if m.Role() == transcript.RoleAssistant && (i == 0 || s.Facts[i-1].Role != transcript.RoleAssistant) {
		s.answered()
	}
	s.Add(m, shapes, at)
	s.show(i)
}

// LastRole is the role of the newest message; empty: there is none.
func (s *Folding) LastRole() transcript.Role {
	if n := len(s.Facts); n > 0 {
		return s.Facts[n-1].Role
	}
	return ""
}

// Pin adds a text that every view must hold, or removes it.
func (s *Folding) Pin(text string, remove bool) {
	s.Pinned = slices.DeleteFunc(s.Pinned, func(p string) bool { return p == text })
	if !remove {
		s.Pinned = append(s.Pinned, text)
	}
}

// Note sets the note with that key. An empty text removes it.
func (s *Folding) Note(n transcript.Note) {
	s.Notes = slices.DeleteFunc(s.Notes, func(o transcript.Note) bool { return o.Key == n.Key })
	if n.Text != "" {
		s.Notes = append(s.Notes, n)
	}
}

// stretchStarts lists where the stretches begin that levers fold in every epoch: behind the
// system prompt, behind the head and behind what a [Starter] keeps.
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

// reaching returns the first of the folded stretches that ends after place i.
func (in *Folded) reaching(i int) int {
	return sort.Search(len(in.spans), func(k int) bool { return in.spans[k].End > i })
}

func (in *Folded) covered(i int) bool {
	k := in.reaching(i)
	return k < len(in.spans) && in.spans[k].Start <= i
}

// past returns the first message from i on that is not part of a folded stretch.
func (in *Folded) past(i int) int {
	k := in.reaching(i)
	for ; k < len(in.spans) && in.spans[k].Start <= i; k++ {
		i = in.spans[k].End
	}
	return i
}

// inside returns which folded stretches lie in start ≤ i < end, empty ones at both ends
// included.
func (in *Folded) inside(start, end int) (from, to int) {
	from = sort.Search(len(in.spans), func(k int) bool { return in.spans[k].Start >= start })
	to = from
	for to < len(in.spans) && in.spans[to].End <= end {
		to++
	}
	return from, to
}

// clone returns a set that can be changed without changing this one.
func (in *Folded) clone() Folded {
	return Folded{spans: slices.Clone(in.spans), blocks: maps.Clone(in.blocks), Bare: in.Bare}
}
