package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

func statusCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Args:  noArguments,
		Short: "show what the proxy did: sessions, folds, cost with and without pleat",
		Long: `Asks the running proxy for the sessions charged last: how full their windows are, how often
they were folded, what was sent instead of what, and what it cost by the price list.`,
		Example: "pleat status",
	}
	fs := c.Flags()
	f := &proxyFlags{store: stores.Declare(fs)}
	fs.StringVar(&f.listen, "listen", "", "ask the proxy that listens on `ADDRESS` (default: as agents are set up)")
	fs.StringVar(&f.tokenFile, "token-file", "", "send the token in `FILE`")
	fs.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	c.RunE = runs(p, f.status)
	return c
}

// ask sends a request to the running proxy that the flags describe, with the token in a
// file.
func (f *proxyFlags) ask(ctx context.Context, method, path, tokenFile string) ([]byte, error) {
	token, err := readToken(tokenFile)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+f.listen+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the proxy at %s: %w", f.listen, err)
	}
	if token != "" {
		req.Header.Set(tokenHeader, token)
	}
	resp, err := direct.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("no proxy runs at %s: \"%s%s\" starts one, --listen names another address",
			f.listen, proxyStart(runtime.GOOS, os.Getenv), at(f.listen))
	}
	if err != nil {
		return nil, fmt.Errorf("ask the proxy at %s: %w", f.listen, err)
	}
	defer resp.Body.Close()
	if isPage(resp) || resp.StatusCode == http.StatusNotFound {
		return nil, f.noProxy()
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the proxy at %s: %s: %s", f.listen, resp.Status,
			term.Clip(term.OneLine(string(body)), 200))
	}
	return body, nil
}

func (f *proxyFlags) noProxy() error {
	return fmt.Errorf("what answers at %s is no pleat proxy: --listen names another address", f.listen)
}

func (f *proxyFlags) drain(ctx context.Context, p *term.Console) error {
	if _, err := f.ask(ctx, http.MethodPost, "/pleat/drain", cmp.Or(f.drainFile, f.tokenFile)); err != nil {
		return err
	}
	p.Printf("New conversations pass the proxy unchanged from now on; it folds those that it has as before. "+
		"\"pleat status%s\" lists them: stop it when they have ended.\n", at(f.listen))
	return nil
}

func (f *proxyFlags) status(ctx context.Context, p *term.Console, _ []string) error {
	f.listen = cmp.Or(f.listen, proxyOf(p))
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return term.UsageError(fmt.Sprintf("--listen %s: %v (want HOST:PORT)", f.listen, err))
	}
	body, err := f.ask(ctx, http.MethodGet, "/pleat/status", f.tokenFile)
	if err != nil {
		return fmt.Errorf(`%w ("pleat usage" and "pleat store list" have what "pleat wrap" did)`, err)
	}
	var s proxyStatus
	if err := json.Unmarshal(body, &s); err != nil || s.Format != statusFormat {
		return f.noProxy()
	}
	f.entitle(ctx, p, s.Sessions)
	return p.Output(f.asJSON, s)
}

// entitle names sessions, and finds how they begin if their store can be read from here. The proxy
// does not tell: its clients may see the status, and not what others said.
func (f *proxyFlags) entitle(ctx context.Context, p *term.Console, list []proxySessionJSON) {
	var all []store.SessionInfo
	st, _, err := stores.OpenAs(ctx, p, f.store, stores.ReadOnly)
	if err == nil {
		defer st.Close()
		all, _ = library.Conversations(ctx, st, "") // those in the list will do
	}
	for _, j := range list {
		all = append(all, store.SessionInfo{Key: j.key()})
	}
	names := library.NamesOf(all)
	for i, j := range list {
		list[i].name = names.Short(j.key())
		first := j.key() // of those that share its beginning
		first.Session, _, _ = strings.Cut(j.Session, "-")
		if first != j.key() && slices.ContainsFunc(all, func(s store.SessionInfo) bool { return s.Key == first }) {
			list[i].name, list[i].fork = names.Of(j.key()), "fork of "+names.Of(first)
		}
		if err == nil {
			list[i].title, _ = library.Begins(ctx, st, j.key())
		}
		if err != nil || j.Messages > 0 || !j.Unchanged() {
			continue // its proxy says
		}
		for _, failed := range st.Scan(ctx, j.key(), 1, store.EntryEpoch) {
			if failed == nil {
				list[i].planned++
			}
		}
	}
}

