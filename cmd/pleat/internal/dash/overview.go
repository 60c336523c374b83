package dash

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/internal/text"
)

// overview is the first page: sums over all sessions, and a list of them.
type overview struct {
	Bill     bill.Tally
	Alone    float64 // spent on requests that are in no session
	Sums     *sums   // nil: they are being made
	Days     []sum
	Tokens   plot
	Money    plot
	Spent    float64 // in these days
	Spans    []int
	Sessions []library.Info
	Pager    pager
	Agent    string // the filter
	Agents   []string
	Project  string
	bill     bill.Bill
}

// Place is a session's project.
func (o *overview) Place(i library.Info) string { return projectOf(i) }

const listRows = 50

func (h *Handler) overview(r *http.Request, f *frame) error {
	ctx, q := r.Context(), r.URL.Query()
	o := &overview{
		Agent: q.Get("agent"), Agents: library.Agents(), Project: q.Get("project"),
	}
	if !slices.Contains(o.Agents, o.Agent) {
		o.Agent = ""
	}
	from := max(number(q.Get("from")), 0)
	page, err := h.o.Library.List(ctx,
		library.Filter{Agent: o.Agent, Project: o.Project, Offset: from, Limit: listRows})
	if err != nil {
		return err
	}
	b, err := h.bill(ctx)
	if err != nil {
		return err
	}
	if o.Sums = h.sum(ctx, page.Sessions); o.Sums != nil && !o.Sums.Counting {
		b = o.Sums.bill // tiles and tables tell of one moment
		o.draw(number(q.Get("days")), h.o.Now())
	}
	for _, row := range b.Rows {
		if row.Session == "" {
			o.Alone += row.USD
		}
	}
	o.bill, o.Bill = b, b.All
	o.Pager = newPager(from, len(page.Sessions), page.Total, listRows, func(from int) string {
		return link("", "agent", o.Agent, "project", o.Project, "from", from)
	})
	o.Sessions = page.Sessions
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

// Priced is how many of the proxy's requests have a known price.
func (o *overview) Priced() int { return o.Bill.Requests - o.Bill.Failed - o.Bill.Unpriced }

// Row is the bill's row of a session.
func (o *overview) Row(i library.Info) bill.Row { return rowOf(o.bill, i.Key) }

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

// draw makes the charts over so many days.
func (o *overview) draw(asked int, now time.Time) {
	if !slices.Contains(spans, asked) {
		asked = spans[0]
	}
	o.Days, o.Spans = o.Sums.days(asked, now), spans
	most, dearest, busy := 0, 0.0, 0
	for _, d := range o.Days {
		most, dearest, o.Spent = max(most, d.Tokens), max(dearest, d.Own(), d.Through), o.Spent+d.USD
		if d.Sessions > 0 {
			busy++
		}
	}
	o.Tokens = o.plot("days", "Tokens per day", roomAbove(most))
	o.Tokens.Desc = fmt.Sprintf("Tokens of the sessions by the day of their last use, over %d days, of which %d have "+
		"some; at most %s on a day.", len(o.Days), busy, text.Short(most))
	o.Money = o.plot("money", "Spent per day", roomAbove(int(dearest*1000)))
	o.Money.TopName, o.Money.HalfName = dollars(float64(o.Money.Top)/1000), dollars(float64(o.Money.Top)/2000)
	o.Money.Desc = fmt.Sprintf("What requests cost by the price list, over %d days: %s together; at most %s on a day.",
		len(o.Days), dollars(o.Spent), dollars(dearest))
	for i, d := range o.Days {
		o.Tokens.bar("day", i, 0.12, 0.76, float64(d.Tokens), d.Name+": "+text.Short(d.Tokens)+" tokens")
		o.Money.bar("day", i, 0.06, 0.42, d.Own()*1000, d.Name+": "+dollars(d.Own())+" by agents' files")
		o.Money.bar("through", i, 0.52, 0.42, d.Through*1000, d.Name+": "+dollars(d.Through)+" with pleat")
	}
}

// plot is an empty plot over the days.
func (o *overview) plot(id, title string, top int) plot {
	return plot{
		ID: id, Title: title, Top: top, TopName: text.Short(top), HalfName: text.Short(top / 2), places: len(o.Days),
		From: o.Days[0].Name, To: o.Days[len(o.Days)-1].Name,
	}
}
