package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// TestClients drives real, unmodified clients through the proxy against a scripted model
// server. No client may notice, no request may be illegal, no result may be folded before
// the model has seen it, and unless they are made to, clients may not compact by themselves.
// The results are written as a table to the file that PLEAT_CLIENTS_TABLE names.
func TestClients(t *testing.T) {
	dir := clientsFolder(t, false)
	page, _ := os.ReadFile(os.Getenv("PLEAT_CLIENTS_TABLE")) // there may be none yet
	table := newClientTable(string(page))
	t.Run("all", func(t *testing.T) {
		for _, sc := range clientScenarios {
			for _, c := range realClients {
				if !sc.any && !c.Whole || c.Can&sc.needs != sc.needs || testing.Short() && !sc.inShort(c) {
					continue
				}
				t.Run(sc.name+"/"+c.Name, func(t *testing.T) {
					t.Parallel()
					clientIn(t, dir, c.Name)
					script := sc.script
					script.Binds = true
					d := drive{realClient: c, dir: dir, window: sc.window}
					if script.HoldAt > 0 {
						d.held = httptest.NewUnstartedServer(nil).Listener
						t.Cleanup(func() { d.held.Close() })
						script.Hold = d.held.Addr().String()
					}
					s, bare := newUpstream(script), newUpstream(script)
					t.Cleanup(func() {
						if err := table.set(sc.name, c.Name, !t.Failed(), s.Log(), bare.Log()); err != nil {
							t.Error(err)
						}
					})
					d.server = s
					if c.Can&sc.direct != 0 {
						alone := d
						d.bare, alone.server = bare, bare
						sc.run(t, alone, httpServer(t, bare))
					}
					sc.drive(t, d)
				})
			}
		}
	})
}

// clientsFolder is the folder that .ci/clients has installed the clients in. Without one, or where the test
// is not for, it is skipped.
func clientsFolder(t *testing.T, not bool) string {
	dir := os.Getenv("PLEAT_CLIENTS")
	if dir == "" || not {
		t.Skip("PLEAT_CLIENTS names no folder with the clients' packages, or the test is too long or for another system")
	}
	return dir
}

// steady reports whether a client ends the same way each time. Qwen Code sometimes stops by
// itself on a busy machine.
func steady(c realClient) bool { return c.Name != "qwen" }

// inShort reports whether a client is driven through the scenario in short. Those that take
// long to start only recall.
func (sc *clientScenario) inShort(c realClient) bool {
	slow := !slices.ContainsFunc([]string{"claude", "codex", "gemini", "sdk-", "pi-"},
		func(name string) bool { return strings.HasPrefix(c.Name, name) })
	return sc.short && steady(c) && (!slow || sc.name == "60k")
}

// drive is a client in front of a model server.
type drive struct {
	realClient
	dir    string
	window int // of the proxy
	server *upstreamtest.Server
	bare   *upstreamtest.Server // of the client without the proxy; nil: it is not driven so
	held   net.Listener         // of the command during which the client is interrupted; nil: it never is
}

// drive runs the client and checks what it and the server saw.
func (sc *clientScenario) drive(t *testing.T, d drive) {
	sc.run(t, d, sc.base(t, d))
	log, fails := d.server.Log(), sc.fails
	var bare []upstreamtest.Exchange
	if d.bare != nil {
		bare = d.bare.Log()
	}
	if sc.direct&canThink != 0 && d.bare != nil {
		if fails = refused(bare); len(log) > len(bare)+1 { // the round that the client does not see
			t.Errorf("the server got %d requests, and %d from the client alone", len(log), len(bare))
		}
	}
	checkExchanges(t, log, bare, fails, sc.script.RecallAt > 0)
	sc.checkKind(t, d.realClient, log, bare)
	if t.Failed() {
		for i, x := range log {
			t.Logf("request %d: step %d, %d tokens, status %d, side %v, summary %v, compacted %v, sub-agent %v, offered %v, "+
				"folded %v, recalled "+
				"%.50q", i, x.Step, x.Tokens, x.Status, x.Side, x.Summary, x.Compacted, x.Agent, x.Offered, x.Folded,
				x.Recalled)
		}
	}
}

// breaks lists the rules that requests break.
func breaks(log []upstreamtest.Exchange) (rules []string) {
	for _, x := range log {
		for _, v := range x.Violations {
			rules = append(rules, strings.Fields(v)[0])
		}
	}
	return rules
}

func recalled(x upstreamtest.Exchange) bool { return x.Recalled != "" }

func compacts(x upstreamtest.Exchange) bool { return x.Summary || x.Compacted }

// refused counts the requests that were not answered.
func refused(log []upstreamtest.Exchange) (n int) {
	for _, x := range log {
		if x.Status != 200 {
			n++
		}
	}
	return n
}

