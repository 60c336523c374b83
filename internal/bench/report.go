package bench

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Report is what a run found. Its JSON form is a documented contract; two runs over the
// same sessions give the same bytes, Timings and Scaling aside.
type Report struct {
	Format   string       `json:"format"` // "pleat/bench/1"
	Sessions []SessionRow `json:"sessions"`
	// Summaries is the model that wrote them; empty: code did.
	Summaries string `json:"summaries,omitempty"`
	Cells     []Cell `json:"cells"`
	// Own compares the arms with the real agents' own summaries, at the places where
	// those were made.
	Own     []Cell     `json:"own"`
	Money   []Money    `json:"money"`
	Answers []Answered `json:"answers,omitempty"`
	Timings []Timing   `json:"timings,omitempty"`
	Scaling []Scaling  `json:"timings_by_size,omitempty"` // timings too: other bytes at every run
}

// SessionRow is a session that took part.
type SessionRow struct {
	Name     string         `json:"name"`
	Messages int            `json:"messages"`
	Tokens   int            `json:"tokens"` // of all of it
	Cut      int            `json:"cut"`    // messages before the cut
	Before   int            `json:"tokens_before_cut"`
	Targets  map[Family]int `json:"targets"`
}

// Cell is one arm at one budget after so many compactions, over all sessions that are
// larger than the budget.
type Cell struct {
	Arm      string           `json:"arm"`
	Budget   int              `json:"budget"`
	Chain    int              `json:"compactions"`
	Views    int              `json:"views"`
	Tokens   int              `json:"tokens"`  // mean size of the views
	Over     int              `json:"over"`    // views that are larger than the budget
	Refused  int              `json:"refused"` // times that the method found nothing to send
	Illegal  int              `json:"illegal"`
	Folds    int              `json:"folds"`    // that were unfolded again, where the method has recall
	Inexact  int              `json:"inexact"`  // those that did not come back as the bytes they were made from
	Leaks    int              `json:"leaks"`    // times that a handle worked in another session or for another tenant
	Named    int              `json:"named"`    // names, paths and digests in the method's own words
	Invented int              `json:"invented"` // those that the session does not have
	Stated   int              `json:"stated"`   // files stated as changed, as far as structure can judge
	Right    int              `json:"right"`    // those that were
	Families map[Family]Count `json:"families"`
	// Means are the means of the sessions' shares: each session that has targets of the
	// family counts the same.
	Means map[Family]Shares `json:"means"`
	// BySession has the families' counts of each session, in the order of Sessions; a
	// session that did not take part has none.
	BySession []map[Family]Count `json:"by_session,omitempty"`
	// Faults are the first examples of what was illegal, invented, or wrongly stated.
	Faults []string `json:"faults,omitempty"`
}

// Shares are shares of targets.
type Shares struct {
	Context float64 `json:"context"`         // in context
	Recall  float64 `json:"recall"`          // in context or one recall away
	Reach   float64 `json:"reach,omitempty"` // in context or what one recall could give at best; see [Count]
	Bare    float64 `json:"bare"`            // the string is somewhere in the view
	Score   float64 `json:"score"`           // 0 to 5; see [Count.Score]
}

// Count is what became of the targets of a family.
type Count struct {
	Targets int `json:"targets"`
	Context int `json:"context"` // in context
	Search  int `json:"search"`  // not in context; one search gives it
	Handle  int `json:"handle"`  // neither; unfolding the handle that fits best gives it
	// Reach counts what is in context, what one recall gave, and what one search by words
	// could have given at best, whoever ranks what it finds. Only for future use, and where
	// the method has recall.
	Reach int `json:"reach,omitempty"`
	Bare  int `json:"bare"`  // not in context; the bare string is somewhere in the view
	Wrong int `json:"wrong"` // the contrary is stated
	Asked int `json:"asked"` // not in context; something could ask for it
}

func (c Count) plus(o Count) Count {
	return Count{
		Targets: c.Targets + o.Targets, Context: c.Context + o.Context, Search: c.Search + o.Search,
		Handle: c.Handle + o.Handle, Bare: c.Bare + o.Bare, Wrong: c.Wrong + o.Wrong,
		Asked: c.Asked + o.Asked, Reach: c.Reach + o.Reach,
	}
}

// InContext is the share of the targets that a reader of the view alone can tell.
func (c Count) InContext() float64 { return share(c.Context, c.Targets) }

// WithRecall is the share that can be told with at most one recall.
func (c Count) WithRecall() float64 { return share(c.Context+c.Search+c.Handle, c.Targets) }

// recallWorth is what a target counts that needs a recall: a round more than one that is
// there.
const recallWorth = 0.75

