package dash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/tokens"
)

// planPage shows what would be folded at a budget, beside the agent's own compaction.
type planPage struct {
	Budget  int
	Least   int
	Most    int
	Step    int
	Begins  string // where the slider begins, and why
	Outcome outcome
	Agent   []compaction // the newest first, a few
}

// outcome is a plan for people.
type outcome struct {
	Before  int
	After   int
	Kept    int     // of these, tokens that were said so
	Price   float64 // of a request with this view, without its answer; 0: not known
	Cached  float64 // the same if the cache has it
	Parts   []share
	Levers  []library.LeverShare
	Saved   int       // tokens
	Folds   []foldRow // those that save most
	All     int       // folds
	Warning string
	Problem string // why there is no plan
}

// compaction is one that the agent made by itself, with the beginning of its summary.
type compaction struct {
	sessionlog.Compaction
	Before int // tokens of the window then, if the file says; otherwise of the messages before it
	After  int // tokens of the summary
}

// planOf reads the form. A budget that it leaves open is where the session's own window
// forces folding, if the session came so far.
func planOf(r *http.Request, rep pleat.Report, own library.Window) *planPage {
	lim := rep.Snapshot.Limits
	whole, start, window := rep.Whole, int(lim.Red), int(lim.Window)
	if own.Size > 0 { // of the model's window
		start, window = int(int64(start)*int64(own.Size)/int64(max(window, 1))), own.Size
	}
	p := &planPage{Most: roomAbove(max(whole, 2000))}
	p.Step = max(roomAbove(p.Most/200), 100)
	p.Least = (1000 + p.Step - 1) / p.Step * p.Step // the slider goes in steps from here
	why := "It begins where the session's window of %s tokens forces folding."
	if whole <= start {
		start = whole / 2
		why = "It begins at half of the session, since all of it fits into its window of %s tokens."
	}
	p.Begins = fmt.Sprintf(why, text.Short(window))
	budget, _ := text.Tokens(r.URL.Query().Get("budget"))
	if budget <= 0 {
		budget = start
	}
	p.Budget = min(max(budget/p.Step*p.Step, p.Least), p.Most)
	return p
}

func (h *Handler) plan(r *http.Request, f *frame, s *pleat.Session) error {
	own, err := h.own(r.Context(), f, s)
	if err != nil {
		return err
	}
	p := planOf(r, s.Report(), own)
	count := h.o.Library.Counter(f.Item.Look().Model)
	for _, c := range slices.Backward(own.Compactions[max(len(own.Compactions)-mostCompacted, 0):]) {
		before := cmp.Or(c.PreTokens, int(inside.Of(s).ProviderTokens(s.Tokens(0, min(c.At, s.Len())))))
		after := count.CountText(c.Summary)
		c.Summary = text.CutText(clean(c.Summary), firstBytes)
		p.Agent = append(p.Agent, compaction{c, before, after})
	}
	p.Outcome, err = h.outcome(r.Context(), f.Item, s, p.Budget)
	f.Title, f.Body, f.Live = "What would be folded", p, "" // a plan stays as it was asked for
	return err
}

// planned calls f with a copy of the session that is folded to a budget, with what counts its tokens,
// and with the reason why it does not fit. Without a budget it is the session as it stands.
func (h *Handler) planned(
	ctx context.Context, info *library.Info, s *pleat.Session, budget int,
	f func(c *pleat.Session, count *tokens.Tokenizer, problem error) error,
) error {
	if budget <= 0 {
		return f(s, nil, nil)
	}
	return h.scratch.use(ctx, h.o.Store, s, info.Look().Model, h.o.Library.Counter,
		func(c *pleat.Session, count *tokens.Tokenizer) error {
			err := c.SetBudget(library.Fit(budget))
			if err == nil {
				err = c.UndoAll(ctx)
			}
			if err != nil {
				return err
			}
			if _, err = c.View(ctx, pleat.Turn{}); err != nil && !errors.Is(err, fold.ErrCannotFit) {
				return err
			}
			return f(c, count, err)
		})
}

// outcome tells what folding to a budget does.
func (h *Handler) outcome(ctx context.Context, info *library.Info, s *pleat.Session, budget int) (o outcome, err error) {
	m := info.Look().Model
	err = h.planned(ctx, info, s, budget, func(c *pleat.Session, count *tokens.Tokenizer, problem error) error {
		if problem != nil {
			o.Problem = sentence(problem)
		}
		rep := library.Report(c)
		parts := rep.Snapshot.Parts
		typed, err := typed(ctx, c, rep.Folds, count)
		o.Before, o.After, o.Parts = rep.Whole, parts.Total(), partsOf(parts, typed, parts.Total())
		o.Kept = o.After - parts.Stubs - parts.Pins - parts.Ledger - parts.Digest
		o.Price, _ = m.Cost(model.Usage{Input: o.After})
		o.Cached, _ = m.Cost(model.Usage{CacheRead: o.After})
		if n := len(rep.Epochs); n > 0 {
			o.Warning = rep.Epochs[n-1].Warning
		}
		o.fill(rep.Folds, c)
		return err
	})
	return o, err
}

// planRows is how many folds of a plan are listed.
const planRows = 40

func (o *outcome) fill(folds []*fold.Fold, s *pleat.Session) {
	for _, f := range folds {
		o.Saved += f.Before - f.After
	}
	o.Levers = library.ByLever(folds)
	slices.SortStableFunc(o.Levers, func(a, b library.LeverShare) int { return cmp.Compare(b.Before-b.After, a.Before-a.After) })
	slices.SortStableFunc(folds, func(a, b *fold.Fold) int { return cmp.Compare(b.Before-b.After, a.Before-a.After) })
	o.All = len(folds)
	o.Folds = foldRows(folds[:min(len(folds), planRows)], s)
}
