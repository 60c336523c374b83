package bench

import (
	"math"
	"slices"
)

// plus adds another session's cell.
func (c Cell) plus(o Cell) Cell {
	if o.Views == 0 {
		if c.Arm == "" {
			return o
		}
		return c
	}
	o.Views += c.Views
	o.Tokens += c.Tokens
	o.Over += c.Over
	o.Refused += c.Refused
	o.Illegal += c.Illegal
	o.Stated += c.Stated
	o.Right += c.Right
	o.Faults = append(slices.Clip(c.Faults), o.Faults...)
	sum := make(map[Family]Count)
	for _, f := range Families {
		if n := c.Families[f].plus(o.Families[f]); n.Targets > 0 {
			sum[f] = n
		}
	}
	o.Families = sum
	return o
}

// maxFaults is how many examples a cell keeps.
const maxFaults = 20

// assemble sums the sessions up. The order is that of the arms, budgets and sessions, so
// that the report does not depend on who was ready first.
func assemble(o Options, results []*sessionResult) *Report {
	r := &Report{Format: "pleat/bench/1", Sessions: []SessionRow{}, Cells: []Cell{}, Own: []Cell{}, Money: []Money{}}
	seen := func(c Cell) bool { return c.Views > 0 }
	var took []*sessionResult
	for _, s := range results {
		if slices.ContainsFunc(s.cells, seen) || slices.ContainsFunc(s.own, seen) || len(s.money) > 0 {
			took, r.Sessions = append(took, s), append(r.Sessions, s.row)
		}
	}
	r.Cells = sumCells(len(o.keys(false)), took, func(s *sessionResult) []Cell { return s.cells })
	r.Own = sumCells(len(o.keys(true)), took, func(s *sessionResult) []Cell { return s.own })
	r.Money = sumMoney(o, took)
	return r
}

func sumCells(n int, took []*sessionResult, of func(*sessionResult) []Cell) []Cell {
	out := []Cell{}
	for i := range n {
		var sum Cell
		var each []map[Family]Count
		for _, s := range took {
			sum, each = sum.plus(of(s)[i]), append(each, of(s)[i].Families)
		}
		if sum.Views > 0 {
			sum.BySession = each
			out = append(out, sum.mean())
		}
	}
	return out
}

// mean works out what is a mean over the sessions.
func (c Cell) mean() Cell {
	c.Tokens /= c.Views
	c.Means = make(map[Family]Shares)
	for f := range c.Families {
		var sum Shares
		n := 0.0
		for _, families := range c.BySession {
			if k := families[f]; k.Targets > 0 {
				n++
				sum.Context += k.InContext()
				sum.Recall += k.WithRecall()
			}
		}
		c.Means[f] = Shares{Context: round(sum.Context / n), Recall: round(sum.Recall / n)}
	}
	c.Faults = c.Faults[:min(len(c.Faults), maxFaults)]
	return c
}

// round keeps a report readable, and the same on machines that add in another order.
func round(f float64) float64 { return math.Round(f*1e4) / 1e4 }
