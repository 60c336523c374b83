package dash

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/bill"
)

// sums are what all sessions come to.
type sums struct {
	All      sum
	Agents   []*sum
	Projects []*sum             // those with the most tokens
	Others   int                // projects that are not among them
	spent    map[string]float64 // by session
	Counting bool               // the money is not added up yet, and tokens are estimates
	Counted  int                // sessions until now
	made     time.Time
	bill     bill.Bill // of the same moment

	list     []library.Info
	requests []library.Spent
}

// sum is what some sessions come to.
type sum struct {
	Name     string
	Sessions int
	Tokens   int
	Unpriced int     // requests of models whose price is not known
	USD      float64 // what the others came to
	Through  float64 // of this, what requests of sessions that pleat stood in did
}

const (
	sumsFresh = 20 * time.Second
	sumsWait  = 400 * time.Millisecond
	projects  = 12

	countSteps = 20 // in which the first sums tell how far they are
)

// sum returns the sums over all sessions, nil if there are none yet. Every session has to be
// looked into for them, so they are made in the background, and the previous ones are returned
// until then.
func (h *Handler) sum(ctx context.Context, rows []library.Info) *sums {
	h.mu.Lock()
	if h.adding == nil && (h.sums == nil || h.sums.stale(rows, h.o.Now())) {
		h.adding = make(chan struct{})
		h.work.Go(h.makeSums)
	}
	adding := h.adding
	h.mu.Unlock()
	if adding != nil {
		select {
		case <-adding:
		case <-time.After(sumsWait):
		case <-ctx.Done():
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sums != nil {
		h.sums = h.sums.with(rows)
	}
	return h.sums
}

// stale reports whether the sums are old, or a moment old and these rows newer.
func (s *sums) stale(rows []library.Info, now time.Time) bool {
	newer := func(i library.Info) bool { return i.Modified.After(s.made) }
	age := now.Sub(s.made)
	return age > sumsFresh || age > fresh && slices.ContainsFunc(rows, newer)
}

// with returns the sums as they are with these rows, which are newer.
func (s *sums) with(rows []library.Info) *sums {
	list, changed := slices.Clone(s.list), false
	at := make(map[string]int, len(list))
	for i := range list {
		at[list[i].ID] = i
	}
	for _, row := range rows {
		i, ok := at[row.ID]
		switch {
		case !ok:
			list, changed = append(list, row), true
		case list[i].Tokens != row.Tokens || !list[i].Modified.Equal(row.Modified):
			list[i], changed = row, true
		}
	}
	if !changed {
		return s
	}
	next := &sums{Counting: s.Counting, Counted: s.Counted, made: s.made, bill: s.bill}
	next.add(list, s.requests)
	return next
}

func (h *Handler) makeSums() {
	now := h.o.Now()
	page, err := h.o.Library.List(h.ctx, library.Filter{})
	h.mu.Lock()
	first := h.sums == nil && err == nil
	if first { // to count takes reading files whole
		h.sums = &sums{Counting: true}
		h.sums.add(page.Sessions, nil)
	}
	h.mu.Unlock()
	for at, step := 0, max(page.Total/countSteps, 1); first && at < page.Total; at += step {
		if _, err = h.o.Library.List(h.ctx, library.Filter{Count: true, Offset: at, Limit: step}); err != nil {
			break
		}
		h.mu.Lock()
		next := *h.sums // pages may be made of the last one
		next.Counted = min(at+step, page.Total)
		h.sums = &next
		h.mu.Unlock()
	}
	var spent []library.Spent
	if err == nil {
		spent, err = h.o.Library.Spent(h.ctx, time.Time{})
	}
	if err == nil {
		page, err = h.o.Library.List(h.ctx, library.Filter{Count: true})
	}
	s := &sums{made: now}
	if err == nil {
		s.bill, err = h.bill(h.ctx)
	}
	s.add(page.Sessions, spent)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
		h.sums = s
	case h.ctx.Err() == nil: // else it was closed
		h.o.Logger.Warn("sessions could not be added up", "err", err)
	}
	close(h.adding)
	h.adding = nil
}

func (s *sums) add(list []library.Info, spent []library.Spent) {
	s.list, s.requests, s.spent = list, spent, make(map[string]float64)
	agents, places := make(group), make(group)
	of := make(map[string]*library.Info)
	groups := func(info *library.Info) []*sum {
		return []*sum{&s.All, agents.of(cmp.Or(info.Agent, "pleat")), places.of(projectOf(*info))}
	}
	for i := range list {
		of[list[i].ID] = &list[i]
		for _, t := range groups(&list[i]) {
			t.Sessions++
			t.Tokens += list[i].Tokens
		}
	}
	for _, r := range spent {
		s.spent[r.ID] += r.USD
		if info := of[r.ID]; info != nil {
			for _, t := range groups(info) {
				t.spend(r)
			}
		}
	}
	s.Agents, s.Projects = agents.largest(), places.largest()
	s.Others = max(len(s.Projects)-projects, 0)
	s.Projects = s.Projects[:len(s.Projects)-s.Others]
}

// spans are over how many days the charts can go, the first unless another is asked for.
var spans = []int{30, 90, 365}

// days sums up the newest days, oldest first.
func (s *sums) days(n int, now time.Time) []sum {
	y, m, d := now.Local().Date()
	list, at := make([]sum, n), make(map[string]*sum, n)
	for i := range list {
		list[i].Name = time.Date(y, m, d-n+1+i, 0, 0, 0, 0, time.Local).Format(time.DateOnly)
		at[list[i].Name] = &list[i]
	}
	for _, info := range s.list {
		if t := at[info.Used.Local().Format(time.DateOnly)]; t != nil {
			t.Sessions++
			t.Tokens += info.Tokens
		}
	}
	for _, r := range s.requests {
		if t := at[r.Time.Local().Format(time.DateOnly)]; t != nil {
			t.spend(r)
		}
	}
	return list
}

// projectOf is the folder that a session worked in; a rehearsal has one of its own.
func projectOf(i library.Info) string {
	if i.Project == "" && i.Agent == "" && library.IsRehearsal(i.ID) {
		return "pleat demo"
	}
	return i.Project
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
	if r.Unpriced {
		s.Unpriced++
	}
}

// Own is what agents spent as their files say.
func (s sum) Own() float64 { return s.USD - s.Through }

// largest lists the sums with the most tokens first.
func (g group) largest() []*sum {
	order := func(a, b *sum) int { return cmp.Or(b.Tokens-a.Tokens, strings.Compare(a.Name, b.Name)) }
	return slices.SortedFunc(maps.Values(g), order)
}
