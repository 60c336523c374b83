package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

func usageCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "usage",
		Short: "add up what agents spent, by day, project, model and agent",
		Long: `Adds up the tokens that providers reported, as the session files of agents on this machine
record them, and what they cost by the price list (subscriptions and discounts are not known). Abandoned branches count too, and sub-agents that are in the file of their
session; Claude Code now keeps them in files of their own, which are not read. A request that
is in several files counts once. Some versions of Claude Code record too little output.

If the store has the bill of a proxy, the end says what its clients spent, and about what
the same requests would have cost without pleat. The same goes for "pleat run", which leaves
no session files. Neither is in the tables. --saved replays every session under the
proxy's policy, and compares what that would have cost with what the agents sent, with no
compaction at all, and with what Claude Code, Codex and opencode compact by themselves in that
window, as "pleat bench" simulates it; it takes a while.`,
		Example: `# everything
pleat usage
# this month, by project
pleat usage --since 2026-11-01 --by project
# what would the proxy have saved in a window of 200,000 tokens?
pleat usage --saved`,
	}
	fl := c.Flags()
	var o usageFlags
	fl.StringVar(&o.home, "home", "", "look in this `FOLDER` instead of your home folder")
	fl.StringVar(&o.agent, "agent", "", "only sessions of `AGENT`, as \"pleat sessions\" names it")
	fl.StringVar(&o.by, "by", "", "only this table, with all its rows: `WHAT` is day, project, model or agent")
	fl.StringVar(&o.since, "since", "", "requests at or after `TIME`: 2006-01-02, 2006-01-02T15:04 or as in RFC 3339")
	fl.StringVar(&o.until, "until", "", "requests before `TIME`")
	fl.Var(&o.saved, "saved",
		"also replay the sessions in a window of `TOKENS`, 200k if there is no number, and say what that would "+
			"have saved")
	fl.Lookup("saved").NoOptDefVal = "200k"
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 1 && fl.Changed("saved") && o.saved.Set(args[0]) == nil {
			return nil // an optional value of a flag may stand apart from it too
		}
		return noArguments(c, args)
	}
	o.store = stores.Declare(fl)
	prints(p, c, func(ctx context.Context, p *term.Console, _ []string) (term.Result, error) {
		j, err := usageOf(ctx, p, o)
		if err != nil {
			return nil, err
		}
		return j, nil
	})
	return c
}

type usageFlags struct {
	sessionsFlags
	by, since, until string
	saved            term.TokenCount
	store            *stores.Flags
}

// usageJSON is what "pleat usage --json" prints.
type usageJSON struct {
	Format   string        `json:"format"`
	Sessions int           `json:"sessions"` // with requests
	All      spendJSON     `json:"all"`
	Days     []spendJSON   `json:"days"` // in order
	Projects []spendJSON   `json:"projects"`
	Models   []spendJSON   `json:"models"`
	Agents   []spendJSON   `json:"agents"`
	Proxy    *proxy.Tally  `json:"proxy,omitempty"`
	Runs     *spendJSON    `json:"runs,omitempty"` // of "pleat run"; in no other member
	Saved    *replayedJSON `json:"saved,omitempty"`

	by   string // for people: only this table
	some bool   // only requests of a period, or of an agent
}

// spendJSON is what some requests used.
type spendJSON struct {
	Name       string  `json:"name,omitempty"`
	Requests   int     `json:"requests"`
	Input      int     `json:"input_tokens"` // neither read from the cache nor written to it
	CacheRead  int     `json:"cache_read_tokens"`
	CacheWrite int     `json:"cache_write_tokens"`
	Output     int     `json:"output_tokens"`
	USD        float64 `json:"usd"`
	Unpriced   int     `json:"unpriced_requests"` // of models whose price is not known
}

func (s *spendJSON) add(r library.Spent) {
	u := r.Usage
	s.Requests++
	s.Input += u.Input
	s.CacheRead += u.CacheRead
	s.CacheWrite += u.CacheWrite + u.CacheWrite1h
	s.Output += u.Output
	if s.USD += r.USD; r.Unpriced {
		s.Unpriced++
	}
}

