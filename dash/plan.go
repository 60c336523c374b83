package dash

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/library"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
)

// planPage shows what would be folded at a budget.
type planPage struct {
	Policies []fold.Policy
	Asked    asked
	Least    int
	Most     int
	Step     int
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
	Parts   []share
	Levers  []leverRow
	Folds   []foldRow // those that save most
	All     int       // folds
	Warning string
	Problem string // why there is no plan
}

// leverRow is what one lever does.
type leverRow struct {
	Lever         string
	Folds         int
	Before, After int
	of            int
}

// Share is the row's bar.
func (l leverRow) Share() share { return share{Tokens: l.Before - l.After, Of: l.of} }

// askedOf reads the form, and puts what it leaves open to what says most about the session.
func askedOf(r *http.Request, whole int) (asked, planPage) {
	q := r.URL.Query()
	p := planPage{Policies: policy.All(), Most: roomAbove(max(whole, 2000))}
	p.Step = max(roomAbove(p.Most/200), 100)
	p.Least = (1000 + p.Step - 1) / p.Step * p.Step // the slider goes in steps from here
	a := asked{Budget: number(q.Get("budget")), Policy: q.Get("policy"), Other: q.Get("other")}
	if a.Budget <= 0 {
		a.Budget = min(60_000, whole/2)
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
	a, p := askedOf(r, s.Report().Whole)
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
	a, p := askedOf(r, s.Report().Whole)
	c := comparison{planPage: p}
	var err error
	if c.A, err = h.outcome(r.Context(), f.Item, s, a.Policy, a.Budget); err != nil {
		return err
	}
	if c.B, err = h.outcome(r.Context(), f.Item, s, a.Other, a.Budget); err != nil {
		return err
	}
	c.Rows = sideBySide(c.A.Parts, c.B.Parts)
	f.Title, f.Body, f.Live = "Compare", c, ""
	return nil
}

// sideBySide joins two lists of shares by name, the largest first.
func sideBySide(a, b []share) []compareRow {
	var rows []compareRow
	most := 0
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
		row(s.Name).A, most = s, max(most, s.Tokens)
	}
	for _, s := range b {
		row(s.Name).B, most = s, max(most, s.Tokens)
	}
	for i := range rows {
		rows[i].A.Of, rows[i].B.Of = most, most
	}
	slices.SortStableFunc(rows, func(x, y compareRow) int {
		return max(y.A.Tokens, y.B.Tokens) - max(x.A.Tokens, x.B.Tokens)
	})
	return rows
}

// outcome folds a copy of the session to a budget.
func (h *Handler) outcome(ctx context.Context, info *library.Info, s *pleat.Session, name string, budget int) (outcome, error) {
	pol, err := policy.ByName(name)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{Policy: pol.Name, Doc: pol.Doc}
	warning := ""
	m, _ := model.DefaultModels().Lookup(info.Model)
	err = h.scratch.use(ctx, h.o.Store, s, h.counted.count(m), pol, func(c *pleat.Session) error {
		c.SetBudget(fit(budget))
		if err := c.UndoAll(ctx); err != nil {
			return err
		}
		_, err := c.View(ctx, pleat.Turn{})
		if errors.Is(err, fold.ErrCannotFit) {
			o.Problem, err = sentence(err), nil
		}
		rep := c.Report()
		o.Before, o.After, o.Parts = rep.Whole, rep.Snapshot.Parts.Total(), partsOf(rep.Snapshot.Parts)
		if n := len(rep.Epochs); n > 0 {
			warning = rep.Epochs[n-1].Warning
		}
		o.fill(rep.Folds, c)
		return err
	})
	o.Warning = warning
	return o, err
}

// planRows is how many folds of a plan are listed.
const planRows = 40

func (o *outcome) fill(folds []*fold.Fold, s *pleat.Session) {
	folds = slices.Clone(folds)
	for i, f := range folds {
		if f.Whole() { // other levers had folded some of it when it was planned
			w := *f
			w.Before = s.Tokens(f.Start, f.End)
			folds[i] = &w
		}
		j := slices.IndexFunc(o.Levers, func(l leverRow) bool { return l.Lever == f.Lever })
		if j < 0 {
			j = len(o.Levers)
			o.Levers = append(o.Levers, leverRow{Lever: f.Lever})
		}
		o.Levers[j].Folds++
		o.Levers[j].Before += folds[i].Before
		o.Levers[j].After += folds[i].After
	}
	slices.SortStableFunc(o.Levers, func(a, b leverRow) int { return cmp.Compare(b.Before-b.After, a.Before-a.After) })
	for i := range o.Levers {
		o.Levers[i].of = o.Levers[0].Before - o.Levers[0].After
	}
	slices.SortStableFunc(folds, func(a, b *fold.Fold) int { return cmp.Compare(b.Before-b.After, a.Before-a.After) })
	o.All = len(folds)
	o.Folds = foldRows(folds[:min(len(folds), planRows)], s.Ledger(ledger.Filter{}))
}

// fit is the budget of a session that may use all of so many tokens and is folded once.
func fit(tokens int) fold.Budget {
	all := fold.Share(1)
	return fold.Budget{Window: tokens + 1, Output: fold.Tokens(1), Buffer: fold.Tokens(1), Yellow: all, Red: all, Target: all}
}

// planning is the policy of a session that is folded to one budget after the other: what it
// spills at birth must not depend on one of them.
func planning(p fold.Policy) fold.Policy {
	p.Budget.Window = 0
	p.AtBirth = fold.Change(p.AtBirth, func(s *lever.Spill) { s.Window = 0 })
	return p
}
