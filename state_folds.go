package pleat

import (
	"fmt"
	"math"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// use puts folds made at birth in force. They are of the newest message.
func (s *folding) use(folds []*Fold) {
	for _, f := range folds {
		s.keep(f)
		s.inUse.blocks[f.ref()] = f
		s.born[f.ref()] = f
	}
	s.rebuildLast()
}

// keep remembers a fold by its number, and its stretch by its handle.
func (s *folding) keep(f *Fold) {
	s.folds = append(s.folds, f)
	if f.whole() {
		s.index.add(f.Hash, Place{f.Start, f.End, -1})
	}
}

// enter opens an epoch: exactly the folds it lists are in force, and folds made at birth
// of messages that came after those it knew.
func (s *folding) enter(d epochData) error {
	for _, f := range d.Folds {
		s.keep(f)
	}
	for _, id := range d.InForce {
		if id < 1 || id > len(s.folds) {
			return fmt.Errorf("fold %d of epoch %d is missing: %w", id, d.Epoch, ErrCorrupt)
		}
	}
	s.inUse = s.setOf(d.InForce, d.Bare)
	s.epochs = max(s.epochs, d.Epoch)
	s.history = append(s.history, d)
	s.epoch = 0
	if at := s.inEffect(); len(at) > 0 {
		s.epoch = s.history[at[len(at)-1]].Epoch
	}
	if d.Undo {
		s.told = nil // the fold that showed it is not wanted
	}
	if d.DropThinking {
		s.unbound = d.Messages
	}
	if d.Cache.PaysAfter > 0 { // else the cache was cold
		s.spent.rewritten += d.Cache.Rewritten
	}
	s.rebuild()
	return nil
}

// setOf makes the set of folds with the given numbers.
func (s *folding) setOf(ids []int, bare int) folded {
	in := folded{blocks: make(map[BlockRef]*Fold), bare: bare}
	for _, id := range ids {
		f := s.folds[id-1]
		if f.whole() {
			in.spans = append(in.spans, f)
		} else {
			in.blocks[f.ref()] = f
		}
	}
	slices.SortFunc(in.spans, byPlace)
	return in
}

// inForce lists the numbers of the folds in a set, ascending.
func (in *folded) inForce() []int {
	ids := make([]int, 0, len(in.spans)+len(in.blocks))
	for _, f := range in.spans {
		ids = append(ids, f.ID)
	}
	for _, f := range in.blocks {
		ids = append(ids, f.ID)
	}
	sort.Ints(ids)
	return ids
}

func (s *folding) pin(text string, remove bool) {
	s.pinned = slices.DeleteFunc(s.pinned, func(p string) bool { return p == text })
	if !remove {
		s.pinned = append(s.pinned, text)
	}
}

func (s *folding) pins() []string { return s.pinned }

func (s *folding) note(n Note) {
	s.notes = slices.DeleteFunc(s.notes, func(o Note) bool { return o.Key == n.Key })
	if n.Text != "" {
		s.notes = append(s.notes, n)
	}
}

// maySpill reports whether a new message has results so large that some may have to be
// spilled. It knows the message only, and neither characters nor tokens are more than bytes.
func (s *folding) maySpill(m Message, shapes []blockShape, p *Policy, lim Limits) bool {
	if !slices.Contains(p.Levers, LeverSpill) {
		return false
	}
	least := p.Spill.Chars
	if least <= 0 {
		least = math.MaxInt
	}
	for _, chars := range p.Spill.Tools {
		if chars > 0 {
			least = min(least, chars)
		}
	}
	if p.Spill.Window > 0 {
		least = min(least, lim.Window/p.Spill.Window/4)
	}
	total := 0
	for i, b := range m.Blocks().All() {
		if b.Kind() == KindToolResult {
			if total += shapes[i].Bytes; shapes[i].Bytes > least || hasImages(b) {
				return true
			}
		}
	}
	return p.Spill.Message > 0 && total > p.Spill.Message
}

// hasImages reports whether a result holds more than text: then its bytes do not bound its
// tokens.
func hasImages(b Block) bool {
	r, _ := b.(ToolResult)
	for _, p := range r.Parts.All() {
		if p.Kind() != KindText {
			return true
		}
	}
	return false
}

// spills says which results of a new message are folded before it is first sent. The
// message is not recorded yet.
func (s *folding) spills(m Message, p *Policy, lim Limits, recall func(string) string) []*Fold {
	if !slices.Contains(p.Levers, LeverSpill) {
		return nil
	}
	at := s.t.Len()
	type big struct {
		block, chars int
		why          string
	}
	var results []big
	total := 0
	for b, blk := range m.Blocks().All() {
		r, ok := blk.(ToolResult)
		if !ok || !foldable(r) {
			continue
		}
		tool := s.toolOf(r.CallID)
		if slices.Contains(p.Spill.Exempt, tool) {
			continue
		}
		text := r.Text()
		c := big{b, utf8.RuneCountInString(text), ""}
		limit := p.Spill.Chars
		if n, ok := p.Spill.Tools[tool]; ok {
			limit = n
		}
		switch {
		case limit > 0 && c.chars > limit:
			c.why = fmt.Sprintf("more than %s characters", thousands(limit))
		case p.Spill.Window > 0 && s.count.CountBlock(r) > lim.Window/p.Spill.Window:
			c.why = fmt.Sprintf("more than 1/%d of the window", p.Spill.Window)
		default:
			total += c.chars
		}
		results = append(results, c)
	}
	if p.Spill.Message > 0 && total > p.Spill.Message { // the largest go first
		order := make([]int, len(results))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return results[b].chars - results[a].chars })
		for _, i := range order {
			if total <= p.Spill.Message {
				break
			}
			if results[i].why == "" {
				results[i].why = fmt.Sprintf("results of one message above %s characters", thousands(p.Spill.Message))
				total -= results[i].chars
			}
		}
	}
	var folds []*Fold
	for _, r := range results {
		if r.why == "" {
			continue
		}
		if f := s.spill(m, at, r.block, p, recall); f != nil {
			f.Reason, f.ID = r.why, len(s.folds)+len(folds)+1
			folds = append(folds, f)
		}
	}
	return folds
}