// spending adds up requests by name.
type spending map[string]spendJSON

func (s spending) add(name string, r library.Spent) {
	row := s[name]
	row.Name = name
	row.add(r)
	s[name] = row
}

// list is in order of spending.
func (s spending) list() []spendJSON {
	out := slices.AppendSeq([]spendJSON{}, maps.Values(s))
	slices.SortFunc(out, func(a, b spendJSON) int {
		return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Name, b.Name))
	})
	return out
}

func usageOf(ctx context.Context, p *term.Console, o usageFlags) (*usageJSON, error) {
	tables := []string{"day", "project", "model", "agent"}
	if o.by != "" && !slices.Contains(tables, o.by) {
		return nil, term.UsageError(fmt.Sprintf("--by %s: want day, project, model or agent%s", o.by,
			term.DidYouMean("", o.by, tables)))
	}
	var first, end time.Time
	if err := errors.Join(parseTime(o.since, &first), parseTime(o.until, &end)); err != nil {
		return nil, err
	}
	between := func(t time.Time) bool { // a request whose time is not known is in no period
		return !t.Before(first) && (end.IsZero() || !t.IsZero() && t.Before(end))
	}
	tell := p.Progress()
	defer tell.Done()
	lib, err := o.files(p,
		func(done, all int) { tell.Share(done, all, "reading sessions") })
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	j := &usageJSON{Format: "pleat/usage/1", by: o.by, some: o.agent+o.since+o.until != ""}
	by := map[string]spending{"day": {}, "project": {}, "model": {}, "agent": {}}
	var unread []error
	err = lib.Spending(ctx, o.agent, time.Time{}, func(s library.Info, spent []library.Spent, failed error) error {
		counted := make(map[library.Request]bool)
		for _, r := range spent {
			if !between(r.Time) {
				continue
			}
			counted[library.Request{Time: r.Time, Usage: r.Usage}] = true
			day := ""
			if !r.Time.IsZero() {
				day = r.Time.Local().Format(time.DateOnly)
			}
			j.All.add(r)
			for table, name := range map[string]string{"day": day, "project": r.Dir, "model": r.Model, "agent": s.Agent} {
				by[table].add(cmp.Or(name, "(not known)"), r)
			}
		}
		if failed != nil {
			unread = append(unread, failed)
			return nil
		}
		return j.replay(ctx, p, s.File, int(o.saved), counted)
	})
	if err != nil {
		return nil, err
	}
	if len(unread) > 0 {
		tell.Done()
		p.Note("pleat: %s left out, as %v\n", term.Plural(len(unread), "session"), unread[0])
	}
	j.Days, j.Projects, j.Models, j.Agents = by["day"].list(), by["project"].list(), by["model"].list(), by["agent"].list()
	slices.SortFunc(j.Days, func(a, b spendJSON) int { return strings.Compare(a.Name, b.Name) })
	return j, j.readStore(ctx, p, o, between)
}

// readStore adds what the store has: the bill of its proxies, and the requests of "pleat run". There
// may be no store.
func (j *usageJSON) readStore(ctx context.Context, p *term.Console, o usageFlags, between func(time.Time) bool) error {
	st, _, err := stores.OpenAs(ctx, p, o.store, stores.ReadOnly)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer st.Close()
	b, err := proxy.ReadBill(ctx, st)
	if err != nil {
		return err
	}
	if b.All.Requests > 0 {
		j.Proxy = &b.All
	}
	lib := library.New(library.Options{Store: st, Tenant: o.store.Tenant})
	spent, err := lib.Spent(ctx, time.Time{})
	runs := spendJSON{}
	for _, s := range spent {
		billed := func(r proxy.BillRow) bool { return r.Session == s.ID }
		proxied := strings.Contains(s.ID, "/") || slices.ContainsFunc(b.Rows, billed) // a principal stands before it
		if !proxied && !library.IsRehearsal(s.ID) && between(s.Time) {
			runs.add(s)
		}
	}
	if runs.Requests > 0 && o.agent == "" {
		j.Runs = &runs
	}
	return err
}
