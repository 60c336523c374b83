package tally

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

const statusFormat = "pleat/proxy-status/1"

// Status is what "pleat status --json" prints.
type Status struct {
	Format   string       `json:"format"`
	Draining bool         `json:"draining"`
	Memory   proxy.Memory `json:"memory"`
	All      proxy.Tally  `json:"all"`
	Sessions []Row        `json:"sessions"` // the one used last first
}

// Row is a session's row of the bill. What a proxy has in memory of it is zero
// if it has not.
type Row struct {
	proxy.BillRow
	Messages int           `json:"messages"`
	Folds    int           `json:"folds"`
	Snapshot fold.Snapshot `json:"snapshot"`
	NoRecall string        `json:"no_recall,omitempty"` // why its model cannot ask for what is folded

	title string // how it begins
	name  string // that means no other session
	fork  string // of which; "": it is none
}

func (j Row) Key() store.SessionKey {
	return store.SessionKey{Tenant: j.Tenant, Session: j.Session}
}

func readStatus(ctx context.Context, h *proxy.Handler) (Status, error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	bill, err := h.Bill(ctx)
	if err != nil {
		return Status{}, err
	}
	inMemory := make(map[store.SessionKey]proxy.SessionStatus)
	for _, s := range h.Sessions() {
		inMemory[s.Key] = s
	}
	out := Status{
		Format: statusFormat, Draining: h.Draining(), Memory: h.Memory(), All: bill.All,
		Sessions: []Row{},
	}
	for _, b := range bill.Rows {
		s := inMemory[store.SessionKey{Tenant: b.Tenant, Session: b.Session}]
		out.Sessions = append(out.Sessions, Row{
			BillRow: b, Messages: s.Messages, Folds: s.Folds, Snapshot: asReported(s.Snapshot), NoRecall: s.NoRecall,
		})
	}
	return out, nil
}

// asReported is a meter whose parts are in the provider's tokens, as all else in it is, and add up.
func asReported(s fold.Snapshot) fold.Snapshot {
	p, all := &s.Parts, s.Parts.Total()
	own, told := 0, 0
	for _, n := range []*int{
		&p.System, &p.Tools, &p.User, &p.Assistant, &p.Thinking, &p.Calls, &p.Results, &p.Other, &p.Stubs, &p.Pins,
		&p.Ledger, &p.Digest,
	} {
		own += *n
		*n = own*int(s.Tokens)/max(all, 1) - told
		told += *n
	}
	return s
}

// Entitle names the sessions, and finds how they begin if their store can be read from here, which is nil if
// not. The proxy does not tell: its clients may see the status, and not what others said.
func (s Status) Entitle(ctx context.Context, st library.Store) {
	var all []store.SessionInfo
	if st != nil {
		all, _ = library.Conversations(ctx, st, "") // those in the status will do
	}
	for _, r := range s.Sessions {
		all = append(all, store.SessionInfo{Key: r.Key()})
	}
	names := library.NamesOf(all)
	for i := range s.Sessions {
		r := &s.Sessions[i]
		r.name = names.Of(r.Key())
		first := r.Key() // of those that share its beginning
		first.Session, _, _ = strings.Cut(r.Session, "-")
		if first != r.Key() && slices.ContainsFunc(all, func(s store.SessionInfo) bool { return s.Key == first }) {
			r.fork = "fork of " + names.Of(first)
		}
		if st != nil {
			r.title, _ = library.Begins(ctx, st, r.Key())
		}
	}
}

func (s Status) Print(p *term.Page) {
	if s.Draining {
		p.Hang("", "draining: new conversations pass unchanged, those below are folded as before")
	}
	var alone []Row // a row for each tenant
	for _, j := range s.Sessions {
		if j.Session == "" {
			alone = append(alone, j)
			continue
		}
		p.Line("%s", p.Bold(p.Clip(cmp.Or(term.OneLine(j.title), "(no title)"), p.Width)))
		about := []string{j.name, j.Model}
		if j.Messages > 0 {
			about = append(about, fmt.Sprintf("%.0f%% of the window, %s", j.Snapshot.Utilization*100, j.Snapshot.State))
		}
		if j.fork != "" {
			about = append(about, j.fork)
		}
		if j.NoRecall != "" {
			about = append(about, "no recall, folded only where it must be: "+j.NoRecall)
		}
		p.Hang("  ", strings.Join(append(about, inWords(j.Tally, j.Snapshot.Trigger)...), " · "))
	}
	if len(alone) > 0 {
		p.Line("%s", p.Bold("requests in no session"))
		p.Hang("  ", "single ones, such as for titles, and those of conversations that began while a proxy drained")
	}
	for _, j := range alone {
		p.Hang("  ", strings.Join(inWords(j.Tally, ""), " · "))
	}
	if len(s.Sessions) == 0 {
		p.Line("no conversation has come through yet")
	} else {
		p.Line("%s", p.Bold("all"))
		p.Hang("  ", strings.Join(inWords(s.All, ""), " · "))
	}
	p.Line("memory: %s of %s", term.ByteSize(s.Memory.Used), term.ByteSize(s.Memory.Limit))
	if s.All.Passed > 0 {
		p.Hang("", fmt.Sprintf("%s not understood, and passed on unchanged; the proxy's log names the paths",
			term.Verb(s.All.Passed, "request", "was", "were")))
	}
	if len(s.Sessions) > 0 {
		p.Hang("", "\"pleat show NAME\" says what fills a session; its name stands before the model.")
	}
	if s.All.USD > 0 {
		p.Hang("",
			"Costs are by the price list; \"instead of\" is about what the clients' own requests would have cost.")
	}
}
