package dash

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/library"
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
	if o.Agent != "" && !known(o.Agent) {
		o.Agent = ""
	}
	for _, a := range library.Agents() {
		o.Agents = append(o.Agents, string(a))
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
	h.mu.Lock()
	for i := range o.Sessions { // the numbers of their own pages, where those were shown
		s := &o.Sessions[i]
		if c, ok := h.sizes[s.ID]; ok && c.modified.Equal(s.Modified) {
			s.Tokens, s.Counted = c.tokens, true
		}
	}
	h.mu.Unlock()
	o.Pager = pager{From: from, To: from + len(page.Sessions), All: page.Total}
	at := func(from int) string { return link("", "agent", o.Agent, "project", o.Project, "from", from) }
	if from > 0 {
		o.Pager.Prev = at(max(from-listRows, 0))
	}
	if o.Pager.To < o.Pager.All {
		o.Pager.Next = at(o.Pager.To)
	}
	if o.Sums = h.sum(ctx); o.Sums != nil {
		o.Days, o.Money = o.Sums.chart(), o.Sums.money()
	}
	f.Title, f.Body, f.Live = "Overview", o, "/dash/live"
	return nil
}

func known(agent string) bool {
	for _, a := range library.Agents() {
		if string(a) == agent {
			return true
		}
	}
	return false
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

// sums are what all sessions come to.
type sums struct {
	All      sum
	Agents   []sum
	Projects []sum              // those with the most tokens
	Others   int                // projects that are not among them
	Days     []sum              // the newest thirty, oldest first
	spent    map[string]float64 // by session, of those that were used in these days
	Counting bool               // what was spent is not added up yet
	made     time.Time
}

// sum is what some sessions come to.
type sum struct {
	Name     string
	Sessions int
	Tokens   int
	Unpriced int     // requests in the last days of models whose price is not known
	USD      float64 // what the others came to
	Through  float64 // of this, what requests of sessions that pleat stood in did
	share    int     // tokens of all
}

// Share is the sum's bar.
func (s sum) Share() share { return share{Tokens: s.Tokens, Of: s.share} }

const (
	sumsFresh = 20 * time.Second
	sumsWait  = 400 * time.Millisecond
	projects  = 12
	days      = 30
)

// sum returns the sums over all sessions. They take looking into every one, so they are made
// in the background, and the last ones are shown until then. Nil: there are none yet.
func (h *Handler) sum(ctx context.Context) *sums {
	h.mu.Lock()
	if h.adding == nil && (h.sums == nil || h.o.Now().Sub(h.sums.made) > sumsFresh) {
		h.adding = make(chan struct{})
		h.work.Go(h.makeSums)
	}
	last, adding := h.sums, h.adding
	h.mu.Unlock()
	if last != nil {
		return last
	}
	select {
	case <-adding:
	case <-time.After(sumsWait):
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sums
}

func (h *Handler) makeSums() {
	now := h.o.Now()
	first := firstDay(now)
	page, err := h.o.Library.List(h.ctx, library.Filter{})
	var spent []library.Spent
	if err == nil {
		h.mu.Lock()
		if h.sums == nil { // what was spent takes reading files whole
			h.sums = &sums{Counting: true}
			h.sums.add(page.Sessions, nil, first)
		}
		h.mu.Unlock()
		spent, err = h.o.Library.Spent(h.ctx, first)
	}
	s := &sums{made: now}
	s.add(page.Sessions, spent, first)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.o.Logger.Warn("sessions could not be added up", "err", err)
	} else {
		h.sums = s
	}
	close(h.adding)
	h.adding = nil
}

// firstDay is when the days begin that are told of one by one.
func firstDay(now time.Time) time.Time {
	y, m, d := now.Local().Date()
	return time.Date(y, m, d-days+1, 0, 0, 0, 0, time.Local)
}

func (s *sums) add(list []library.Info, spent []library.Spent, first time.Time) {
	agents, places, byDay := make(group), make(group), make(group)
	for d := range days {
		byDay.of(first.AddDate(0, 0, d).Format(time.DateOnly))
	}
	of := make(map[string]*library.Info)
	for i := range list {
		info := &list[i]
		of[info.ID] = info
		day := byDay[info.Modified.Local().Format(time.DateOnly)]
		for _, t := range []*sum{&s.All, agents.of(cmp.Or(info.Agent, "pleat")), places.of(info.Project), day} {
			if t != nil {
				t.Sessions++
				t.Tokens += info.Tokens
			}
		}
	}
	s.spent = make(map[string]float64)
	for _, r := range spent {
		s.spent[r.ID] += r.USD
		info, day := of[r.ID], byDay[r.Time.Local().Format(time.DateOnly)]
		if info == nil || day == nil {
			continue
		}
		for _, t := range []*sum{&s.All, agents.of(cmp.Or(info.Agent, "pleat")), places.of(info.Project), day} {
			t.spend(r)
		}
	}
	s.Agents, s.Projects = agents.largest(s.All.Tokens), places.largest(s.All.Tokens)
	s.Others = max(len(s.Projects)-projects, 0)
	s.Projects = s.Projects[:len(s.Projects)-s.Others]
	for _, name := range slices.Sorted(maps.Keys(byDay)) {
		s.Days = append(s.Days, *byDay[name])
	}
}

// group is sums by name.
type group map[string]*sum

func (g group) of(name string) *sum {
	if g[name] == nil {
		g[name] = &sum{Name: name}
	}
	return g[name]
}

func (s *sum) spend(r library.Spent) {
	s.USD += r.USD
	if r.Stored {
		s.Through += r.USD
	}
	if r.USD == 0 {
		s.Unpriced++
	}
}

// Own is what agents spent as their files say.
func (s sum) Own() float64 { return s.USD - s.Through }

// largest lists the sums with the most tokens first. A bar is measured by all tokens.
func (g group) largest(all int) (list []sum) {
	for _, s := range slices.SortedFunc(maps.Values(g), func(a, b *sum) int { return cmp.Or(b.Tokens-a.Tokens, strings.Compare(a.Name, b.Name)) }) {
		s.share = all
		list = append(list, *s)
	}
	return list
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
	p.Desc = fmt.Sprintf("Tokens of the sessions by the day of their last use, over %d days, of which %d have some; at most %s on a day.", days, busy, short(most))
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
	p.Desc = fmt.Sprintf("What requests cost by the price list, over %d days: %s together; at most %s on a day.", days, dollars(all), dollars(most))
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
