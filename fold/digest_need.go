package fold

import (
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// Planning asks, the session answers: where a model shall write a digest, the plan holds a
// need beside the page that code wrote. The session fetches the text, passes it through
// the gate, stores it, and plans again; planning finds it in the state. So planning stays
// pure, and a plan that nobody answers is complete as it is.

// need is a digest that a plan would be better with.
type Need struct {
	Start, End int // messages it shall tell of
	Room       int // tokens
	Focus      string
}

// narrated takes a stored digest in. A text that was not written for these messages is
// not used.
func (s *Folding) Narrated(n conv.Narrative) {
	if n.Text == "" || n.Start < 0 || n.End > s.Transcript.Len() || n.Start >= n.End || s.SourceHash(n.Start, n.End) != n.Source {
		return
	}
	s.Told = append(s.Told, n)
	if len(s.Told) > keptNarratives {
		s.Told = s.Told[1:]
	}
}

// keptNarratives is how many digests are remembered: the newest is used, the one before
// it may be the last that fits a focus.
const keptNarratives = 4

// narrativeFor is the newest digest that a page of messages before end can use; nil if
// there is none. One that was written with a focus serves only that focus.
func (s *Folding) narrativeFor(end int, focus string) *conv.Narrative {
	for i := len(s.Told) - 1; i >= 0; i-- {
		if n := &s.Told[i]; n.Focus == focus && n.Start < end && n.End <= s.Transcript.Len() {
			return n
		}
	}
	return nil
}

// fresh reports whether a digest needs no other beside it: it was written since the last
// epoch, or tells of nearly everything. What came after it code tells.
func (d *Draft) fresh(n *conv.Narrative, end int) bool {
	if n == nil || d.p.Digest.Trust {
		return n != nil && n.End == end
	}
	if n.End >= end || n.Seq > d.s.EpochSeq {
		return true
	}
	missing := 0
	for i := n.End; i < end; i++ {
		for b := range d.s.Facts[i].Blocks {
			missing += int(d.s.Facts[i].Blocks[b].Tokens)
		}
	}
	return missing < leastUpdate
}

// leastUpdate is the least number of tokens of new turns for which a digest is asked.
const leastUpdate = 1_000

// notesSayEnough reports whether the agent's notes, the user's words and the ledger name
// nearly everything that the assistant spoke of more than once in a stretch: then a
// summary would say the same again.
func (s *Folding) NotesSayEnough(start, end int) bool {
	if len(s.Notes) == 0 {
		return false
	}
	told := make(map[uint64]bool)
	tell := func(txt string) {
		for _, a := range text.AppendAnchors(nil, txt) {
			told[a.Hash] = true
		}
	}
	size := 0
	for _, n := range s.Notes {
		tell(n.Text)
		size += len(n.Text)
	}
	for _, w := range s.Words.Said() {
		tell(w.Text)
	}
	tell(s.Ledger.RenderWith(ledger.RenderOptions{UpTo: end, Budget: 2_000, Count: s.Count.CountText}))
	spoken := make(map[uint64]int)
	for i := start; i < end; i++ {
		if s.Facts[i].Role == transcript.RoleAssistant {
			for _, a := range text.AppendAnchors(nil, s.Transcript.At(i).Text()) {
				spoken[a.Hash]++
			}
		}
	}
	names, known := 0, 0
	for h, n := range spoken {
		if n > 1 {
			names++
			if told[h] {
				known++
			}
		}
	}
	return size >= leastNotes && known*10 >= names*9
}

// leastNotes is the least number of bytes of notes that can stand for a digest.
const leastNotes = 400

// digested reports whether a model's digest is there or can be asked for.
func (d *Draft) digested() bool {
	return d.model || d.s.narrativeFor(d.s.Transcript.Len(), d.focus) != nil
}

// ask notes that a model should write the digest of the stretch just folded.
func (d *Draft) ask(f *Fold, room int) {
	if !d.model || d.fresh(d.s.narrativeFor(f.End, d.focus), f.End) {
		return
	}
	if f.Before < leastUpdate {
		return // the turns themselves are as short as a digest
	}
	d.need = &Need{f.Start, f.End, d.narrativeRoom(room), d.focus}
	if !d.p.Digest.Trust {
		d.need.Room = min(d.need.Room, f.Before*2/3)
	}
}

// narrativeRoom is how many of a page's tokens are a model's.
func (d *Draft) narrativeRoom(page int) int {
	if d.p.Digest.Trust {
		return page
	}
	return max(page*2/3, 200)
}
