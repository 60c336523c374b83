package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/proxy"
)

func (j *usageJSON) Print(p *term.Page) {
	if j.All.Requests == 0 {
		where := "in the session files (\"pleat sessions\" lists the files)"
		if j.some {
			where = "in the session files are of that period and agent; without --since, --until and --agent all count"
		}
		p.Hang("", "no requests with usage "+where)
		j.printProxy(p)
		return
	}
	p.Line("%s in %s, %s by the price list", term.Plural(j.All.Requests, "request"), term.Plural(j.Sessions, "session"),
		p.Bold(j.All.cost()))
	p.Hang("", "Some files, such as Claude Code's, leave out most output tokens, so the real cost is higher; "+
		"\"pleat show NAME\" estimates it.")
	if j.All.Unpriced > 0 {
		p.Line("without %s of models that have no price in the list", term.Plural(j.All.Unpriced, "request"))
	}
	for _, t := range []struct {
		name string
		rows []spendJSON
		most int
	}{{"day", j.Days, 14}, {"project", j.Projects, 8}, {"model", j.Models, 8}, {"agent", j.Agents, 8}} {
		if j.by == "" || j.by == t.name {
			printSpending(p, t.name, t.rows, t.most, j.by != "")
		}
	}
	j.printProxy(p)
	if j.Saved != nil && j.by == "" {
		j.Saved.Print(p)
	} else if j.by == "" {
		p.Line("")
		p.Hang("", "\"pleat usage --saved\" says what the proxy would have saved")
	}
}

func (j *usageJSON) printProxy(p *term.Page) {
	if r := j.Runs; r != nil && j.by == "" {
		p.Head("With pleat run", "")
		p.Hang("  ", tally.Spent(proxy.Tally{Requests: r.Requests, Unpriced: r.Unpriced, USD: r.USD}))
	}
	if j.Proxy == nil || j.by != "" {
		return
	}
	note := ""
	if j.some { // the bill has neither days nor agents
		note = "ever, by all clients"
	}
	p.Head("Through the proxy", note)
	p.Hang("  ", tally.Spent(*j.Proxy))
}

// cost is what is known of it.
func (s *spendJSON) cost() string {
	if s.Unpriced == s.Requests {
		return "–"
	}
	return term.Cents(s.USD)
}

func printSpending(p *term.Page, name string, rows []spendJSON, most int, all bool) {
	note := ""
	if len(rows) > most && !all {
		note = fmt.Sprintf("%d of %d; all with --by %s", most, len(rows), name)
		if name == "day" {
			rows = rows[len(rows)-most:]
		} else {
			rows = rows[:most]
		}
	}
	p.Head("By "+name, note)
	top := 0.0
	for _, r := range rows {
		top = max(top, r.USD)
	}
	const numbers = 9 + 8 + 8 + 8 + 10
	if name == "project" {
		rows = slices.Clone(rows)
		for i := range rows {
			rows[i].Name = text.Place(rows[i].Name)
		}
	}
	title := max(term.Widest(rows, func(r spendJSON) string { return r.Name }), 10)
	if !p.Whole {
		title = min(title, max(min(p.Width-2-numbers-10, 34), min(p.Width-2-numbers, 20)))
	}
	room := p.Width - 2 - title - numbers - 2
	p.Line("%s", p.Dim(fmt.Sprintf("  %s%9s%8s%8s%8s%10s", term.Pad(name, title), "requests", "input", "cached",
		"output", "cost")))
	for _, r := range rows {
		line := fmt.Sprintf("  %s%9s%8s%8s%8s%10s", term.Pad(p.ClipMiddle(r.Name, title), title),
			term.Thousands(r.Requests),
			term.Short(r.Input+r.CacheWrite), term.Short(r.CacheRead), term.Short(r.Output), r.cost())
		if room >= 6 && top > 0 {
			line += "  " + term.Bar(int(r.USD*1e4), int(top*1e4), room)
		}
		p.Line("%s", strings.TrimRight(line, " "))
	}
}
