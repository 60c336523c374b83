package library

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Planned are the options of a session that is folded to one budget after the other for people
// to look at. What it spills at birth must not depend on any of them: results that are too
// large now may fit then.
func Planned(p fold.Policy, count *tokens.Tokenizer) pleat.Options {
	p.Budget.Window = 0
	p.AtBirth = fold.Change(p.AtBirth, func(s *lever.Spill) { s.Window = 0 })
	return pleat.Options{
		Policy: p, Codecs: Codecs(), Tokens: count,
		Recall: func(handle string) string { return "pleat unfold " + handle },
	}
}

// Counter is the tokenizer that the engine would make by itself. Sessions that share it count
// each message once.
func Counter(p fold.Policy, m model.Model) *tokens.Tokenizer {
	var o tokens.Options
	if n := p.CharsPerToken; n > 0 {
		o.Counter = tokens.CharsPerToken(n)
	}
	return tokens.NewTokenizer(m, &o)
}

// Report is the report of a session for people, who read one kind of tokens: all but the parts of its
// snapshot is in the provider's, and folds count all that was said where they stand.
func Report(s *pleat.Session) pleat.Report {
	report, piece := s.Report(), Piece(s)
	report.Whole = int(report.Snapshot.Whole)
	for i := range report.Epochs {
		e := &report.Epochs[i]
		e.Before, e.After = int(inside.Of(s).ProviderTokens(e.Before)), int(inside.Of(s).ProviderTokens(e.After))
	}
	report.Cache.Removed, report.Cache.Rewritten = piece(report.Cache.Removed), piece(report.Cache.Rewritten)
	for i, f := range report.Folds {
		report.Folds[i] = Told(s, f, piece)
	}
	return report
}

// Scale is what a token by pleat's count is of the provider's, judging by what this reported, and
// how many the provider adds to every prompt.
func Scale(s *pleat.Session) (scale float64, added int) {
	own, none := s.Report().Whole, inside.Of(s).ProviderTokens(0)
	return float64(inside.Of(s).ProviderTokens(own)-none) / float64(max(own, 1)), int(none)
}

// Piece counts a piece of a session, which has so many tokens by pleat's count, in the provider's.
// What the provider adds to every prompt is no part of it.
func Piece(s *pleat.Session) func(tokens int) int {
	scale, _ := Scale(s)
	return func(n int) int { return int(math.Round(float64(n) * scale)) }
}

// Scaled is the model of a session that was opened with [Info.Look], counted in the provider's tokens:
// its messages have as many as [Piece] says, unless this cannot be true.
func Scaled(ctx context.Context, s *pleat.Session, m model.Model) (model.Model, error) {
	scale, _ := Scale(s)
	if scale == 1 {
		return m, nil
	}
	none := m // counts what no ratio changes, such as what is wrapped around messages
	none.Tokenizer.Ratio = 1e-12
	count, fixed := tokens.NewTokenizer(none, nil), 0
	for i := range s.Len() {
		msg, err := s.Message(ctx, i)
		if err != nil {
			return m, err
		}
		fixed += count.CountMessage(msg)
	}
	own := s.Tokens(0, s.Len())
	ratio := cmp.Or(m.Tokenizer.Ratio, 1) * (scale*float64(own) - float64(fixed)) / float64(max(own-fixed, 1))
	if ratio >= 0.1 && ratio <= 10 {
		m.Tokenizer.Ratio = ratio
	}
	return m, nil
}

// Told is a fold with the tokens of all that was said where it stands: other levers may have folded
// some of a stretch when it was planned.
func Told(s *pleat.Session, f *fold.Fold, piece func(tokens int) int) *fold.Fold {
	told := *f
	if f.Whole() {
		told.Before = s.Tokens(f.Start, f.End)
	}
	told.Before, told.After = piece(told.Before), piece(told.After)
	return &told
}

// Look returns the options for opening a session only to look at it: its tokens are counted, and its
// window is the one that it was created with.
func (i Info) Look() pleat.Options {
	m, _ := model.DefaultModels().Lookup(i.Model)
	if i.Model == "rehearsal" {
		m = model.Model{ID: i.Model} // which is in no table
	}
	m.Tokenizer.Ratio = cmp.Or(i.ratio, m.Tokenizer.Ratio)
	return pleat.Options{Model: m, Budget: i.Budget, Codecs: Codecs()}
}

// Levers says what the levers fold, for people.
var Levers = map[string]string{
	"spill": "too large to show whole", "shorten": "long message cut", "supersede": "out of date or repeated",
	"collapse": "finished stretch of work", "mask": "old result", "snip": "middle of the session",
	"digest": "old turns as a page", "summarize": "old turns as a summary",
	"squeeze": "cut further, to fit", "truncate": "oldest half dropped",
}

// Triggers explains why epochs open, for people.
var Triggers = map[fold.Trigger]string{
	fold.TriggerRed:     "the window is nearly full",
	fold.TriggerAsked:   "asked for",
	fold.TriggerRefused: "the provider said it is too long",
	fold.TriggerPays:    "it saves money",
	fold.TriggerIdle:    "the cache is cold",
	fold.TriggerCliff:   "a price step is near",
	fold.TriggerTurn:    "the policy folds before every request",
	fold.TriggerIllegal: "the provider would refuse what was sent before",
}

// LeverShare is what one lever did.
type LeverShare struct {
	Lever  string `json:"lever"`
	Folds  int    `json:"folds"`
	Before int    `json:"tokens_before"`
	After  int    `json:"tokens_after"`
}

// ByLever sums up folds by lever, in the order in which the levers are pulled.
func ByLever(folds []*fold.Fold) []LeverShare {
	list := []LeverShare{}
	for _, f := range folds {
		i := slices.IndexFunc(list, func(s LeverShare) bool { return s.Lever == f.Lever })
		if i < 0 {
			i = len(list)
			list = append(list, LeverShare{Lever: f.Lever})
		}
		list[i].Folds++
		list[i].Before += f.Before
		list[i].After += f.After
	}
	order := fold.Steps(lever.All()).Names()
	slices.SortStableFunc(list, func(a, b LeverShare) int {
		return cmp.Compare(slices.Index(order, a.Lever), slices.Index(order, b.Lever))
	})
	return list
}

// Whats maps every tool result to a description of its call.
func Whats(s *pleat.Session) map[transcript.BlockRef]string {
	whats := make(map[transcript.BlockRef]string)
	for _, e := range s.Ledger(ledger.Filter{}) {
		if e.Outcome != toolcall.Unanswered {
			whats[e.Result] = e.Tool + " " + e.Args
		}
	}
	return whats
}

// Hiding finds the fold that a block is in; nil: none.
func Hiding(folds []*fold.Fold, ref transcript.BlockRef) *fold.Fold {
	for _, f := range folds {
		if ref.Message >= f.Start && ref.Message < f.End && (f.Block < 0 || f.Block == ref.Block) {
			return f
		}
	}
	return nil
}
