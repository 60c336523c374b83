package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/upstream"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// TestClients drives real, unmodified clients through the proxy against a scripted model
// server: past a small window, with overflows, recalls, parallel calls and failures. No
// client may notice, no request may be illegal, no compaction of the client's own may
// happen. The results are written as a table to the file that PLEAT_CLIENTS_TABLE names.
func TestClients(t *testing.T) {
	dir := os.Getenv("PLEAT_CLIENTS")
	if dir == "" {
		t.Skip("PLEAT_CLIENTS names no folder with the clients' npm packages; .ci/clients installs them")
	}
	var table clientTable
	for _, tt := range []struct {
		name   string
		what   string // for the table
		script upstream.Options
		window int // of the proxy; 0: the model's
		most   int // requests of the client, sub-requests apart
		fails  int // replies of the server that are errors
	}{
		{name: "plain", what: "3 calls", script: upstream.Options{Calls: 3}, most: 4},
		{name: "small window", what: "24 calls of 24 KB, window 60,000", script: upstream.Options{Calls: 24, Bytes: 24_000}, window: 60_000, most: 25},
		{name: "parallel", what: "8 calls, 3 at a time, with thinking", script: upstream.Options{Calls: 8, Parallel: 3, Bytes: 3000, Thinking: true}, most: 4},
		{name: "recall", what: "16 calls of 24 KB, window 60,000; the model recalls a result", script: upstream.Options{Calls: 16, Bytes: 24_000, RecallAt: 12}, window: 60_000, most: 17},
		{name: "recall beside", what: "the same, beside a call of the client's tool", script: upstream.Options{Calls: 16, Bytes: 24_000, RecallAt: 12, Beside: true}, window: 60_000, most: 17},
		{name: "overflow", what: "24 calls of 24 KB; the server refuses prompts above 60,000 tokens", script: upstream.Options{Calls: 24, Bytes: 24_000, Limit: 60_000}, most: 25, fails: 3},
		{name: "refused once", what: "8 calls of 24 KB; the server refuses one request as too long", script: upstream.Options{Calls: 8, Bytes: 24_000, FailAt: 4, Fail: "400"}, most: 9, fails: 1},
	} {
		table.add(tt.what)
		for _, c := range upstream.Clients {
			t.Run(strings.ReplaceAll(tt.name, " ", "-")+"/"+c.Name, func(t *testing.T) {
				if !c.Installed(dir) {
					t.Skipf("%s is not installed in the folder", c.Name)
				}
				if slow := strings.HasPrefix(c.Name, "opencode"); slow && testing.Short() && tt.script.RecallAt == 0 {
					t.Skip("opencode takes long to start: in short it only recalls")
				}
				d := drive{Client: c, dir: dir, window: tt.window}
				s, out, reports := d.run(t, tt.script)
				if want := fmt.Sprintf("All %d steps are done", tt.script.Calls); !strings.Contains(out, want) {
					t.Errorf("the client's last words are not %q:\n%s", want, tail(out, 2000))
				}
				checkExchanges(t, s.Log(), tt.fails, tt.script.RecallAt > 0)
				if n := turns(reports); n > tt.most {
					t.Errorf("the client sent %d requests, want at most %d", n, tt.most)
				}
				table.set(c.Name, !t.Failed(), reports)
			})
		}
	}
	if name := os.Getenv("PLEAT_CLIENTS_TABLE"); name != "" {
		if err := os.WriteFile(name, []byte(table.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// clientTable is what happened, by scenario and client.
type clientTable []clientRow

type clientRow struct {
	what  string
	cells map[string]string
}

func (c *clientTable) add(what string) { *c = append(*c, clientRow{what, make(map[string]string)}) }

// set notes how a client fared in the newest scenario.
func (c *clientTable) set(client string, ok bool, reports []proxy.Report) {
	epochs, hidden := 0, 0
	for _, r := range reports {
		epochs, hidden = epochs+r.Epochs, hidden+r.Hidden
	}
	cell := fmt.Sprintf("%d / %d / %d", turns(reports), epochs, hidden)
	if !ok {
		cell = "**fails** " + cell
	}
	(*c)[len(*c)-1].cells[client] = cell
}

// String is the table in Markdown: a line for each client, with its package and version.
func (c clientTable) String() string {
	var b strings.Builder
	b.WriteString("# Clients\n\nReal, unmodified clients through the proxy, against a scripted model server on this machine. `.ci/clients` writes this page.\n" +
		"Each cell has the client's requests, the epochs that were opened, and the hidden rounds in which the proxy answered recalls. In\n" +
		"every cell the client came to its end, no request was illegal, recalls were exact, and the client did not compact by itself, unless\n" +
		"it says **fails**. A dash: not run.\n\nDriven were " + strings.Join(upstream.Packages(), ", ") + ".\n\n| scenario | what |\n|---|---|\n")
	for i, r := range c {
		fmt.Fprintf(&b, "| %d | %s |\n", i+1, r.what)
	}
	b.WriteString("\n| client |")
	for i := range c {
		fmt.Fprintf(&b, " %d |", i+1)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(c)) + "\n")
	for _, client := range upstream.Clients {
		fmt.Fprintf(&b, "| %s (%s) |", client.Name, client.Model)
		for _, r := range c {
			fmt.Fprintf(&b, " %s |", cmp.Or(r.cells[client.Name], "-"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

type drive struct {
	upstream.Client
	dir    string
	window int
}

// run runs the client through a proxy and returns what the server saw, what the client
// printed, and the proxy's reports.
func (d drive) run(t *testing.T, script upstream.Options) (*upstream.Server, string, []proxy.Report) {
	s := newUpstream(script)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	var reports []proxy.Report
	p := &program{stdout: t.Output(), stderr: t.Output(), getenv: func(string) string { return "" }}
	f := &proxyFlags{
		store: &storeFlags{path: filepath.Join(t.TempDir(), "pleat.db")}, anthropic: server.URL, openai: server.URL, gemini: server.URL,
		window: tokenCount(d.window), policy: "default", recall: "tools", quiet: true,
	}
	o, done, err := f.options(t.Context(), p, f.logger(p), newTally())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := done(); err != nil {
			t.Error(err)
		}
	})
	told := make(chan proxy.Report, 1000)
	o.Report = func(r proxy.Report) { told <- r }
	h, err := proxy.NewHandler(o)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&front{proxy: h, tally: newTally(), store: o.Store})
	t.Cleanup(front.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out, err := d.Run(ctx, upstream.Drive{Dir: d.dir, Home: t.TempDir(), Base: front.URL, Window: 100_000, Prompt: "Work through the steps."})
	if err != nil {
		t.Errorf("%v:\n%s", err, tail(out, 2000))
	}
	close(told)
	for r := range told {
		reports = append(reports, r)
	}
	return s, out, reports
}

func checkExchanges(t *testing.T, log []upstream.Exchange, fails int, recall bool) {
	t.Helper()
	recalled, side := "", 0
	for i, x := range log {
		if len(x.Violations) > 0 {
			t.Errorf("request %d is illegal: %v", i, x.Violations)
		}
		if x.Status != 200 {
			fails--
		}
		if x.Recalled != "" && recalled == "" { // later the answer may be folded again
			recalled = x.Recalled
		}
		if x.Side {
			side++
		}
	}
	if fails < 0 {
		t.Errorf("%d more requests were refused than wanted", -fails)
	}
	if side > 1 { // one may be a title
		t.Errorf("%d side requests: the client compacted by itself", side)
	}
	if recall && recalled != "exact" {
		t.Errorf("recalled: %q, want exact", recalled)
	}
}

// turns counts the requests of a conversation.
func turns(reports []proxy.Report) int {
	n := 0
	for _, r := range reports {
		if r.Session != (store.SessionKey{}) {
			n++
		}
	}
	return n
}

func tail(s string, n int) string { return s[max(len(s)-n, 0):] }
