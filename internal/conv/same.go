package conv

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// Said is what a message says, or several in a row, as far as it tells two apart: who speaks,
// and the blocks, thinking and the content of images and of unknown blocks apart.
type Said struct {
	role   transcript.Role
	blocks []spoken
}

type spoken struct {
	role transcript.Role // of its message; of results there is no other
	kind transcript.Kind
	tool string // of a call
	hash transcript.Hash
	came transcript.Hash // of what a view replaced

	id      string // of a call, or of the call that a result answers
	any     bool   // the id is not known: a result that answers no call
	waits   bool   // a call that has no result yet
	sure    bool   // the id is known in the session
	cleared bool   // a result of a history that its client has cleared
	at      transcript.BlockRef
}

// says reports whether both say the same, whatever their ids, or the other is b's result, cleared.
func (b spoken) says(o spoken) bool {
	return b.role == o.role && b.kind == o.kind && b.tool == o.tool &&
		(b.hash == o.hash || b.came == o.hash || o.cleared && b.id == o.id && b.id != "")
}

// SaidIn returns what message i of a history says.
func SaidIn(m transcript.Message, i int) Said {
	out := Said{role: m.Role()}
	for k, s := range ShapesOf(m) {
		kind := m.Blocks().At(k).Kind()
		if kind != transcript.KindThinking && !emptyBeside(kind, s.Bytes, m.Blocks().Len()) {
			tool := text.OneLine(s.Name, 80) // as the ledger names it
			at := transcript.BlockRef{Message: i, Block: k}
			txt := strings.TrimSpace(transcript.BlockText(m.Blocks().At(k)))
			cleared := kind == transcript.KindToolResult && annotate.Cleared(txt)
			if call, ok := m.Blocks().At(k).(transcript.ToolCall); ok {
				s.Hash = inputHash(call.Input.String())
			}
			out.add(m.Role(), spoken{kind: kind, tool: tool, hash: s.Hash, id: s.ID, cleared: cleared, at: at})
		}
	}
	return out
}

// Cleared reports whether a message is an earlier one whose results a client has cleared since.
func Cleared(was, now transcript.Message) bool {
	said := SaidIn(now, 0)
	more, same := SaidIn(was, 0).Has(said, How{})
	return same && len(more) == 0 && slices.ContainsFunc(said.blocks, func(b spoken) bool { return b.cleared })
}

// inputHash is the hash of a call's input, the same for the same JSON object.
func inputHash(input string) transcript.Hash {
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(input))
	d.UseNumber()
	if utf8.ValidString(input) && json.Valid([]byte(input)) && d.Decode(&object) == nil && object != nil {
		if sorted, err := json.Marshal(object); err == nil {
			return transcript.HashOf(sorted)
		}
	}
	return transcript.HashOf(input)
}

// emptyBeside reports whether a block is an empty text beside others, which not every program keeps.
func emptyBeside(kind transcript.Kind, bytes, blocks int) bool {
	return kind == transcript.KindText && bytes == 0 && blocks > 1
}

func (s *Said) add(role transcript.Role, b spoken) {
	if b.role = role; b.kind == transcript.KindToolResult {
		b.role = transcript.RoleTool
	}
	s.blocks = append(s.blocks, b)
}

// Joined returns what some messages in a row say.
func Joined(list []Said) Said {
	all := Said{role: list[0].role}
	for _, s := range list {
		all.blocks = append(all.blocks, s.blocks...)
	}
	return all
}

// Len is the number of blocks.
func (s Said) Len() int { return len(s.blocks) }

// Equal reports whether both say the same, whatever their ids.
func (s Said) Equal(o Said) bool {
	return s.role == o.role && slices.EqualFunc(s.blocks, o.blocks, spoken.says)
}

// Fingerprint stands for what messages say.
func Fingerprint(said ...Said) transcript.Hash {
	all := sha256.New()
	for _, s := range said {
		h := sha256.New()
		h.Write([]byte(s.role))
		for _, b := range s.blocks {
			h.Write([]byte{0, byte(b.kind)})
			h.Write([]byte(b.tool))
			h.Write(b.hash[:])
		}
		all.Write(h.Sum(nil))
	}
	return transcript.Hash(all.Sum(nil))
}

