package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/difftest"
)

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
	if d := difftest.Values(want, got); d != "" {
		t.Errorf("sessions (-want +got):\n%s", d)
	}
	one := list("--agent", "claude-code", "--limit", "1")
	if len(one.Agents) != 1 || one.Agents[0].Found != 2 || len(one.Agents[0].Sessions) != 1 ||
		one.Agents[0].Sessions[0].File != newer.File {
		t.Errorf("the newest of one agent: %+v", one)
	}
}
