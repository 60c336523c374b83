package dash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/tokens"
)

// planPage shows what would be folded at a budget.
type planPage struct {
	Policies []fold.Policy
	Asked    asked
	Least    int
	Most     int
	Step     int
	Begins   string // where the slider begins, and why
	Outcome  outcome
}

// asked is what the form says.
type asked struct {
	Budget int
	Policy string
	Other  string // the second policy of a comparison
}

// outcome is a plan for people.
type outcome struct {
	Policy  string
	Doc     string
	Before  int
	After   int
	Kept    int     // of these, tokens that were said so
	Price   float64 // of a request with this view, without its answer; 0: not known
	Cached  float64 // the same if the cache has it
	Parts   []share
	Levers  []leverRow
	Folds   []foldRow // those that save most
	All     int       // folds
	Warning string
	Problem string // why there is no plan
}

// leverRow is what one lever does.
type leverRow struct {
	library.LeverShare
	of int
}

// Share is the row's bar.
func (l leverRow) Share() share { return share{Tokens: l.Before - l.After, Of: l.of} }

// askedOf reads the form. A budget that it leaves open is where the session's own window
// forces folding, if the session came so far.
func askedOf(r *http.Request, rep pleat.Report, own library.Window) (asked, planPage) {
	q, whole, lim := r.URL.Query(), rep.Whole, rep.Snapshot.Limits
	if own.Size > 0 { // of the model's window
		lim.Red, lim.Window = int(int64(lim.Red)*int64(own.Size)/int64(max(lim.Window, 1))), own.Size
	}
	p := planPage{Policies: policy.All(), Most: roomAbove(max(whole, 2000))}
	p.Step = max(roomAbove(p.Most/200), 100)
	p.Least = (1000 + p.Step - 1) / p.Step * p.Step // the slider goes in steps from here
	budget, _ := text.Tokens(q.Get("budget"))
	a := asked{Budget: budget, Policy: q.Get("policy"), Other: q.Get("other")}
	start := lim.Red
	why := "It begins where the session's window of %s tokens forces folding."
	if whole <= start {
		start = whole / 2
		why = "It begins at half of the session, since all of it fits into its window of %s tokens."
	}
	p.Begins = fmt.Sprintf(why, text.Short(lim.Window))
	if a.Budget <= 0 {
		a.Budget = start
	}
	a.Budget = min(max(a.Budget/p.Step*p.Step, p.Least), p.Most)
	isPolicy := func(name string) bool {
		return slices.ContainsFunc(p.Policies, func(p fold.Policy) bool { return p.Name == name })
	}
	if !isPolicy(a.Policy) {
		a.Policy = policy.Default().Name
	}
	if !isPolicy(a.Other) {
		a.Other = policy.Book().Name
	}
	p.Asked = a
	return a, p
}

func (h *Handler) plan(r *http.Request, f *frame, s *pleat.Session) error {
	own, err := h.own(r.Context(), f, s)
	if err != nil {
		return err
	}
	a, p := askedOf(r, s.Report(), own)
	out, err := h.outcome(r.Context(), f.Item, s, a.Policy, a.Budget)
	p.Outcome = out
	f.Title, f.Body, f.Live = "Plan", p, "" // a plan stays as it was asked for
	return err
}

// comparison is two policies on one session at the same budget.
type comparison struct {
	planPage
	A, B outcome
	Rows []compareRow
}

// Plan is the form's part of the page.
func (c comparison) Plan() planPage { return c.planPage }

// compareRow sets a number beside another.
type compareRow struct {
	Name string
	A, B share
}

func (h *Handler) compare(r *http.Request, f *frame, s *pleat.Session) error {
	own, err := h.own(r.Context(), f, s)
	if err != nil {
		return err
	}
	a, p := askedOf(r, s.Report(), own)
	c := comparison{planPage: p}
	if c.A, err = h.outcome(r.Context(), f.Item, s, a.Policy, a.Budget); err != nil {
		return err
	}
	if c.B, err = h.outcome(r.Context(), f.Item, s, a.Other, a.Budget); err != nil {
		return err
	}
	c.Rows = sideBySide(c.A.Parts, c.B.Parts, a.Budget)
	f.Title, f.Body, f.Live = "Compare", c, ""
	return nil
}

