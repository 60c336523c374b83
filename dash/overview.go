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
	o.Pager = pager{From: from, To: from + len(page.Sessions), All: page.Total}
	at := func(from int) string { return link("", "agent", o.Agent, "project", o.Project, "from", from) }
	if from > 0 {
		o.Pager.Prev = at(max(from-listRows, 0))
	}
	if o.Pager.To < o.Pager.All {
		o.Pager.Next = at(o.Pager.To)
	}
	if o.Sums = h.sum(ctx); o.Sums != nil {
		o.Days = o.Sums.chart()
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

// sums are what all sessions come to.
type sums struct {
	All      sum
	Agents   []sum
	Projects []sum // those with the most tokens
	Others   int   // projects that are not among them
	Days     []sum // the newest thirty, oldest first
	made     time.Time
}

// sum is what some sessions come to.
type sum struct {
	Name     string
	Sessions int
	Tokens   int
	USD      float64
	share    int // of the largest
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
		go h.makeSums()
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
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if h.o.Done != nil {
		go func() {
			select {
			case <-h.o.Done:
				stop()
			case <-ctx.Done():
			}
		}()
	}
	page, err := h.o.Library.List(ctx, library.Filter{})
	s := &sums{made: h.o.Now()}
	s.add(page.Sessions, s.made)
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

func (s *sums) add(list []library.Info, now time.Time) {
	agents, places := make(map[string]sum), make(map[string]sum)
	today := now.Local().Truncate(0)
	first := time.Date(today.Year(), today.Month(), today.Day()-days+1, 0, 0, 0, 0, time.Local)
	for d := range days {
		s.Days = append(s.Days, sum{Name: first.AddDate(0, 0, d).Format(time.DateOnly)})
	}
	for _, i := range list {
		s.All.count(i)
		for m, name := range map[*map[string]sum]string{&agents: cmp.Or(i.Agent, "pleat"), &places: i.Project} {
			t := (*m)[name]
			t.Name = name
			t.count(i)
			(*m)[name] = t
		}
		day := i.Modified.Local().Format(time.DateOnly)
		if d, ok := slices.BinarySearchFunc(s.Days, day, func(t sum, name string) int { return strings.Compare(t.Name, name) }); ok {
			s.Days[d].count(i)
		}
	}
	s.Agents, s.Projects = largest(agents), largest(places)
	s.Others = max(len(s.Projects)-projects, 0)
	s.Projects = s.Projects[:len(s.Projects)-s.Others]
}

func (s *sum) count(i library.Info) {
	s.Sessions++
	s.Tokens += i.Tokens
	s.USD += i.USD
}

func largest(m map[string]sum) []sum {
	list := slices.SortedFunc(maps.Values(m), func(a, b sum) int { return cmp.Or(b.Tokens-a.Tokens, strings.Compare(a.Name, b.Name)) })
	for i := range list {
		list[i].share = list[0].Tokens
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
	p := plot{ID: "days", Title: "Tokens per day", Top: roomAbove(most)}
	p.Desc = fmt.Sprintf("Tokens of the sessions by the day of their last use, over %d days, of which %d have some; at most %s on a day.", days, busy, short(most))
	w := float64(plotWidth) / float64(len(s.Days))
	for i, d := range s.Days {
		height := float64(d.Tokens) * plotHeight / float64(p.Top)
		if d.Tokens > 0 {
			height = max(height, 1)
		}
		p.Bars = append(p.Bars, bar2{"day", float64(i)*w + w*0.12, plotHeight - height, w * 0.76, height, d.Name})
	}
	p.From, p.To = s.Days[0].Name, s.Days[len(s.Days)-1].Name
	return p
}
