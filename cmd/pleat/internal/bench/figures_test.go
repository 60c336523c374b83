package bench

import (
	"cmp"
	"fmt"
	"slices"
)

// figures are what a gate holds a report against: numbers that were recorded on purpose.
type figures struct {
	Note  string   `json:"note"`
	Cells []figure `json:"cells"`
}

// figure is the recorded shares of one arm at one budget.
type figure struct {
	Arm       string            `json:"arm"`
	Budget    int               `json:"budget"`
	Chain     int               `json:"compactions"`
	Precision float64           `json:"precision"`
	Means     map[Family]Shares `json:"means"`
}

// figuresOf are the figures of a report, to be recorded.
func figuresOf(r *Report, note string) figures {
	f := figures{Note: note}
	for _, c := range r.Cells {
		f.Cells = append(f.Cells, figure{c.Arm, c.Budget, c.Chain, round(c.Precision()), c.Means})
	}
	return f
}

// The gate's limits.
const (
	maxDrop  = 0.01 // of a family's share, against what was recorded
	maxShort = 1.02 // cost of a short session against no compaction
)

// faultsOf names everything that a report may not show of an arm: a view that is illegal or
// too large, a short session that costs more than without, a family that dropped against the
// recorded figures.
func faultsOf(r *Report, arm string, recorded figures) []string {
	var bad []string
	fail := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	for _, c := range slices.Concat(r.Cells, r.Own) {
		if c.Arm == arm && c.Illegal+c.Over+c.Refused > 0 {
			fail("%s at %d tokens, %s: %d illegal, %d too large, %d not sent: %v", arm, c.Budget,
				times(c.Chain), c.Illegal, c.Over, c.Refused, c.Faults)
		}
	}
	for _, m := range r.Money {
		if m.Arm == arm && m.ShortWorst > maxShort {
			fail("%s: a short session costs %.3f of no compaction (%s)", arm, m.ShortWorst, m.Prices)
		}
	}
	for _, f := range recorded.Cells {
		if f.Arm != arm {
			continue
		}
		i := slices.IndexFunc(
			r.Cells, func(c Cell) bool { return c.Arm == f.Arm && c.Budget == f.Budget && c.Chain == f.Chain },
		)
		if i < 0 {
			fail("%s at %d tokens, %s was recorded and not measured", arm, f.Budget, times(f.Chain))
			continue
		}
		if p := r.Cells[i].Precision(); p < f.Precision-maxDrop {
			fail("%s at %d tokens, %s: precision %.3f, recorded %.3f", arm, f.Budget, times(f.Chain), p, f.Precision)
		}
		for _, family := range Families {
			was, now := f.Means[family], r.Cells[i].Means[family]
			if now.Context < was.Context-maxDrop || now.Recall < was.Recall-maxDrop {
				fail(
					"%s at %d tokens, %s: %s %.3f → %.3f, recorded %.3f → %.3f", arm, f.Budget, times(f.Chain), family,
					now.Context,
					now.Recall, was.Context, was.Recall,
				)
			}
		}
	}
	slices.SortStableFunc(bad, cmp.Compare[string])
	return bad
}
