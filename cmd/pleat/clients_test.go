package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/upstream"
)

// clientScenario is something that happens to a client behind the proxy.
type clientScenario struct {
	name   string
	what   string // for the table
	script upstream.Options
	window int // of the proxy; 0: the model's
	told   int // what the client thinks that the window is; 0: 100,000
	most   int // requests of the client, other than for titles and the like; 0: any number
	fails  int // replies of the server that are errors

	needs upstream.Can // clients without it are not driven
	any   bool         // models and wires matter: all rows are driven, not only one of each client
	short bool         // it is also driven in short
	// Clients that can do this are driven without the proxy too, and may not have fewer errors there.
	direct upstream.Can
	front  func(*testing.T, drive) string
}

var clientScenarios = []clientScenario{
	{
		name: "60k", what: "the model recalls a result, beside a call of the client's " +
			"tool", any: true, short: true,
		script: upstream.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, Beside: true}, window: 60_000, most: 11,
	},
	{
		name: "200k", what: "20 calls of 24 KB, window 200,000; the model recalls a result, alone",
		script: upstream.Options{Calls: 20, Bytes: 24_000, RecallAt: 18}, window: 200_000, told: 200_000, most: 21,
	},
	{
		name: "parallel", what: "8 calls, 3 at a time, with thinking", short: true,
		script: upstream.Options{Calls: 8, Parallel: 3, Bytes: 3000, Thinking: true}, most: 4,
	},
	{
		name: "overflow", what: "10 calls of 24 KB; the server refuses prompts above 60,000 tokens", short: true,
		script: upstream.Options{Calls: 10, Bytes: 24_000, Limit: 60_000}, most: 11, fails: 3,
	},
	{
		name: "refused-once", what: "8 calls of 24 KB; the server refuses one request as too long", short: true,
		script: upstream.Options{Calls: 8, Bytes: 24_000, FailAt: 4, Fail: "400"}, most: 9, fails: 1,
	},
	{
		name: "recall-429", what: "the model recalls a result, and the server answers the " +
			"request with it with 429 at first", any: true,
		script: upstream.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "429"}, window: 60_000,
		most: 11, fails: 1,
	},
	{
		name: "recall-500", what: "the same with 500", any: true,
		script: upstream.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "500"}, window: 60_000,
		most: 11, fails: 1,
	},
	{
		name: "recall-529", what: "the same with 529",
		script: upstream.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "529"}, window: 60_000,
		most: 11, fails: 1,
	},
	{
		name: "recall-silent", what: "the same, but the server is silent and then closes the connection",
		script: upstream.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "silent"}, window: 60_000,
		most: 11, fails: 1,
	},
	{
		name: "recall-cut", what: "the same, but the connection breaks in the middle of the answer",
		script: upstream.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "cut"}, window: 60_000,
		most: 11, fails: 1, needs: upstream.Retry,
	},
	{
		name: "compacts", what: "14 calls of 24 KB, window 200,000; the client takes it for 100,000 and compacts by " +
			"itself; then the model searches for a result that is lost to it; those that keep thinking also without the proxy",
		any: true, direct: upstream.Think,
		script: upstream.Options{Calls: 14, Bytes: 24_000, RecallAt: 12}, window: 200_000, needs: upstream.Compact,
	},
	{
		name: "sub-agent", what: "8 calls of 24 KB, window 60,000; a sub-agent runs two more",
		script: upstream.Options{Calls: 8, Bytes: 24_000, AgentAt: 3}, window: 60_000, needs: upstream.Agent,
	},
	{
		name: "continue", what: "after the 5th the client ends, and is started with " +
			"--continue; then the model recalls a result",
		script: upstream.Options{
			Calls: 10, Bytes: 24_000, PauseAt: 5,
			RecallAt: 7,
		}, window: 60_000, most: 12, needs: upstream.Continue,
	},
	{
		name: "killed", what: "the proxy gets kill -9 during a request and after an " +
			"answer, and is started anew; then the model recalls a result", short: true,
		script: upstream.Options{Calls: 10, Bytes: 24_000, RecallAt: 9}, window: 60_000, most: 12, front: killedFront,
	},
	{
		name: "two-proxies", what: "two proxies on one store answer in turn; the model " +
			"recalls a result",
		script: upstream.Options{Calls: 10, Bytes: 24_000, RecallAt: 7}, window: 60_000, most: 11, front: turnFront,
	},
}

// TestClients drives real, unmodified clients through the proxy against a scripted model
// server. No client may notice, no request may be illegal, no result may be folded before
// the model has seen it, and unless they are made to, clients may not compact by themselves.
// The results are written as a table to the file that PLEAT_CLIENTS_TABLE names.
func TestClients(t *testing.T) {
	dir := os.Getenv("PLEAT_CLIENTS")
	if dir == "" {
		t.Skip("PLEAT_CLIENTS names no folder with the clients' npm packages; .ci/clients installs them")
	}
	page, _ := os.ReadFile(os.Getenv("PLEAT_CLIENTS_TABLE")) // there may be none yet
	table := newClientTable(string(page))
	t.Run("all", func(t *testing.T) {
		for _, sc := range clientScenarios {
			for _, c := range upstream.Clients {
				if !sc.any && !c.Whole || c.Can&sc.needs != sc.needs || testing.Short() && !sc.inShort(c) {
					continue
				}
				t.Run(sc.name+"/"+c.Name, func(t *testing.T) {
					t.Parallel()
					if !c.Installed(dir) {
						t.Skipf("%s is not installed in the folder", c.Name)
					}
					script := sc.script
					script.Binds = true
					s, bare := newUpstream(script), newUpstream(script)
					t.Cleanup(func() {
						if err := table.set(sc.name, c.Name, !t.Failed(), s.Log(), bare.Log()); err != nil {
							t.Error(err)
						}
					})
					d := drive{Client: c, dir: dir, window: sc.window, server: s}
					if c.Can&sc.direct != 0 {
						d.bare = bare
						sc.run(t, d, httpServer(t, bare))
					}
					sc.drive(t, d)
				})
			}
		}
	})
}

