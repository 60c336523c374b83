package fold

import (
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
	Message transcript.Message
	Limits  Limits // the session's

	src   Source
	o     BirthOptions
	m     transcript.Message // Message, which a lever can change
	lever string
	folds []*Fold
	made  made
}

// BirthOptions tell [AtBirth] what is not in the conversation.
type BirthOptions struct {
	Limits Limits                     // the session's
	Folds  int                        // number of folds ever made
	In     Set                        // the folds in force
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

// AtBirth returns folds of the results of a message that is about to join the conversation. The
// error is that of a lever that panicked, or changed a fold after it was made.
func AtBirth(src Source, m transcript.Message, p *Policy, o BirthOptions) ([]*Fold, error) {
	b := &Birth{Message: m, Limits: o.Limits, src: src, o: o, m: m, made: make(made)}
	for _, l := range p.AtBirth {
		if birther, ok := l.(Birther); ok {
			err := fault.Of(l, func() error {
				b.lever = l.Name()
				birther.Born(b)
				return nil
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
	slices.SortStableFunc(b.folds, func(a, b *Fold) int { return a.Block - b.Block })
	for i, f := range b.folds {
		f.ID = o.Folds + i + 1
	}
	return b.folds, nil
}

// Earlier counts the characters that are shown of the results right before the message: on
// some wires each result of a round is a message of its own.
func (b *Birth) Earlier() (chars int) {
	facts := b.src.Facts()
	for i := len(facts) - 1; i >= 0 && facts.Has(i, transcript.KindToolResult); i-- {
		for k := range facts[i].Blocks {
			n := int(facts[i].Blocks[k].Chars)
			if f := b.o.In.Block(transcript.BlockRef{Message: i, Block: k}); f != nil {
				n = utf8.RuneCountInString(f.Stub)
			}
			chars += n
		}
	}
	return chars
}

// Results yields the results that may be folded, with the position of each block.
func (b *Birth) Results() iter.Seq2[int, transcript.ToolResult] {
	return func(yield func(int, transcript.ToolResult) bool) {
		for i, blk := range b.m.Blocks().All() {
			if r, ok := blk.(transcript.ToolResult); ok && foldable(r) && !yield(i, r) {
				return
			}
		}
	}
}

// foldable reports whether a result may be replaced by text. Parts that are neither text
// nor image may mean something to the provider (tool references load tools).
func foldable(r transcript.ToolResult) bool { return !r.Parts.Has(transcript.KindOpaque) }

// Tool returns the name of the tool that a result came from; empty if it is not known.
func (b *Birth) Tool(r transcript.ToolResult) string {
	if n := b.src.Ledger().Waiting(r.CallID); n > 0 {
		return b.src.Ledger().Entry(n).Tool
	}
	return ""
}

// Tokens counts a result's tokens.
func (b *Birth) Tokens(r transcript.ToolResult) int { return b.src.Tokens().CountBlock(r) }

// Stub returns pleat's own stub for a result, without a preview.
func (b *Birth) Stub(r transcript.ToolResult, handle string) string {
	whole := r.Text()
	st := stub{
		tool: "tool", lines: text.LineCount(whole), bytes: len(whole), handle: handle, recall: b.o.Recall, cut: true,
	}
	if n := b.src.Ledger().Waiting(r.CallID); n > 0 {
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
// that is shorter and not blank, and returns the fold, else nil, as for a block that is not among
// [Birth.Results]. The copy may get another name than the one given, as where that leads out of the
// folder, and has none where the session keeps no copies.
func (b *Birth) Fold(block int, reason, name string, stub func(handle, kept string) string) *Fold {
	if block < 0 || block >= b.m.Blocks().Len() {
		return nil
	}
	r, ok := b.m.Blocks().At(block).(transcript.ToolResult)
	if !ok || !foldable(r) {
		return nil
	}
	whole := r.Text()
	at := len(b.src.Facts())
	f := &Fold{
		Lever: b.lever, Reason: reason, Final: true,
		Start: at, End: at + 1, Block: block, Hash: transcript.HashOf(whole),
		Bytes: len(whole), Lines: text.LineCount(whole), Before: b.Tokens(r),
	}
	f.Handle = b.src.Handle(f.Hash, transcript.Place{Start: at, End: at + 1, Block: block}).String()
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
