package dash

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/internal/library"
)

// overview is the first page: sums over all sessions, and a list of them.
type overview struct {
	Bill     bill.Tally
	Saved    float64
	Sums     *sums // nil: they are being made
	Days     plot
	Money    plot
	Sessions []library.Info
	Pager    pager
	Agent    string // the filter
	Agents   []string
	Project  string
	Rows     map[string]bill.Row // what requests of the sessions cost, by name
}

const listRows = 50

func (h *Handler) overview(r *http.Request, f *frame) error {
	ctx, q := r.Context(), r.URL.Query()
	o := &overview{Agent: q.Get("agent"), Project: q.Get("project"), Rows: make(map[string]bill.Row)}
	for _, a := range library.Agents() {
		o.Agents = append(o.Agents, string(a))
	}
	if !slices.Contains(o.Agents, o.Agent) {
		o.Agent = ""
	}
	from := max(number(q.Get("from")), 0)
	page, err := h.o.Library.List(ctx, library.Filter{Agent: o.Agent, Project: o.Project, Offset: from, Limit: listRows})
	if err != nil {
		return err
	}
	b, err := h.bill(ctx)
	if err != nil {
		return err
	}
	for _, row := range b.Rows {
		o.Rows[row.Tenant+"\x00"+row.Session] = row
	}
	o.Bill, o.Saved = b.All, b.All.Without-b.All.USD
	o.Sessions = page.Sessions
	o.Pager = pager{From: from, To: from + len(page.Sessions), All: page.Total}
	at := func(from int) string { return link("", "agent", o.Agent, "project", o.Project, "from", from) }
	if from > 0 {
		o.Pager.Prev = at(max(from-listRows, 0))
	}
	if o.Pager.To < o.Pager.All {
		o.Pager.Next = at(o.Pager.To)
	}
	if o.Sums = h.sum(ctx, o.Sessions); o.Sums != nil {
		o.Days, o.Money = o.Sums.chart(), o.Sums.money()
	}
	f.Title, f.Body, f.Live = "Overview", o, "/dash/live"
	return nil
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// Row is the bill's row of a session.
func (o *overview) Row(i library.Info) bill.Row {
	return o.Rows[i.Key.Tenant+"\x00"+i.Key.Session]
}

// Cost is what a session spent, as far as anything says it.
func (o *overview) Cost(i library.Info) float64 {
	if row := o.Row(i); row.Requests > 0 {
		return row.USD
	}
	if o.Sums != nil && o.Sums.spent[i.ID] > 0 {
		return o.Sums.spent[i.ID]
	}
	return i.USD
}

// chart draws the tokens of the sessions by the day on which they were used last.
func (s *sums) chart() plot {
	most, busy := 0, 0
	for _, d := range s.Days {
		most = max(most, d.Tokens)
		if d.Sessions > 0 {
			busy++
		}
	}
	p := s.days("days", "Tokens per day", roomAbove(most))
	p.Desc = fmt.Sprintf("Tokens of the sessions by the day of their last use, over %d days, of which %d have some; "+
		"at most %s on a day.", days, busy, short(most))
	for i, d := range s.Days {
		p.bar("day", i, 0.12, 0.76, float64(d.Tokens), d.Name+": "+short(d.Tokens)+" tokens")
	}
	return p
}

// money draws what was spent by the day of the request.
func (s *sums) money() plot {
	most, all := 0.0, 0.0
	for _, d := range s.Days {
		most, all = max(most, d.Own(), d.Through), all+d.USD
	}
	p := s.days("money", "Spent per day", roomAbove(int(most*1000)))
	p.TopName, p.HalfName = dollars(float64(p.Top)/1000), dollars(float64(p.Top)/2000)
	p.Desc = fmt.Sprintf("What requests cost by the price list, over %d days: %s together; at most %s on a day.",
		days, dollars(all), dollars(most))
	for i, d := range s.Days {
		p.bar("day", i, 0.06, 0.42, d.Own()*1000, d.Name+": "+dollars(d.Own())+" by agents' files")
		p.bar("through", i, 0.52, 0.42, d.Through*1000, d.Name+": "+dollars(d.Through)+" with pleat")
	}
	return p
}

// days is an empty plot over the days.
func (s *sums) days(id, title string, top int) plot {
	return plot{
		ID: id, Title: title, Top: top, TopName: short(top), HalfName: short(top / 2), places: len(s.Days),
		From: s.Days[0].Name, To: s.Days[len(s.Days)-1].Name,
	}
}
