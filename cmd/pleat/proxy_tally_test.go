package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/upstream"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// The status of a proxy that was started again is the same as before.
func TestStatusAfterRestart(t *testing.T) {
	script := newUpstream(upstream.Options{})
	up := httptest.NewServer(script)
	defer up.Close()
	f := &proxyFlags{
		store: &stores.Flags{Path: filepath.Join(t.TempDir(), "pleat.db")}, policy: "default",
		recall: "tools", openai: up.URL,
	}
	p := &term.Console{Stderr: io.Discard, Getenv: func(string) string { return "" }}
	var seen []proxyStatus
	for i := range 2 {
		o, done, err := f.options(t.Context(), p, slog.New(slog.DiscardHandler), newTally())
		if err != nil {
			t.Fatal(err)
		}
		h, err := proxy.NewHandler(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, tools := range []string{"", `,"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]`} {
			if i > 0 {
				break
			}
			r := httptest.NewRequest(http.MethodPost, "/v1/responses",
				strings.NewReader(`{"model":"gpt-6.1-sol","input":[{"role":"user","content":"Hello."}]`+tools+`}`))
			r.Host = "localhost"
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/pleat/status", nil)
		r.Host = "localhost"
		(&front{proxy: h, tally: newTally(), store: o.Store}).ServeHTTP(w, r)
		var s proxyStatus
		if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		seen = append(seen, s)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := done(); err != nil {
			t.Error(err)
		}
	}
	for _, row := range seen[1].Sessions { // the client has not sent the answer back, so it is not stored
		if row.Session == "" {
			continue
		}
		stored, err := sessionfile.ReadStored(t.Context(), p, f.store, row.Session)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := sessionfile.Overview(stored, 1, &term.Progress{})
		if err != nil || len(shown.Window.Prompts) != row.Requests || row.Requests != 1 {
			t.Errorf("show counts %d requests, the bill has %d (%v)", len(shown.Window.Prompts), row.Requests, err)
		}
	}
	if a, b := seen[0].All, seen[1].All; a != b || a.Requests != 2 || a.USD == 0 ||
		a.Prompt != int64(script.Bill().Input) || len(seen[1].Sessions) != 2 {
		t.Errorf("before %+v, after %+v; %d sessions", a, b, len(seen[1].Sessions))
	}
}

// Tenants' single requests are under one heading, which names none of the models.
func TestStatusAlone(t *testing.T) {
	var b strings.Builder
	p := &term.Console{Stdout: &b, Getenv: func(string) string { return "" }}
	row := func(tenant, model string) proxySessionJSON {
		return proxySessionJSON{BillRow: proxy.BillRow{Tenant: tenant, Model: model, Tally: proxy.Tally{Requests: 1}}}
	}
	err := p.Output(false, proxyStatus{Sessions: []proxySessionJSON{row("a", "opus"), row("b", "haiku")}})
	if err != nil || strings.Count(b.String(), "single requests") != 1 || strings.Contains(b.String(), "opus") {
		t.Errorf("%v, %s", err, &b)
	}
}

// A line of the log says why something was folded; a failure is logged once, by the handler.
func TestLogExchange(t *testing.T) {
	f := &proxyFlags{}
	for want, r := range map[string]proxy.Exchange{
		"folded from 247k (it saves money)": {
			Session: store.SessionKey{Session: "s"}, Status: 200, Folded: true, Epochs: 1,
			Snapshot: fold.Snapshot{Whole: 247_000, Trigger: fold.TriggerPays},
		},
		"200  haiku  no session  1 message  ": {Status: 200, Model: "haiku", Messages: 1},
		"400  passed on, not understood  ":    {Status: 400, Passed: true},
		"":                                    {Session: store.SessionKey{Session: "s"}, Err: errors.New("connection refused")},
	} {
		var b strings.Builder
		f.logExchange(slog.New(&lineLog{w: &b}), r)
		if got := b.String(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("logged %q, want %q", got, want)
		}
	}
	if got := billed(proxy.Tally{Requests: 1, Epochs: 1}, fold.TriggerPays)[1]; got != "folded once (it saves money)" {
		t.Errorf("the status says %q", got)
	}
}