func (s proxyStatus) Print(p *term.Page) {
	if s.Draining {
		p.Hang("", "draining: new conversations pass unchanged, those below are folded as before")
	}
	if s.Observing {
		p.Line("observing: all requests pass unchanged")
	}
	var alone []proxySessionJSON // a row for each tenant
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
		if n := j.Snapshot.Epoch; s.Observing && n > 0 {
			about[2] = "would have " + folded(proxy.Tally{Epochs: n}) + ": " + about[2]
		} else if j.planned > 0 {
			about = append(about, "only observed: would have "+folded(proxy.Tally{Epochs: j.planned}))
		}
		if j.fork != "" {
			about = append(about, j.fork)
		}
		p.Hang("  ", strings.Join(append(about, billed(j.Tally, j.Snapshot.Trigger)...), " · "))
	}
	if len(alone) > 0 {
		p.Line("%s", p.Bold("requests in no session"))
		p.Hang("  ", "single ones, such as for titles, and those of conversations that began while a proxy drained")
	}
	for _, j := range alone {
		p.Hang("  ", strings.Join(billed(j.Tally, ""), " · "))
	}
	if len(s.Sessions) == 0 {
		p.Line("no conversation has come through yet")
	} else {
		p.Line("%s", p.Bold("all"))
		p.Hang("  ", strings.Join(billed(s.All, ""), " · "))
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

const statusFormat = "pleat/proxy-status/1"

// proxyStatus is what "pleat status --json" prints.
type proxyStatus struct {
	Format    string             `json:"format"`
	Draining  bool               `json:"draining"`
	Observing bool               `json:"observing"` // requests pass unchanged
	Memory    proxy.Memory       `json:"memory"`
	All       proxy.Tally        `json:"all"`
	Sessions  []proxySessionJSON `json:"sessions"` // the one used last first
}

// proxySessionJSON is a session's row of the bill. What a proxy has in memory of it is zero
// if it has not.
type proxySessionJSON struct {
	proxy.BillRow
	Messages int           `json:"messages"`
	Folds    int           `json:"folds"`
	Snapshot fold.Snapshot `json:"snapshot"`

	title   string // how it begins
	name    string // that means no other session
	fork    string // of which; "": it is none
	planned int    // epochs of a session that went out unchanged
}

func (j proxySessionJSON) key() store.SessionKey {
	return store.SessionKey{Tenant: j.Tenant, Session: j.Session}
}

func readStatus(ctx context.Context, h *proxy.Handler) (proxyStatus, error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	bill, err := h.Bill(ctx)
	if err != nil {
		return proxyStatus{}, err
	}
	inMemory := make(map[store.SessionKey]proxy.SessionStatus)
	for _, s := range h.Sessions() {
		inMemory[s.Key] = s
	}
	out := proxyStatus{
		Format: statusFormat, Draining: h.Draining(), Memory: h.Memory(), All: bill.All,
		Sessions: []proxySessionJSON{},
	}
	for _, row := range bill.Rows {
		s := inMemory[store.SessionKey{Tenant: row.Tenant, Session: row.Session}]
		out.Sessions = append(out.Sessions, proxySessionJSON{
			BillRow: row, Messages: s.Messages, Folds: s.Folds,
			Snapshot: asReported(s.Snapshot),
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
		*n = own*s.Tokens/max(all, 1) - told
		told += *n
	}
	return s
}
