package fold

import (
	"cmp"
	"context"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// Birth is a message that is about to join the conversation. No model has seen it, and
// some of its results may be too large to be sent at all.
type Birth struct {
	Limits Limits // the session's

	ctx   context.Context // of reading earlier results
	err   error           // of it
	src   Source
	o     BirthOptions
	m     transcript.Message
	lever string
	folds []*Fold
	made  made
}

// BirthOptions tell [AtBirth] what is not in the conversation.
type BirthOptions struct {
	Limits Limits                     // the session's
	Folds  int                        // number of folds ever made
	Barred []string                   // levers that are not asked
	In     Set                        // the folds in force
	Shown  int                        // the first messages, which a view has shown: their results stay
	Recall func(handle string) string // how stubs say to get content back; nil: they do not
	// Keeps a plain copy and returns the name that it got; nil: none are kept.
	Keep func(name, text string) (kept string)
}

// MayFoldAtBirth reports whether levers might fold results of a new message before it is
// first sent. It is cheap and looks at the message alone; bytes has the size of each block. The
// error is that of a lever that panicked.
func (p *Policy) MayFoldAtBirth(
	m transcript.Message, bytes func(block int) int, lim Limits,
) (may bool, err error) {
	if len(p.AtBirth) == 0 {
		return false, nil
	}
	var sizes []int
	for i, b := range m.Blocks().All() {
		if r, ok := b.(transcript.ToolResult); ok {
			n := bytes(i)
			if hasImages(r) { // then bytes do not bound tokens
				n = math.MaxInt
			}
			sizes = append(sizes, n)
		}
	}
	for _, l := range p.AtBirth {
		if b, ok := l.(Birther); ok && len(sizes) > 0 {
			err = fault.Of(l, func() error { may = b.MayFold(sizes, lim); return nil })
			if may || err != nil {
				break
			}
		}
	}
	return may, err
}

func hasImages(r transcript.ToolResult) bool {
	for _, p := range r.Parts.All() {
		if p.Kind() != transcript.KindText {
			return true
		}
	}
	return false
}

// AtBirth returns folds of the results of a message that is about to join the conversation, and of those
// right before it that no view has shown. [Make] does not pull these levers, so a program that plans without
// a Session calls both. The error is that of a lever that panicked, or changed a fold after it was made, or of
// reading an earlier result.
func AtBirth(ctx context.Context, src Source, m transcript.Message, p *Policy, o BirthOptions) ([]*Fold, error) {
	b := &Birth{Limits: o.Limits, ctx: ctx, src: src, o: o, m: m, made: make(made)}
	for _, l := range p.AtBirth {
		if birther, ok := l.(Birther); ok {
			err := fault.Of(l, func() error {
				if b.lever = l.Name(); !slices.Contains(o.Barred, b.lever) {
					birther.Born(b)
				}
				return b.err
			})
			if err != nil {
				return nil, err
			}
			for _, f := range b.folds {
				if err := b.made.intact(b.lever, f); err != nil {
					return nil, err
				}
			}
		}
	}
	slices.SortStableFunc(b.folds, func(a, b *Fold) int { return cmp.Or(a.Start-b.Start, a.Block-b.Block) })
	for i, f := range b.folds {
		f.ID = o.Folds + i + 1
	}
	return b.folds, nil
}

// Earlier yields the results right before the message, with the number of characters that are shown of
// each: on some wires each result of a round is a message of its own.
func (b *Birth) Earlier() iter.Seq2[transcript.BlockRef, int] {
	return func(yield func(transcript.BlockRef, int) bool) {
		facts := b.src.Facts()
		start := len(facts)
		for start > 0 && facts.Has(start-1, transcript.KindToolResult) {
			start--
		}
		for i := start; i < len(facts); i++ {
			for k := range facts[i].Blocks {
				ref, n := transcript.BlockRef{Message: i, Block: k}, int(facts[i].Blocks[k].Chars)
				if f := b.o.In.Block(ref); f != nil {
					n = utf8.RuneCountInString(f.Stub)
				}
				if !yield(ref, n) {
					return
				}
			}
		}
	}
}

// Results yields the results of the message that may be folded, with the place of each.
func (b *Birth) Results() iter.Seq2[transcript.BlockRef, transcript.ToolResult] {
	return func(yield func(transcript.BlockRef, transcript.ToolResult) bool) {
		for i := range b.m.Blocks().Len() {
			ref := transcript.BlockRef{Message: len(b.src.Facts()), Block: i}
			if r, ok := b.Result(ref); ok && !yield(ref, r) {
				return
			}
		}
	}
}

// Result returns a result of the message, or one of [Birth.Earlier]. It reports false for one that may not be
// folded: because a view has shown it, or a fold stands for it.
func (b *Birth) Result(ref transcript.BlockRef) (r transcript.ToolResult, ok bool) {
	facts, blocks := b.src.Facts(), b.m.Blocks()
	switch {
	case ref.Block < 0 || ref.Message < max(b.o.Shown, 0) || ref.Message > len(facts):
	case ref.Message == len(facts):
		if ref.Block < blocks.Len() {
			r, ok = blocks.At(ref.Block).(transcript.ToolResult)
		}
	case ref.Block < len(facts[ref.Message].Blocks) && b.o.In.Block(ref) == nil:
		blk, err := b.src.Block(b.ctx, ref)
		if err != nil {
			b.err = err
		}
		r, ok = blk.(transcript.ToolResult)
	}
	return r, ok && foldable(r)
}

// foldable reports whether a result may be replaced by text. Parts that are neither text
// nor image may mean something to the provider (tool references load tools).
func foldable(r transcript.ToolResult) bool { return !r.Parts.Has(transcript.KindOpaque) }

// call returns the number in the ledger of the call that a result answers; 0 if it is not known.
func (b *Birth) call(ref transcript.BlockRef) int {
	if facts := b.src.Facts(); ref.Message < len(facts) {
		return int(facts.Block(ref).Call)
	}
	r, _ := b.Result(ref)
	return b.src.Ledger().Waiting(r.CallID)
}

// Call returns what is known of the call that a result answers; its tool is empty if none is.
func (b *Birth) Call(ref transcript.BlockRef) (f toolcall.CallFacts) {
	if n := b.call(ref); n > 0 {
		f = b.src.Ledger().Entry(n).CallFacts
	}
	return f
}

// Tokens counts a result's tokens.
func (b *Birth) Tokens(r transcript.ToolResult) int { return b.src.Tokens().CountBlock(r) }

// Stub returns pleat's own stub for a result, without a preview.
func (b *Birth) Stub(ref transcript.BlockRef, handle string) string {
	r, _ := b.Result(ref)
	whole := r.Text()
	st := stub{
		tool: "tool", lines: text.LineCount(whole), bytes: len(whole), handle: handle, recall: b.o.Recall, cut: true,
	}
	if n := b.call(ref); n > 0 {
		e := b.src.Ledger().Entry(n)
		e.ResultFacts = toolcall.DescribeResult(e.CallFacts, r)
		st.tool, st.args, st.outcome = e.Tool, e.Args, e.OutcomeText()
	}
	return st.text(b.src.Tokens().CountText)
}

// Where says how to get back what has no plain copy.
func (b *Birth) Where(handle string) string {
	if b.o.Recall == nil {
		return "the store of the session (" + handle + ")"
	}
	return b.o.Recall(handle)
}

// Fold replaces a result by what stub returns for its handle and the name of its plain copy, if
// that is shorter and not blank, and returns the fold, else nil, as for what [Birth.Result] does not
// return. The copy may get another name than the one given, as where that leads out of the
// folder, and has none where the session keeps no copies.
func (b *Birth) Fold(
	ref transcript.BlockRef, reason, name string, stub func(handle, kept string) string,
) *Fold {
	r, ok := b.Result(ref)
	if !ok {
		return nil
	}
	whole := r.Text()
	f := &Fold{
		Lever: b.lever, Reason: reason, Final: true,
		Start: ref.Message, End: ref.Message + 1, Block: ref.Block, Hash: transcript.HashOf(whole),
		Bytes: len(whole), Lines: text.LineCount(whole), Before: b.Tokens(r),
	}
	f.Handle = b.src.Handle(f.Hash, transcript.Place{Start: f.Start, End: f.End, Block: f.Block}).String()
	show := func(file string) bool {
		f.File, f.Stub = file, stub(f.Handle, file)
		f.After = b.src.Tokens().CountBlock(transcript.Result(r.CallID, f.Stub))
		f.Parts = Parts{Stubs: f.After}
		return f.After < f.Before && !text.Blank(f.Stub)
	}
	keep := name != "" && b.o.Keep != nil
	switch {
	case !keep:
		name = ""
	case !filepath.IsLocal(name) || strings.ContainsRune(name, 0): // it may be made of what came from outside
		name = transcript.HashOf(name).String()[:16]
	}
	if !show(name) || keep && !show(b.o.Keep(name, whole)) {
		return nil
	}
	b.folds = append(b.folds, f)
	b.made[f] = *f
	return f
}