// Verdict says by what was measured which of the two keeps more.
func (c comparison) Verdict() string {
	budget, a, b := text.Thousands(c.Asked.Budget), &c.A, &c.B
	fits := func(o *outcome) bool { return o.Problem == "" && o.After <= c.Asked.Budget }
	if float64(a.Kept)*float64(b.Before) < float64(b.Kept)*float64(a.Before) {
		a, b = b, a
	}
	keeps := fmt.Sprintf("%s keeps more: %s of the session word for word, %s %s.",
		a.Policy, percent(a.Kept, a.Before), b.Policy, percent(b.Kept, b.Before))
	if a.Policy == b.Policy || a.Kept*b.Before == b.Kept*a.Before {
		keeps = fmt.Sprintf("Both keep the same share of the session word for word: %s.", percent(a.Kept, a.Before))
	}
	switch {
	case fits(a) && fits(b):
		return keeps + " Both views fit into " + budget + " tokens."
	case fits(a):
		return keeps + " Only the view of " + a.Policy + " fits into " + budget + " tokens."
	case fits(b):
		return keeps + " Only the view of " + b.Policy + " fits into " + budget + " tokens."
	}
	return keeps + " Neither view fits into " + budget + " tokens."
}

// sideBySide joins two lists of shares by name, the largest first. Bars are parts of a budget.
func sideBySide(a, b []share, budget int) []compareRow {
	var rows []compareRow
	row := func(name string) *compareRow {
		for i := range rows {
			if rows[i].Name == name {
				return &rows[i]
			}
		}
		rows = append(rows, compareRow{Name: name})
		return &rows[len(rows)-1]
	}
	for _, s := range a {
		row(s.Name).A = s
	}
	for _, s := range b {
		row(s.Name).B = s
	}
	for i := range rows {
		rows[i].A.Of, rows[i].B.Of = budget, budget
	}
	slices.SortStableFunc(rows, func(x, y compareRow) int {
		return max(y.A.Tokens, y.B.Tokens) - max(x.A.Tokens, x.B.Tokens)
	})
	return rows
}

// outcome folds a copy of the session to a budget.
func (h *Handler) outcome(
	ctx context.Context, info *library.Info, s *pleat.Session, name string, budget int,
) (outcome, error) {
	pol, err := policy.ByName(name)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{Policy: pol.Name, Doc: pol.Doc}
	warning := ""
	m := info.Look().Model
	use := func(c *pleat.Session, tok *tokens.Tokenizer) error {
		err := c.SetBudget(library.Fit(budget))
		if err == nil {
			err = c.UndoAll(ctx)
		}
		if err != nil {
			return err
		}
		_, err = c.View(ctx, pleat.Turn{})
		if errors.Is(err, fold.ErrCannotFit) {
			o.Problem, err = sentence(err), nil
		}
		rep := library.Report(c)
		parts := rep.Snapshot.Parts
		typed, failed := typed(ctx, c, rep.Folds, tok)
		o.Before, o.After, o.Parts = rep.Whole, parts.Total(), partsOf(parts, typed, parts.Total())
		o.Kept = o.After - parts.Stubs - parts.Pins - parts.Ledger - parts.Digest
		o.Price, _ = m.Cost(model.Usage{Input: o.After})
		o.Cached, _ = m.Cost(model.Usage{CacheRead: o.After})
		if n := len(rep.Epochs); n > 0 {
			warning = rep.Epochs[n-1].Warning
		}
		o.fill(rep.Folds, c)
		return cmp.Or(err, failed)
	}
	err = h.scratch.use(ctx, h.o.Store, s, m, h.counted.count, pol, use)
	o.Warning = warning
	return o, err
}

// planRows is how many folds of a plan are listed.
const planRows = 40

func (o *outcome) fill(folds []*fold.Fold, s *pleat.Session) {
	saved := 0
	for _, f := range folds {
		saved += f.Before - f.After
	}
	for _, l := range library.ByLever(folds) {
		o.Levers = append(o.Levers, leverRow{l, saved})
	}
	slices.SortStableFunc(o.Levers, func(a, b leverRow) int { return cmp.Compare(b.Before-b.After, a.Before-a.After) })
	slices.SortStableFunc(folds, func(a, b *fold.Fold) int { return cmp.Compare(b.Before-b.After, a.Before-a.After) })
	o.All = len(folds)
	o.Folds = foldRows(folds[:min(len(folds), planRows)], s)
}
