package bench

import (
	"cmp"
	"fmt"
	"slices"
)

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
					"%s, views of %s tokens, %s: %.2f, %s %.2f", f.head(), thousands(g[i].Budget), times(g[i].Chain), mine.Score,
					best.Arm, best.Means[f].Score,
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
