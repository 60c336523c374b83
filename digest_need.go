package pleat

import (
	"crypto/sha256"
	"encoding/binary"
)

// Planning asks, the session answers: where a model shall write a digest, the plan holds a
// need beside the page that code wrote. The session fetches the text, passes it through
// the gate, stores it, and plans again; planning finds it in the state. So planning stays
// pure, and a plan that nobody answers is complete as it is.

// need is a digest that a plan would be better with.
type need struct {
	start, end int // messages it shall tell of
	room       int // tokens
	focus      string
}

// narrative is a model's digest, checked: what the state knows of one.
type narrative struct {
	start, end int    // messages it tells of
	focus      string // what it was written for; empty: nothing in particular
	text       string
	tokens     int
	source     Hash   // of the messages it tells of
	seq        uint64 // number of its entry
}

// sourceHash stands for messages start ≤ i < end: a digest is used only for the messages
// it was written for, whoever wrote it and whenever.
func (s *conversation) sourceHash(start, end int) Hash {
	h := sha256.New()
	var n [8]byte
	for i := start; i < end; i++ {
		f := &s.facts[i]
		binary.LittleEndian.PutUint32(n[:4], uint32(len(f.blocks)))
		binary.LittleEndian.PutUint32(n[4:], uint32(len(f.role)))
		h.Write(n[:])
		h.Write([]byte(f.role))
		for b := range f.blocks {
			h.Write([]byte{byte(f.blocks[b].kind)})
			h.Write(f.blocks[b].hash[:])
		}
	}
	return Hash(h.Sum(nil))
}

// narrated takes a stored digest in. A text that was not written for these messages is
// not used.
func (s *folding) narrated(n narrative) {
	if n.text == "" || n.start < 0 || n.end > s.t.Len() || n.start >= n.end || s.sourceHash(n.start, n.end) != n.source {
		return
	}
	s.told = append(s.told, n)
	if len(s.told) > keptNarratives {
		s.told = s.told[1:]
	}
}

// keptNarratives is how many digests are remembered: the newest is used, the one before
// it may be the last that fits a focus.
const keptNarratives = 4

// narrativeFor is the newest digest that a page of messages before end can use; nil if
// there is none. One that was written with a focus serves only that focus.
func (s *folding) narrativeFor(end int, focus string) *narrative {
	for i := len(s.told) - 1; i >= 0; i-- {
		if n := &s.told[i]; n.focus == focus && n.start < end && n.end <= s.t.Len() {
			return n
		}
	}
	return nil
}

// fresh reports whether a digest needs no other beside it: it was written since the last
// epoch, or tells of nearly everything. What came after it code tells.
func (d *draft) fresh(n *narrative, end int) bool {
	if n == nil || d.p.Digest.Trust {
		return n != nil && n.end == end
	}
	if n.end >= end || n.seq > d.s.epochSeq {
		return true
	}
	missing := 0
	for i := n.end; i < end; i++ {
		for b := range d.s.facts[i].blocks {
			missing += int(d.s.facts[i].blocks[b].tokens)
		}
	}
	return missing < leastUpdate
}

// leastUpdate is the least number of tokens of new turns for which a digest is asked.
const leastUpdate = 1_000

// notesSayEnough reports whether the agent's notes, the user's words and the ledger name
// nearly everything that the assistant spoke of more than once in a stretch: then a
// summary would say the same again.
func (s *folding) notesSayEnough(start, end int) bool {
	if len(s.notes) == 0 {
		return false
	}
	told := make(map[uint64]bool)
	tell := func(text string) {
		for _, a := range appendAnchors(nil, text) {
			told[a.hash] = true
		}
	}
	size := 0
	for _, n := range s.notes {
		tell(n.Text)
		size += len(n.Text)
	}
	for _, w := range s.words.Said() {
		tell(w.Text)
	}
	tell(s.ledger.render(ledgerRender{upTo: end, budget: 2_000, count: s.count.CountText}))
	spoken := make(map[uint64]int)
	for i := start; i < end; i++ {
		if s.facts[i].role == RoleAssistant {
			for _, a := range appendAnchors(nil, s.t.At(i).Text()) {
				spoken[a.hash]++
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
func (d *draft) digested() bool {
	return d.model || d.s.narrativeFor(d.s.t.Len(), d.focus) != nil
}

// ask notes that a model should write the digest of the stretch just folded.
func (d *draft) ask(f *Fold, room int) {
	if !d.model || d.fresh(d.s.narrativeFor(f.End, d.focus), f.End) {
		return
	}
	if f.Before < leastUpdate {
		return // the turns themselves are as short as a digest
	}
	d.need = &need{f.Start, f.End, d.narrativeRoom(room), d.focus}
	if !d.p.Digest.Trust {
		d.need.room = min(d.need.room, f.Before*2/3)
	}
}

// narrativeRoom is how many of a page's tokens are a model's.
func (d *draft) narrativeRoom(page int) int {
	if d.p.Digest.Trust {
		return page
	}
	return max(page*2/3, 200)
}