// Score is the family's mark from 0 to 5: five for everything in context; what takes a
// recall counts three quarters, what is lost nothing, and what is stated wrongly takes
// one away.
func (c Count) Score() float64 {
	n := float64(c.Context) + recallWorth*float64(c.Search+c.Handle) - float64(c.Wrong)
	return max(5*n/float64(max(c.Targets, 1)), 0)
}

// Precision is the share of the files stated as changed that were.
func (c Cell) Precision() float64 { return share(c.Right, c.Stated) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// Timing is how long an arm took.
type Timing struct {
	Arm    string        `json:"arm"`
	Budget int           `json:"budget"`
	Took   time.Duration `json:"took_ns"` // mean over the bench's sessions
}

// conclusion says in three lines what the tables come to: which arm keeps most, which is
// the cheapest, and where the one that people get, default, is behind. Of one arm it says
// nothing.
func (r *Report) conclusion() []string {
	marks := &ranking{values: make(map[string][]float64)}
	for _, c := range r.bounded() {
		marks.add(c.Arm, c.Score())
	}
	if len(marks.arms) < 2 { // there is nothing to compare
		return nil
	}
	of := marks.arms[0]
	if slices.Contains(marks.arms, "default") {
		of = "default"
	}
	best := marks.best(func(a, b float64) int { return cmp.Compare(b, a) })
	first := fmt.Sprintf("%s keeps most: its mean mark is %.2f of 5", best[0], marks.mean(best[0]))
	if len(best) > 1 {
		first += fmt.Sprintf("; next is %s with %.2f", best[1], marks.mean(best[1]))
	}
	if !slices.Contains(best[:min(len(best), 2)], of) {
		first += fmt.Sprintf("; %s has %.2f", of, marks.mean(of))
	}
	return []string{first + ".", r.cheapest(of), r.behind(of)}
}

// bounded are the cells of the arms that have to keep to the budget.
func (r *Report) bounded() []Cell {
	free := make(map[string]bool)
	for _, a := range Arms() {
		free[a.Name] = a.Own || a.Unbounded
	}
	return slices.DeleteFunc(slices.Clone(r.Cells), func(c Cell) bool { return free[c.Arm] || c.Views == 0 })
}

func (r *Report) cheapest(of string) string {
	costs := &ranking{values: make(map[string][]float64)}
	for _, m := range r.Money {
		if m.Sessions > 0 {
			costs.add(m.Arm, m.Total)
		}
	}
	if len(costs.arms) == 0 {
		return "Nothing can be said about cost: it was not simulated on any long session."
	}
	best := costs.best(cmp.Compare[float64])[0]
	line := fmt.Sprintf(
		"%s is the cheapest: long sessions cost %.2f of what they cost without compaction", best, costs.mean(best),
	)
	if best != of {
		line += fmt.Sprintf("; %s: %.2f", of, costs.mean(of))
	}
	return line + "."
}

// behind says how often another arm has a better mark than this one, and where most.
func (r *Report) behind(of string) string {
	all, worse, most, where := 0, 0, 0.0, ""
	for _, g := range groups(r.bounded()) {
		i := slices.IndexFunc(g, func(c Cell) bool { return c.Arm == of })
		if i < 0 {
			continue
		}
		for _, f := range Families {
			mine, ok := g[i].Means[f]
			if !ok {
				continue
			}
			all++
			best := slices.MaxFunc(g, func(a, b Cell) int { return cmp.Compare(a.Means[f].Score, b.Means[f].Score) })
			gap := best.Means[f].Score - mine.Score
			if gap > 0 {
				worse++
			}
			if gap > most {
				most = gap
				where = fmt.Sprintf(
					"%s, views of %s tokens, %s: %.2f, %s %.2f", f.head(), thousands(g[i].Budget), times(g[i].Chain),
					mine.Score, best.Arm, best.Means[f].Score,
				)
			}
		}
	}
	if worse == 0 {
		return fmt.Sprintf("%s is behind in none of %d marks.", of, all)
	}
	return fmt.Sprintf("%s is behind in %d of %d marks, most in %s.", of, worse, all, where)
}

// ranking has the values of each arm.
type ranking struct {
	arms   []string
	values map[string][]float64
}

func (k *ranking) add(arm string, v float64) {
	if len(k.values[arm]) == 0 {
		k.arms = append(k.arms, arm)
	}
	k.values[arm] = append(k.values[arm], v)
}

func (k *ranking) mean(arm string) float64 {
	sum := 0.0
	for _, v := range k.values[arm] {
		sum += v
	}
	return sum / float64(max(len(k.values[arm]), 1))
}

// best are the arms in an order of their means.
func (k *ranking) best(order func(a, b float64) int) []string {
	return slices.SortedStableFunc(slices.Values(k.arms), func(a, b string) int { return order(k.mean(a), k.mean(b)) })
}