// run lets the client work through the script.
func (sc *clientScenario) run(t *testing.T, d drive, base string) {
	o := clientRun{
		Dir: d.dir, Home: t.TempDir(), Base: base, Window: cmp.Or(sc.told, 100_000), Key: sc.key, Others: sc.others,
		Prompt: "Work through the steps.",
	}
	if sc.needs&canClear != 0 {
		o.Config = `{"context":{"clearContextOnIdle":{"toolResultsTotalCharsThreshold":150000}}}`
	}
	if sc.midway {
		o.Base = httpServer(t, d.server)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	first := d.untilHeld(ctx)
	out, err := d.Run(first, o)
	goesOn := sc.needs&canContinue != 0 && err == nil
	switch {
	case d.held != nil:
		if goesOn = true; first.Err() == nil {
			t.Error("the client was not interrupted")
		}
	case sc.script.Endless:
		if err == nil && slices.ContainsFunc(d.server.Log(), recalled) && !strings.Contains(out, "again and again") {
			t.Errorf("the client's turn ended silently: %s", tail(out, 2000))
		}
		if goesOn = d.Can&canContinue != 0; !goesOn && err != nil {
			return
		}
	}
	if goesOn {
		o.Continue, o.Prompt, o.Base = true, upstreamtest.GoOn, base
		out, err = d.Run(ctx, o)
	}
	if want := fmt.Sprintf("All %d steps are done", sc.script.Calls); err != nil || !strings.Contains(out, want) {
		t.Errorf("the client's last words are not %q: %v\n%s", want, err, tail(out, 2000))
	}
}

// untilHeld ends with the context, or when the command runs that waits; it waits as long as
// the context lasts.
func (d drive) untilHeld(ctx context.Context) context.Context {
	if d.held == nil {
		return ctx
	}
	held, interrupt := context.WithCancel(ctx)
	go func() {
		c, err := d.held.Accept()
		interrupt()
		if err == nil {
			<-ctx.Done()
			c.Close()
		}
	}()
	return held
}

func (sc *clientScenario) base(t *testing.T, d drive) string {
	if sc.front != nil {
		return sc.front(t, d)
	}
	server := httpServer(t, d.server)
	return d.inProcess(t, server, server)
}

// checkKind checks what is particular to the scenario.
func (sc *clientScenario) checkKind(t *testing.T, c realClient, log, bare []upstreamtest.Exchange) {
	count := func(is func(upstreamtest.Exchange) bool) (n int) {
		for _, x := range log {
			if is(x) {
				n++
			}
		}
		return n
	}
	turns := count(func(x upstreamtest.Exchange) bool { return !x.Side && !x.Empty }) // then the model asks again
	own := count(compacts)
	most := sc.most + sc.fails
	if sc.script.RecallAt > 0 {
		most += max(sc.script.Recalls, 1) // the rounds that the client does not see
	}
	switch {
	case sc.most > 0 && turns > most:
		t.Errorf("the server got %d requests, want at most %d", turns, most)
	case sc.needs&canCompact != 0 && own == 0:
		t.Error("the client did not compact by itself")
	case sc.needs&canCompact == 0 && own > 0 && c.Can&canRecount == 0 &&
		!slices.ContainsFunc(bare, compacts):
		t.Errorf("%d requests show that the client compacts by itself", own)
	case sc.needs == canAgent && count(func(x upstreamtest.Exchange) bool { return x.Agent }) == 0:
		t.Error("there was no sub-agent")
	}
	if n := count(func(x upstreamtest.Exchange) bool { return !x.Side && !x.Offered }); n > 0 && !sc.midway {
		t.Errorf("%d of %d requests lack the recall tools", n, turns)
	}
}

// checkExchanges checks what the server saw. Rules that the client breaks by itself, it may break.
func checkExchanges(t *testing.T, log, bare []upstreamtest.Exchange, fails int, recall bool) {
	t.Helper()
	recalled, lost, own := "", false, breaks(bare)
	for i, x := range log {
		lost = lost || x.Folded || x.Compacted
		if slices.ContainsFunc(breaks(log[i:i+1]), func(rule string) bool { return !slices.Contains(own, rule) }) {
			t.Errorf("request %d is illegal: %v", i, x.Violations)
		}
		if x.Recalled != "" && recalled == "" { // later the answer may be folded again
			recalled = x.Recalled
		}
	}
	if n := refused(log); n > fails {
		t.Errorf("%d requests were refused, want at most %d", n, fails)
	}
	if recalled != "exact" && (recall && lost || recalled != "") { // some clients cut outputs so much that all fit
		t.Errorf("recalled: %q, want exact", recalled)
	}
}

// httpServer is the address of a model server.
func httpServer(t *testing.T, s http.Handler) string {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// inProcess is the address of a proxy in this process, in front of Anthropic and all others.
func (d drive) inProcess(t *testing.T, anthropic, others string) string {
	p := &term.Console{Stdout: t.Output(), Stderr: t.Output(), Getenv: func(string) string { return "" }}
	f := &proxyFlags{
		store: &stores.Flags{Path: t.TempDir() + "/pleat.db"}, anthropic: anthropic, openai: others, gemini: others,
		window: term.TokenCount(d.window), policy: "default", recall: "tools", quiet: true,
	}
	front, l, end, err := f.start(t.Context(), p, tally.Logger(p.Stderr, false, true), "", "127.0.0.1:0")
	must(t, err)
	s := httptest.NewUnstartedServer(front)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(func() {
		s.Close()
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return s.URL
}

func tail(s string, n int) string { return s[max(len(s)-n, 0):] }