// steady reports whether a client ends the same way each time. Qwen Code sometimes stops by
// itself on a busy machine.
func steady(c upstream.Client) bool { return c.Name != "qwen" }

// inShort reports whether a client is driven through the scenario in short. Those that take
// long to start only recall.
func (sc *clientScenario) inShort(c upstream.Client) bool {
	slow := !slices.ContainsFunc([]string{"claude", "codex", "gemini", "sdk-", "pi-"},
		func(name string) bool { return strings.HasPrefix(c.Name, name) })
	return sc.short && steady(c) && (!slow || sc.name == "60k")
}

// drive is a client in front of a model server.
type drive struct {
	upstream.Client
	dir    string
	window int // of the proxy
	server *upstream.Server
	bare   *upstream.Server // of the client without the proxy; nil: it is not driven so
}

// drive runs the client and checks what it and the server saw.
func (sc *clientScenario) drive(t *testing.T, d drive) {
	sc.run(t, d, sc.base(t, d))
	log, fails := d.server.Log(), sc.fails
	if d.bare != nil {
		bare := d.bare.Log()
		if fails = refused(bare); len(log) > len(bare)+1 { // the round that the client does not see
			t.Errorf("the server got %d requests, and %d from the client alone", len(log), len(bare))
		}
	}
	checkExchanges(t, log, fails, sc.script.RecallAt > 0)
	sc.checkKind(t, d.Client, log)
	if t.Failed() {
		for i, x := range log {
			t.Logf("request %d: step %d, %d tokens, status %d, side %v, summary %v, compacted %v, sub-agent %v, offered %v, "+
				"folded %v, recalled "+
				"%.50q", i, x.Step, x.Tokens, x.Status, x.Side, x.Summary, x.Compacted, x.Agent, x.Offered, x.Folded, x.Recalled)
		}
	}
}

// refused counts the requests that were not answered.
func refused(log []upstream.Exchange) (n int) {
	for _, x := range log {
		if x.Status != 200 {
			n++
		}
	}
	return n
}

// run lets the client work through the script.
func (sc *clientScenario) run(t *testing.T, d drive, base string) {
	o := upstream.Drive{Dir: d.dir, Home: t.TempDir(), Base: base, Window: 100_000, Prompt: "Work through the steps."}
	if sc.told > 0 {
		o.Window = sc.told
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	out, err := d.Run(ctx, o)
	if sc.needs&upstream.Continue != 0 && err == nil {
		o.Continue, o.Prompt = true, upstream.GoOn
		out, err = d.Run(ctx, o)
	}
	if want := fmt.Sprintf("All %d steps are done", sc.script.Calls); err != nil || !strings.Contains(out, want) {
		t.Errorf("the client's last words are not %q: %v\n%s", want, err, tail(out, 2000))
	}
}

func (sc *clientScenario) base(t *testing.T, d drive) string {
	if sc.front != nil {
		return sc.front(t, d)
	}
	return d.inProcess(t)
}

// checkKind checks what is particular to the scenario.
func (sc *clientScenario) checkKind(t *testing.T, c upstream.Client, log []upstream.Exchange) {
	count := func(is func(upstream.Exchange) bool) (n int) {
		for _, x := range log {
			if is(x) {
				n++
			}
		}
		return n
	}
	turns := count(func(x upstream.Exchange) bool { return !x.Side && !x.Empty }) // then the model asks again
	own := count(func(x upstream.Exchange) bool { return x.Summary || x.Compacted })
	most := sc.most + sc.fails
	if sc.script.RecallAt > 0 {
		most++ // the round that the client does not see
	}
	switch {
	case sc.most > 0 && turns > most:
		t.Errorf("the server got %d requests, want at most %d", turns, most)
	case sc.needs&upstream.Compact != 0 && own == 0:
		t.Error("the client did not compact by itself")
	case sc.needs&upstream.Compact == 0 && own > 0 && c.Can&upstream.Recount == 0:
		t.Errorf("%d requests show that the client compacts by itself", own)
	case sc.needs == upstream.Agent && count(func(x upstream.Exchange) bool { return x.Agent }) == 0:
		t.Error("there was no sub-agent")
	}
	if n := count(func(x upstream.Exchange) bool { return !x.Side && !x.Offered }); n > 0 {
		t.Errorf("%d of %d requests lack the recall tools", n, turns)
	}
}

func checkExchanges(t *testing.T, log []upstream.Exchange, fails int, recall bool) {
	t.Helper()
	recalled, lost := "", false
	for i, x := range log {
		lost = lost || x.Folded || x.Compacted
		if len(x.Violations) > 0 {
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
func httpServer(t *testing.T, s *upstream.Server) string {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// inProcess is the address of a proxy in this process.
func (d drive) inProcess(t *testing.T) string {
	server := httpServer(t, d.server)
	p := &term.Console{Stdout: t.Output(), Stderr: t.Output(), Getenv: func(string) string { return "" }}
	f := &proxyFlags{
		store: &stores.Flags{Path: t.TempDir() + "/pleat.db"}, anthropic: server, openai: server, gemini: server,
		window: term.TokenCount(d.window), policy: "default", recall: "tools", quiet: true,
	}
	front, l, end, err := f.start(t.Context(), p, f.logger(p), "", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
