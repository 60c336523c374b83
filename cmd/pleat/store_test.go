package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// A proxy's bill is in the store, is listed only for who asks for its tenant, and is not deleted with
// sessions.
func TestListWithoutBill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat.db")
	st := openAt(t, path, stores.MakeMissing)
	var err error
	for _, key := range []store.SessionKey{{Tenant: bill.Tenant, Session: "bill"}, {Tenant: "me", Session: "work"}} {
		_, failed := st.Append(t.Context(), key, 0, store.Entry{Kind: store.EntryBill})
		err = errors.Join(err, failed)
	}
	must(t, errors.Join(err, st.Close()))
	for tenant, want := range map[string]string{"": "work\n", bill.Tenant: "bill\n"} {
		if out, stderr, code := cli(t, path, "store", "list", "--names", "--tenant", tenant); code != 0 || out != want {
			t.Errorf("tenant %q: exit %d: %q %s", tenant, code, out, stderr)
		}
	}
	out, stderr, code := cli(t, path, "store", "gc", "--name", "*", "--all-tenants", "--yes")
	if code != 0 || !strings.Contains(out, "Deleted 1 session") {
		t.Errorf("gc: exit %d: %q %s", code, out, stderr)
	}
}

// A session is named as lists print it, with its tenant, or without.
func TestNamesWithTenant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat.db")
	st := openAt(t, path, stores.MakeMissing)
	key := store.SessionKey{Tenant: "key-6f62", Session: "work"}
	s, err := pleat.OpenSession(t.Context(), st, key, nil)
	if err == nil {
		err = s.Append(t.Context(), transcript.User("Set the limit."))
	}
	must(t, errors.Join(err, st.Close()))
	for _, name := range []string{"key-6f62/work", "work", "key-6f62/w"} {
		for _, args := range [][]string{
			{"show", name},
			{"browse", name},
			{"ledger", name},
			{"search", "limit", "--session", name},
			{"unfold", "m1", "--session", name},
			{"store", "export", name},
		} {
			if out, stderr, code := cli(t, path, args...); code != 0 {
				t.Errorf("%v: exit %d: %s%s", args, code, out, stderr)
			}
		}
	}
	if _, stderr, code := cli(t, path, "store", "forget", "--yes", "key-6f62/wo"); code == 0 ||
		!strings.Contains(stderr, "whole name") {
		t.Errorf("forgot a session by the beginning of its name: %s", stderr)
	}
	if out, stderr, code := cli(t, path, "store", "forget", "--yes", key.String()); code != 0 {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
}

// A file that is no database is not called damaged.
func TestNoStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	writeTest(t, path, []byte(strings.Repeat("not a store\n", 100)))
	_, stderr, code := cli(t, path, "store", "list")
	if code != 1 || !strings.Contains(stderr, "notes.txt is not a store") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// What fails before it has anything to keep makes no store for it.
func TestFailuresMakeNoStore(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	address := strings.TrimPrefix(taken.URL, "http://")
	d := doors{t, t.TempDir()}
	for _, args := range [][]string{
		{"wrap", "clade"},
		{"proxy", "--listen", address},
		{"dash", "--listen", address},
		{"run", "--resume", "nosuch"},
		{"store", "import", "nosuch.jsonl"},
	} {
		d.fails(args...)
		if _, err := os.Stat(d.getenv("PLEAT_STORE")); !os.IsNotExist(err) {
			t.Fatalf("pleat %s made a store: %v", args, err)
		}
	}
}

// A search calls a session as the list does, also if its title comes at the end of a long file.
func TestSearchTellsTheTitle(t *testing.T) {
	d := doors{t, t.TempDir()}
	file := filepath.Join(d.home, ".claude/projects/-shop/long.jsonl")
	titled := `{"type":"ai-title","sessionId":"s","aiTitle":"Find the limit of uploads"}` + "\n"
	writeTest(t, file, append(longSession(3000), titled...))
	for _, args := range [][]string{{"sessions", "--json"}, {"search", "413", "--json"}} {
		var out bytes.Buffer
		home := func(name string) string { return map[string]string{"HOME": d.home}[name] }
		code := execute(t.Context(), &term.Console{Stdout: &out, Stderr: t.Output(), Getenv: home}, args)
		if code != 0 || !strings.Contains(out.String(), `"title": "Find the limit of uploads"`) {
			t.Errorf("pleat %s: code %d, or another title: %.500s", args, code, out.String())
		}
	}
}

// What "pleat sessions --json" says is right to the last member: agents in their order,
// sessions newest first, tokens estimated or counted, and what cannot be read.
func TestSessionsJSON(t *testing.T) {
	home := t.TempDir()
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	long := longSession(20)
	put := func(name string, content []byte, at time.Time) foundSession {
		file := filepath.Join(home, filepath.FromSlash(name))
		writeTest(t, file, content)
		must(t, os.Chtimes(file, at, at))
		return foundSession{Info: library.Info{File: file, Modified: at, Bytes: int64(len(content))}}
	}
	older := put(".claude/projects/p/old.jsonl", long, day)
	newer := put(".claude/projects/p/new.jsonl", long, day.Add(time.Hour))
	broken := put(".pi/agent/sessions/x.jsonl", []byte("not a session\n"), day)
	list := func(args ...string) (out sessionsJSON) {
		text, stderr, code := cli(t, "", append([]string{"sessions", "--json", "--home", home}, args...)...)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		must(t, json.Unmarshal([]byte(text), &out))
		if len(args) == 0 { // then every member is there
			checkShape(t, "sessions", []byte(text))
		}
		return out
	}
	got := list()
	for _, a := range got.Agents {
		for i, s := range a.Sessions {
			if a.Agent == "claude-code" && (!s.Counted || s.Tokens < 100 || s.Messages < 20) {
				t.Errorf("%s: %d tokens in %d messages, counted %v", s.File, s.Tokens, s.Messages, s.Counted)
			}
			if a.Agent == "pi" && s.Problem == "" {
				t.Errorf("%s: nothing is said of what cannot be read", s.File)
			}
			a.Sessions[i] = foundSession{Info: library.Info{File: s.File, Modified: s.Modified, Bytes: s.Bytes}}
		}
	}
	want := sessionsJSON{Format: "pleat/sessions/1", Agents: []agentJSON{
		{Agent: "claude-code", Found: 2, Sessions: []foundSession{newer, older}},
		{Agent: "pi", Found: 1, Sessions: []foundSession{broken}},
	}}
	difftest.Equal(t, want, got, "sessions")
	one := list("--agent", "claude-code", "--limit", "1")
	if len(one.Agents) != 1 || one.Agents[0].Found != 2 || len(one.Agents[0].Sessions) != 1 ||
		one.Agents[0].Sessions[0].File != newer.File {
		t.Errorf("the newest of one agent: %+v", one)
	}
}
