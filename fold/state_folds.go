package fold

import (
	"fmt"
	"math"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// use puts folds made at birth in force. They are of the newest message.
func (s *Folding) Use(folds []*Fold) {
	for _, f := range folds {
		s.keep(f)
		s.InUse.blocks[f.ref()] = f
		s.born[f.ref()] = f
	}
	s.rebuildLast()
}

// keep remembers a fold by its number, and its stretch by its handle.
func (s *Folding) keep(f *Fold) {
	s.Folds = append(s.Folds, f)
	if f.whole() {
		s.Index.Add(f.Hash, transcript.Place{Start: f.Start, End: f.End, Block: -1})
	}
}

// enter opens an epoch: exactly the folds it lists are in force, and folds made at birth
// of messages that came after those it knew.
func (s *Folding) Enter(d EpochData) error {
	for _, f := range d.Folds {
		s.keep(f)
	}
	for _, id := range d.InForce {
		if id < 1 || id > len(s.Folds) {
			return fmt.Errorf("fold %d of epoch %d is missing: %w", id, d.Epoch, store.ErrCorrupt)
		}
	}
	s.InUse = s.SetOf(d.InForce, d.Bare)
	s.Epochs = max(s.Epochs, d.Epoch)
	s.History = append(s.History, d)
	s.Epoch = 0
	if at := s.inEffect(); len(at) > 0 {
		s.Epoch = s.History[at[len(at)-1]].Epoch
	}
	if d.Undo {
		s.Told = nil // the fold that showed it is not wanted
	}
	if d.DropThinking {
		s.Unbound = d.Messages
	}
	if d.Cache.PaysAfter > 0 { // else the cache was cold
		s.spent.rewritten += d.Cache.Rewritten
	}
	s.Rebuild()
	return nil
}

// setOf makes the set of folds with the given numbers.
func (s *Folding) SetOf(ids []int, bare int) Folded {
	in := Folded{blocks: make(map[transcript.BlockRef]*Fold), Bare: bare}
	for _, id := range ids {
		f := s.Folds[id-1]
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
func (in *Folded) InForce() []int {
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

func (s *Folding) Pin(text string, remove bool) {
	s.Pinned = slices.DeleteFunc(s.Pinned, func(p string) bool { return p == text })
	if !remove {
		s.Pinned = append(s.Pinned, text)
	}
}

func (s *Folding) Pins() []string { return s.Pinned }

func (s *Folding) Note(n transcript.Note) {
	s.Notes = slices.DeleteFunc(s.Notes, func(o transcript.Note) bool { return o.Key == n.Key })
	if n.Text != "" {
		s.Notes = append(s.Notes, n)
	}
}

// maySpill reports whether a new message has results so large that some may have to be
// spilled. It knows the message only, and neither characters nor tokens are more than bytes.
func (s *Folding) MaySpill(m transcript.Message, shapes []conv.BlockShape, p *Policy, lim Limits) bool {
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
		if b.Kind() == transcript.KindToolResult {
			if total += shapes[i].Bytes; shapes[i].Bytes > least || hasImages(b) {
				return true
			}
		}
	}
	return p.Spill.Message > 0 && total > p.Spill.Message
}

// hasImages reports whether a result holds more than text: then its bytes do not bound its
// tokens.
func hasImages(b transcript.Block) bool {
	r, _ := b.(transcript.ToolResult)
	for _, p := range r.Parts.All() {
		if p.Kind() != transcript.KindText {
			return true
		}
	}
	return false
}

// spills says which results of a new message are folded before it is first sent. The
// message is not recorded yet.
func (s *Folding) Spills(m transcript.Message, p *Policy, lim Limits, recall func(string) string) []*Fold {
	if !slices.Contains(p.Levers, LeverSpill) {
		return nil
	}
	at := s.Transcript.Len()
	type big struct {
		block, chars int
		why          string
	}
	var results []big
	total := 0
	for b, blk := range m.Blocks().All() {
		r, ok := blk.(transcript.ToolResult)
		if !ok || !conv.Foldable(r) {
			continue
		}
		tool := s.ToolOf(r.CallID)
		if slices.Contains(p.Spill.Exempt, tool) {
			continue
		}
		txt := r.Text()
		c := big{b, utf8.RuneCountInString(txt), ""}
		limit := p.Spill.Chars
		if n, ok := p.Spill.Tools[tool]; ok {
			limit = n
		}
		switch {
		case limit > 0 && c.chars > limit:
			c.why = fmt.Sprintf("more than %s characters", text.Thousands(limit))
		case p.Spill.Window > 0 && s.Count.CountBlock(r) > lim.Window/p.Spill.Window:
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
				results[i].why = fmt.Sprintf("results of one message above %s characters", text.Thousands(p.Spill.Message))
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
			f.Reason, f.ID = r.why, len(s.Folds)+len(folds)+1
			folds = append(folds, f)
		}
	}
	return folds
}

// spill makes the fold of one result: a stub with a preview.
func (s *Folding) spill(m transcript.Message, at, block int, p *Policy, recall func(string) string) *Fold {
	r := m.Blocks().At(block).(transcript.ToolResult)
	txt := r.Text()
	hash := transcript.HashOf(txt)
	f := &Fold{
		Lever: LeverSpill, Start: at, End: at + 1, Block: block, Hash: hash,
		Handle: s.Index.Name(hash, transcript.Place{Start: at, End: at + 1, Block: block}).String(), Bytes: len(txt), Lines: text.LineCount(txt), Before: s.Count.CountBlock(r),
	}
	head := text.ClipRunes(txt, p.Spill.Preview)
	if p.Spill.Format != "" {
		f.Stub = expand(p.Spill.Format, "{size}", text.Kilobytes(len(txt)), "{path}", SpillFile(p.Spill.Dir, r.CallID),
			"{preview}", head, "{handle}", f.Handle)
	} else {
		f.Stub = s.spillStub(r, f, txt, p.Spill.Preview, recall)
	}
	f.After = s.Count.CountBlock(transcript.Result(r.CallID, f.Stub))
	f.Parts = Parts{Stubs: f.After}
	if f.After >= f.Before {
		return nil
	}
	return f
}

func (s *Folding) spillStub(r transcript.ToolResult, f *Fold, txt string, preview int, recall func(string) string) string {
	st := stub{tool: "tool", lines: f.Lines, bytes: f.Bytes, handle: f.Handle, recall: recall}
	if n := s.Ledger.Waiting(r.CallID); n > 0 {
		e := s.Ledger.Entry(n)
		e.ResultFacts = toolcall.DescribeResult(e.CallFacts, r)
		st.tool, st.args, st.outcome = e.Tool, e.Args, e.OutcomeText()
	}
	// The end of an output says how it went, so it gets a quarter of the preview.
	head, tail := text.ClipRunes(txt, preview*3/4), text.CutEnd(txt, preview/4)
	return fmt.Sprintf("%s\nIt begins:\n%s\n[…]\nIt ends:\n%s", st.text(s.Count.CountText), head, tail)
}

// spillFile is where a policy keeps a spilled result. Ids come from outside, so only
// what cannot leave the folder is taken from them.
func SpillFile(dir, callID string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, callID)
	return path.Join(dir, name+".txt")
}
