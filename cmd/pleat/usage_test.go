package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy"
)

func TestCents(t *testing.T) {
	for usd, want := range map[float64]string{
		0:          "$0.00",
		0.004:      "$0.0040",
		0.01:       "$0.01",
		0.996:      "$1.00",
		1.999:      "$2.00",
		1.004:      "$1.00",
		12345.678:  "$12,345.68",
		999.995001: "$1,000.00",
	} {
		if got := term.Cents(usd); got != want {
			t.Errorf("%v is %s, want %s", usd, got, want)
		}
	}
}

// What went through the proxy is told also where agents left no files, and that it is of no period.
func TestUsageTellsTheBill(t *testing.T) {
	for want, j := range map[string]*usageJSON{
		"Through the proxy\n  2 requests · $1.00":                       {},
		"Through the proxy  ever, by all clients\n  2 requests · $1.00": {some: true, All: spendJSON{Requests: 1}},
	} {
		var out bytes.Buffer
		p := &term.Console{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
		j.Proxy = &proxy.Tally{Requests: 2, USD: 1, Without: 1}
		if err := p.Output(false, j); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v: %q is not in\n%s", err, want, &out)
		}
	}
}

// Where the replay says that pleat costs more, it says why.
func TestSavedSaysWhyNot(t *testing.T) {
	for _, tt := range []struct {
		name            string
		with, none, own float64
		more, thanNone  bool
	}{
		{"cheaper", 5, 10, 6, false, false},
		{"about the same", 5, 4.99, 5, false, false},
		{"than an agent's own", 5, 10, 4, true, false},
		{"than none", 5, 4, 6, false, true},
	} {
		var out bytes.Buffer
		p := &term.Console{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
		j := &replayedJSON{
			USDWith: tt.with, USDWhole: tt.none, USDSent: 9, Agents: []ownJSON{{Name: "codex", USD: tt.own}},
		}
		must(t, p.Output(false, j))
		text := out.String()
		if strings.Contains(text, "it keeps more") != tt.more ||
			strings.Contains(text, "than no compaction") != tt.thanNone {
			t.Errorf("%s:\n%s", tt.name, text)
		}
	}
}

// What "pleat run" spent is told apart from what agents' files and the proxy's bill have, and only
// that of a period where one is asked for.
func TestUsageOfRuns(t *testing.T) {
	d := doors{t, t.TempDir()}
	for _, session := range []pleat.Key{{Session: "run-1"}, {Tenant: "key-1", Session: "proxied"}} {
		d.store(session, "Say hello.")
		p := &term.Console{Stdout: t.Output(), Stderr: t.Output(), Getenv: d.getenv}
		st, err := stores.Open(t.Context(), p, &stores.Flags{Path: d.getenv("PLEAT_STORE")})
		must(t, err)
		m, _ := model.DefaultModels().Lookup("claude-sonnet-4-5")
		s, err := pleat.OpenSession(t.Context(), st, session, &pleat.Options{Model: m})
		if err == nil {
			err = s.Used(t.Context(), model.Usage{Input: 1_000_000, Output: 10})
		}
		must(t, errors.Join(err, st.Close()))
	}
	if got := d.run("usage"); !strings.Contains(got, "With pleat run") ||
		!strings.Contains(got, "1 request · $3.00") {
		t.Errorf("usage does not say what a run cost: %s", got)
	}
	if got := d.run("usage", "--until", "2020-01-01"); strings.Contains(got, "pleat run") {
		t.Errorf("usage of another time has the run: %s", got)
	}
}

// The system prompt and the tools, which files do not have, take part of the window: no request of a
// replay is larger than it.
func TestSavedKeepsToTheWindow(t *testing.T) {
	const head, window, turns = 30_000, 60_000, 35
	var file strings.Builder
	for i := range turns {
		fmt.Fprintf(&file, `{"type":"user","uuid":"u%d","message":{"role":"user","content":"Go on."}}
{"type":"assistant","uuid":"a%[1]d","message":{"id":"m%[1]d","model":"claude-opus-4-5","role":"assistant",`+
			`"content":[{"type":"text","text":%q}],"usage":{"input_tokens":%d}}}
`, i, strings.Repeat(" word", 1000), head+1000*i)
	}
	name := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(name, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &term.Console{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	f, err := sessionfile.Read(t.Context(), p, name, sessionfile.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	counted := make(map[library.Request]bool)
	for rec, err := range f.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Usage != nil {
			counted = map[library.Request]bool{{Time: rec.Time, Usage: *rec.Usage}: true} // the last
		}
	}
	j := &replayedJSON{Window: window}
	if err := j.add(t.Context(), f, counted); err != nil || j.Requests != 1 {
		t.Fatal(j.Requests, err)
	}
	if j.Would < head || j.Would > window || j.Whole < window {
		t.Errorf("the last request has %d tokens with pleat, %d without", j.Would, j.Whole)
	}
}
