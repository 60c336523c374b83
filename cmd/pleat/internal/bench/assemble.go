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
	var took []bool
	for _, s := range results {
		part := slices.ContainsFunc(s.cells, func(c Cell) bool { return c.Views > 0 }) || len(s.money) > 0
		if took = append(took, part); part {
			r.Sessions = append(r.Sessions, s.row)
		}
	}
	for i := range o.keys() {
		var sum Cell
		var each []map[Family]Count
		for n, s := range results {
			sum = sum.plus(s.cells[i])
			if took[n] {
				each = append(each, s.cells[i].Families)
			}
		}
		if sum.Views > 0 {
			sum.BySession = each
			r.Cells = append(r.Cells, sum.mean(each))
		}
	}
	for i := range o.ownKeys() {
		var sum Cell
		var each []map[Family]Count
		for _, s := range results {
			if s.own != nil {
				sum = sum.plus(s.own[i])
				each = append(each, s.own[i].Families)
			}
		}
		if sum.Views > 0 {
			r.Own = append(r.Own, sum.mean(each))
		}
	}
	r.Money = sumMoney(o, results)
	return r
}

// mean works out what is a mean over the sessions.
func (c Cell) mean(each []map[Family]Count) Cell {
	c.Tokens /= c.Views
	c.Means = make(map[Family]Shares)
	for f := range c.Families {
		var sum Shares
		n := 0.0
		for _, families := range each {
			if k := families[f]; k.Targets > 0 {
				n++
				sum.Context += k.InContext()
				sum.Recall += k.WithRecall()
				sum.Score += k.Score()
			}
		}
		c.Means[f] = Shares{
			Context: round(sum.Context / n), Recall: round(sum.Recall / n), Score: round(sum.Score / n),
		}
	}
	c.Faults = c.Faults[:min(len(c.Faults), maxFaults)]
	return c
}

// round keeps a report readable, and the same on machines that add in another order.
func round(f float64) float64 { return math.Round(f*1e4) / 1e4 }