func (s *conversation) toolOf(callID string) string {
	if n := s.ledger.waiting(callID); n > 0 {
		return s.ledger.Entry(n).Tool
	}
	return ""
}

// spill makes the fold of one result: a stub with a preview.
func (s *folding) spill(m Message, at, block int, p *Policy, recall func(string) string) *Fold {
	r := m.Blocks().At(block).(ToolResult)
	text := r.Text()
	hash := HashOf(text)
	f := &Fold{
		Lever: LeverSpill, Start: at, End: at + 1, Block: block, Hash: hash,
		Handle: s.index.name(hash, Place{at, at + 1, block}).String(), Bytes: len(text), Lines: lineCount(text), Before: s.count.CountBlock(r),
	}
	head := clipRunes(text, p.Spill.Preview)
	if p.Spill.Format != "" {
		f.Stub = expand(p.Spill.Format, "{size}", kilobytes(len(text)), "{path}", spillFile(p.Spill.Dir, r.CallID),
			"{preview}", head, "{handle}", f.Handle)
	} else {
		f.Stub = s.spillStub(r, f, text, p.Spill.Preview, recall)
	}
	f.After = s.count.CountBlock(Result(r.CallID, f.Stub))
	f.Parts = Parts{Stubs: f.After}
	if f.After >= f.Before {
		return nil
	}
	return f
}

func (s *folding) spillStub(r ToolResult, f *Fold, text string, preview int, recall func(string) string) string {
	st := stub{tool: "tool", lines: f.Lines, bytes: f.Bytes, handle: f.Handle, recall: recall}
	if n := s.ledger.waiting(r.CallID); n > 0 {
		e := s.ledger.Entry(n)
		e.ResultFacts = DescribeResult(e.CallFacts, r)
		st.tool, st.args, st.outcome = e.Tool, e.Args, e.outcomeText()
	}
	// The end of an output says how it went, so it gets a quarter of the preview.
	head, tail := clipRunes(text, preview*3/4), cutEnd(text, preview/4)
	return fmt.Sprintf("%s\nIt begins:\n%s\n[…]\nIt ends:\n%s", st.text(s.count.CountText), head, tail)
}

// spillFile is where a policy keeps a spilled result. Ids come from outside, so only
// what cannot leave the folder is taken from them.
func spillFile(dir, callID string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, callID)
	return path.Join(dir, name+".txt")
}
