package bench

// Report is what a run found. Its JSON form is a documented contract; two runs over the
// same sessions give the same bytes.
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
	Stated   int              `json:"stated"` // files stated as changed, as far as structure can judge
	Right    int              `json:"right"`  // those that were
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
	Context float64 `json:"context"` // in context
	Recall  float64 `json:"recall"`  // in context or one recall away
}

// Count is what became of the targets of a family.
type Count struct {
	Targets int `json:"targets"`
	Context int `json:"context"` // in context
	Search  int `json:"search"`  // not in context; one search gives it
	Wrong   int `json:"wrong"`   // the contrary is stated
	Asked   int `json:"asked"`   // not in context; something could ask for it
}

func (c Count) plus(o Count) Count {
	return Count{
		Targets: c.Targets + o.Targets, Context: c.Context + o.Context, Search: c.Search + o.Search,
		Wrong: c.Wrong + o.Wrong, Asked: c.Asked + o.Asked,
	}
}

// InContext is the share of the targets that a reader of the view alone can tell.
func (c Count) InContext() float64 { return share(c.Context, c.Targets) }

// WithRecall is the share that can be told with at most one search.
func (c Count) WithRecall() float64 { return share(c.Context+c.Search, c.Targets) }

// Precision is the share of the files stated as changed that were.
func (c Cell) Precision() float64 { return share(c.Right, c.Stated) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}
