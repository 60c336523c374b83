package fold

import (
	"iter"
	"math"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// Birth is a message that is about to join the conversation. No model has seen it, and
// some of its results may be too large to be sent at all.
type Birth struct {
	Message transcript.Message
	Limits  Limits

	s     *Folding
	lever string
	folds []*Fold
}

// MayFoldAtBirth reports whether levers might fold results of a new message before it is
// first sent. It is cheap and looks at the message alone.
func (s *Folding) MayFoldAtBirth(m transcript.Message, shapes []conv.BlockShape, p *Policy, lim Limits) bool {
	if len(p.AtBirth) == 0 {
		return false
	}
	var bytes []int
	for i, b := range m.Blocks().All() {
		if r, ok := b.(transcript.ToolResult); ok {
			n := shapes[i].Bytes
			if hasImages(r) { // then bytes do not bound tokens
				n = math.MaxInt
			}
			bytes = append(bytes, n)
		}
	}
	if len(bytes) == 0 {
		return false
	}
	for _, l := range p.AtBirth {
		if b, ok := l.(Birther); ok && b.MayFold(bytes, lim) {
			return true
		}
	}
	return false
}

func hasImages(r transcript.ToolResult) bool {
	for _, p := range r.Parts.All() {
		if p.Kind() != transcript.KindText {
			return true
		}
	}
	return false
}

// AtBirth returns folds of the results of a new message, which is not recorded yet.
func (s *Folding) AtBirth(m transcript.Message, p *Policy, lim Limits) []*Fold {
	b := &Birth{Message: m, Limits: lim, s: s}
	for _, l := range p.AtBirth {
		if birther, ok := l.(Birther); ok {
			b.lever = l.Name()
			birther.Born(b)
		}
	}
	return b.folds
}

// Results yields the results that may be folded, with the position of each block.
func (b *Birth) Results() iter.Seq2[int, transcript.ToolResult] {
	return func(yield func(int, transcript.ToolResult) bool) {
		for i, blk := range b.Message.Blocks().All() {
			if r, ok := blk.(transcript.ToolResult); ok && conv.Foldable(r) && !yield(i, r) {
				return
			}
		}
	}
}

// Tool returns the name of the tool that a result came from; empty if it is not known.
func (b *Birth) Tool(r transcript.ToolResult) string { return b.s.ToolOf(r.CallID) }

// Tokens counts a result's tokens.
func (b *Birth) Tokens(r transcript.ToolResult) int { return b.s.Count.CountBlock(r) }

// Stub returns pleat's own stub for a result, without a preview.
func (b *Birth) Stub(r transcript.ToolResult, handle string) string {
	whole := r.Text()
	st := stub{tool: "tool", lines: text.LineCount(whole), bytes: len(whole), handle: handle, recall: b.s.Recall, cut: true}
	if n := b.s.Ledger.Waiting(r.CallID); n > 0 {
		e := b.s.Ledger.Entry(n)
		e.ResultFacts = toolcall.DescribeResult(e.CallFacts, r)
		st.tool, st.args, st.outcome = e.Tool, e.Args, e.OutcomeText()
	}
	return st.text(b.s.Count.CountText)
}

// Keep keeps a plain copy of a result and returns the name that it got; empty: the session
// keeps none.
func (b *Birth) Keep(name string, r transcript.ToolResult) string {
	if b.s.KeepFile == nil {
		return ""
	}
	return b.s.KeepFile(name, r.Text())
}

// Where says how to get back what has no plain copy.
func (b *Birth) Where(handle string) string {
	if b.s.Recall == nil {
		return "handle " + handle
	}
	return b.s.Recall(handle)
}

// Fold replaces a result by what stub returns for its handle, if that is shorter. File, if
// it is not empty, is where its plain copy is.
func (b *Birth) Fold(block int, reason, file string, stub func(handle string) string) {
	r := b.Message.Blocks().At(block).(transcript.ToolResult)
	whole := r.Text()
	at, hash := b.s.Transcript.Len(), transcript.HashOf(whole)
	f := &Fold{
		ID: len(b.s.Folds) + len(b.folds) + 1, Lever: b.lever, Reason: reason, File: file,
		Start: at, End: at + 1, Block: block, Hash: hash,
		Handle: b.s.Index.Name(hash, transcript.Place{Start: at, End: at + 1, Block: block}).String(),
		Bytes:  len(whole), Lines: text.LineCount(whole), Before: b.s.Count.CountBlock(r),
	}
	f.Stub = stub(f.Handle)
	f.After = b.s.Count.CountBlock(transcript.Result(r.CallID, f.Stub))
	f.Parts = Parts{Stubs: f.After}
	if f.After < f.Before {
		b.folds = append(b.folds, f)
	}
}