// SaidAt returns what the messages start ≤ i < end say. It reads nothing from the store.
func (c *Conversation) SaidAt(start, end int) Said {
	out := Said{role: c.facts[start].Role}
	for i := start; i < end; i++ {
		for k := range c.facts[i].Blocks {
			c.addBlock(&out, i, k)
		}
	}
	return out
}

// Holds reports whether message i is in memory, and says the same as m, with the same ids.
func (c *Conversation) Holds(i int, m transcript.Message) bool {
	had, ok := c.Contents.Held(i)
	return ok && (had == m || had.Role() == m.Role() && SameBlocks(had.Blocks(), m.Blocks()))
}

// sameContent compares literals that no one has read as they are.
func sameContent(x, y transcript.Content) bool {
	a, escaped := x.Escaped()
	if b, both := y.Escaped(); escaped && both {
		return a == b
	}
	return x.String() == y.String()
}

// SameBlocks reports whether blocks have the same ids and contents. Images and unknown blocks are not looked
// into: their raw bytes are those of the message.
func SameBlocks(a, b transcript.Blocks) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i, x := range a.All() {
		if !sameBlock(x, b.At(i)) {
			return false
		}
	}
	return true
}

func sameBlock(x, y transcript.Block) bool {
	switch y := y.(type) {
	case transcript.Text:
		x, is := x.(transcript.Text)
		return is && sameContent(x.Text, y.Text)
	case transcript.Thinking:
		x, is := x.(transcript.Thinking)
		return is && sameContent(x.Text, y.Text) && x.Signature == y.Signature
	case transcript.ToolCall:
		x, is := x.(transcript.ToolCall)
		return is && x.ID == y.ID && x.Name == y.Name && x.Signed == y.Signed && sameContent(x.Input, y.Input)
	case transcript.ToolResult:
		x, is := x.(transcript.ToolResult)
		return is && x.CallID == y.CallID && x.Error == y.Error && SameBlocks(x.Parts, y.Parts)
	}
	return x.Kind() == y.Kind()
}

// SaidBy returns what a message of a view says. Where the view replaces what came, it says either.
func (c *Conversation) SaidBy(vm transcript.ViewMessage) Said {
	if vm.Source < 0 {
		return SaidIn(vm.Made, 0)
	}
	out, edits := Said{role: c.facts[vm.Source].Role}, vm.Edits
	for k := range c.facts[vm.Source].Blocks {
		if len(edits) == 0 || edits[0].Block != k {
			c.addBlock(&out, vm.Source, k)
			continue
		}
		if !edits[0].Drop {
			c.addBlock(&out, vm.Source, k)
			b := &out.blocks[len(out.blocks)-1]
			b.hash, b.came = transcript.HashOf(edits[0].Text), b.hash
			if b.kind == transcript.KindToolCall {
				b.hash = inputHash(edits[0].Text)
			}
		}
		edits = edits[1:]
	}
	return out
}

func (c *Conversation) addBlock(out *Said, i, k int) {
	bf := c.facts[i].Blocks[k]
	if bf.Kind == transcript.KindThinking || emptyBeside(bf.Kind, int(bf.Bytes), len(c.facts[i].Blocks)) {
		return
	}
	b := spoken{kind: bf.Kind, hash: bf.Hash}
	switch call := c.callState(int(bf.Call)); bf.Kind {
	case transcript.KindToolCall:
		b.tool, b.id = c.ledger.Entry(int(bf.Call)).Tool, call.ID
		b.hash = cmp.Or(c.inputs[int(bf.Call)], b.hash)
		b.waits = !call.Answered && i >= c.Rounds()[len(c.Rounds())-1].Start
	case transcript.KindToolResult:
		b.id, b.any = call.ID, bf.Call == 0
	}
	out.add(c.facts[i].Role, b)
}

// How says how much of a turn of a session a history may have: with nothing set, all and no more.
type How struct {
	Cut  bool // its beginning may be missing
	More bool // something may have been added
	Open bool // ids count only of calls that wait for a result: under another one, it would answer none

	Waits []string // ids of calls that wait for a result, if something may have been added
	// Renamed are the session's ids for those of the history, where results are those of the same call.
	Renamed map[string]string
}

