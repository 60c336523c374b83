package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

// The newest session is last for every command, whoever had it: an agent with a file, a proxy or a run.
// A rehearsal is only where there is nothing else. What compact makes of a session does not make it newer.
func TestLastIsOneSession(t *testing.T) {
	d := doors{t, t.TempDir()}
	file := filepath.Join(d.home, ".claude/projects/-shop/long.jsonl")
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	used := func(at time.Time) {
		log := bytes.ReplaceAll(longSession(30), []byte("2026-01-02T10:00:00.000Z"),
			[]byte(at.UTC().Format(time.RFC3339)))
		writeTest(t, file, log)
	}
	d.run("demo", "--session", "rehearsal-1")
	d.last("The shop's checkout was down")
	used(time.Now().Add(-time.Hour))
	d.store(store.SessionKey{Tenant: "key-1", Session: "proxied"}, "Through the proxy.")
	d.last("Through the proxy.")
	d.store(store.SessionKey{Session: "run-1"}, "In a run.")
	d.last("In a run.")
	d.run("compact", file, "--budget", "2000", "--quiet", "-o", filepath.Join(d.home, "out"))
	d.last("In a run.")
	d.run("demo", "--session", "rehearsal-2")
	d.last("In a run.")
	if got := d.fails("store", "forget", "last", "--yes"); !strings.Contains(got, "last is run-1") {
		t.Errorf("forget does not say what is last: %s", got)
	}
	used(time.Now().Add(time.Hour))
	d.last("Uploads fail with 413.")
}

// A session is as old as its newest message, for lists and for who deletes by age: reading a file
// that an agent left long ago makes nothing newer, saying something more does.
func TestLastUsedIsOneTime(t *testing.T) {
	d := doors{t, t.TempDir()}
	file := filepath.Join(d.home, "long.jsonl")
	writeTest(t, file, longSession(30))
	d.run("compact", file, "--budget", "2000", "--quiet", "-o", filepath.Join(d.home, "out"))
	name := strings.TrimSpace(d.run("store", "list", "--names"))
	listed, chosen := d.run("store", "list", "--json"), d.run("store", "gc", "--before", "2026-01-03", "--json")
	for _, got := range []string{listed, chosen} {
		if !strings.Contains(got, name) || !strings.Contains(got, `"last": "2026-01-02T`) ||
			strings.Contains(got, `"first"`) {
			t.Errorf("want %s of 2026-01-02, and not when it was stored for its beginning: %s", name, got)
		}
	}
	if got := d.run("store", "gc", "--before", "2026-01-02"); !strings.Contains(got, "no session") {
		t.Errorf("chosen, although it was used on that day: %s", got)
	}
	d.store(store.SessionKey{Session: name}, "And one thing more.")
	if got := d.run("store", "gc", "--older-than", "1h"); !strings.Contains(got, "no session") {
		t.Errorf("chosen, although somebody has just said something in it: %s", got)
	}
}

// store stores a session in which a person says some words.
func (d doors) store(key store.SessionKey, words string) {
	d.Helper()
	p := &term.Console{Stdout: d.Output(), Stderr: d.Output(), Getenv: d.getenv}
	st, err := stores.Open(d.Context(), p, &stores.Flags{Path: d.getenv("PLEAT_STORE")})
	if err != nil {
		d.Fatal(err)
	}
	defer st.Close()
	s, err := pleat.OpenSession(d.Context(), st, key, library.Roughly())
	if err == nil {
		err = s.Append(d.Context(), pleat.User(words), pleat.Assistant(pleat.Call("c1", "Bash", `{"command":"ls"}`)),
			pleat.Results(pleat.Result("c1", "README.md")))
	}
	if err != nil {
		d.Fatal(err)
	}
}

// last checks that every command takes the session with these words for the last one.
func (d doors) last(words string) {
	d.Helper()
	for _, args := range [][]string{
		{"show", "last"},
		{"browse", "last"},
		{"unfold", "m1", "--in", "last"},
		{"unfold", "m1", "--session", "last"},
		{"search", words, "--in", "last"},
		{"search", words, "--session", "last"},
		{"compact", "last", "--quiet"},
	} {
		if got := d.run(args...); !strings.Contains(got, words) {
			d.Errorf("%s: want %q, not %s", args, words, got)
		}
	}
}