// Renamed returns the ids of the calls in an answer for those that they have in another, which says
// the same.
func (s Said) Renamed(o Said) map[string]string {
	ids, twice := make(map[string]string), []string{""}
	for i, b := range s.blocks[:min(len(s.blocks), len(o.blocks))] {
		if b.kind != transcript.KindToolCall {
			continue
		}
		if _, ok := ids[o.blocks[i].id]; ok {
			twice = append(twice, o.blocks[i].id)
		}
		ids[o.blocks[i].id] = b.id
	}
	for _, id := range twice { // they tell no call from another
		delete(ids, id)
	}
	return ids
}

func (h How) rename(blocks []spoken) []spoken {
	if len(h.Renamed) == 0 {
		return blocks
	}
	blocks = slices.Clone(blocks)
	for i, b := range blocks {
		if id, ok := h.Renamed[b.id]; ok && b.kind == transcript.KindToolResult {
			blocks[i].id, blocks[i].sure = id, true
		}
	}
	return blocks
}

// Has compares a turn of a session with one of a history: it returns the blocks that only the
// history has, in order, and whether it has the others. The results of an answer have no order.
func (s Said) Has(o Said, how How) (more []transcript.BlockRef, ok bool) {
	if s.answers() != o.answers() {
		return nil, false
	}
	q := how.rename(o.blocks)
	known, ok := overlap(s.blocks, q, how)
	if !ok || known < len(q) {
		own, theirs := aligned(s.blocks, q, how.Cut)
		if n, all := overlap(own, theirs, how); all && (!ok || n > known) && follow(theirs[:n], theirs[n:], how.Waits) {
			q, known, ok = theirs, n, true
		}
	}
	if !ok {
		return nil, false
	}
	for _, b := range q[known:] {
		more = append(more, b.at)
	}
	slices.SortFunc(more, compareRefs)
	return more, true
}

// follow reports whether new blocks of a turn may stand behind those that are known: results
// of calls that wait for them, and others that do so in the history, too.
func follow(known, more []spoken, waits []string) bool {
	var last transcript.BlockRef
	for _, b := range known {
		if compareRefs(b.at, last) > 0 {
			last = b.at
		}
	}
	return !slices.ContainsFunc(more, func(b spoken) bool {
		if b.kind == transcript.KindToolResult {
			return !slices.Contains(waits, b.id)
		}
		return compareRefs(b.at, last) < 0
	})
}

func compareRefs(a, b transcript.BlockRef) int {
	return cmp.Or(cmp.Compare(a.Message, b.Message), cmp.Compare(a.Block, b.Block))
}

func (s Said) answers() bool { return s.role == transcript.RoleAssistant }

// overlap returns how many blocks of q are those at the end of p.
func overlap(p, q []spoken, how How) (known int, ok bool) {
	for skip := range len(p) + 1 {
		if n := len(p) - skip; n <= len(q) && (n == len(q) || how.More) && (n > 0 || skip == 0) {
			same := slices.EqualFunc(p[skip:], q[:n], func(b, o spoken) bool {
				return b.says(o) && (b.id == o.id || b.any || how.Open && !b.waits && !o.sure)
			})
			if same {
				return n, true
			}
		}
		if !how.Cut {
			break
		}
	}
	return 0, false
}

// aligned puts the results of p and q first, in the order of p. If the beginning of q may be
// missing, those of p that q does not have are left out.
func aligned(p, q []spoken, cut bool) (_, _ []spoken) {
	const unknown, last = 1 << 29, 1 << 30
	in := func(list []spoken) map[string]int {
		at := make(map[string]int)
		for i, b := range list {
			if b.kind == transcript.KindToolResult && !b.any {
				at[b.id] = i
			}
		}
		return at
	}
	own, theirs := in(p), in(q)
	place := func(b spoken) int {
		if b.kind != transcript.KindToolResult {
			return last
		}
		if i, ok := own[b.id]; ok {
			return i
		}
		return unknown
	}
	sorted := func(list []spoken) []spoken {
		byPlace := func(a, b spoken) int { return cmp.Compare(place(a), place(b)) }
		return slices.SortedStableFunc(slices.Values(list), byPlace)
	}
	if p = sorted(p); cut {
		p = slices.DeleteFunc(p, func(b spoken) bool {
			_, ok := theirs[b.id]
			return b.kind == transcript.KindToolResult && !ok
		})
	}
	return p, sorted(q)
}
