package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// TestClientsSessions reads the database of the real opencode, with a sub-agent and a compaction: every door has the
// numbers that the server sent, and what the client exports. Nothing beside the database is touched.
func TestClientsSessions(t *testing.T) {
	dir := clientsFolder(t, false)
	c := clientIn(t, dir, "opencode-messages")
	home := t.TempDir()
	s := newUpstream(upstreamtest.Options{Calls: 14, Bytes: 24_000, AgentAt: 3, Thinking: true})
	server := httptest.NewServer(s)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := c.Run(ctx, clientRun{
		Dir: dir, Home: home, Base: server.URL, Window: 100_000, Prompt: "Work through the steps.",
	})
	if err != nil || !strings.Contains(out, "All 14 steps are done") {
		t.Fatalf("%v: %q", err, tail(out, 2000))
	}
	data := filepath.Join(home, ".data", "opencode")
	must(t, os.MkdirAll(filepath.Join(home, ".local"), 0o700))
	must(t, os.Symlink(filepath.Join(home, ".data"), filepath.Join(home, ".local", "share")))
	run := func(program string, into any, args ...string) string {
		t.Helper()
		file, err := os.Create(filepath.Join(home, "out")) // opencode writes no more than 64 KB to a pipe
		must(t, err)
		defer file.Close()
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Stdout = file
		cmd.Env = []string{"HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(home, ".data"), "PATH=" + os.Getenv("PATH")}
		err = cmd.Run()
		out, failed := os.ReadFile(file.Name())
		if err = errors.Join(err, failed); err == nil && into != nil {
			err = json.Unmarshal(out, into)
		}
		if err != nil {
			t.Fatalf("%s %v: %v: %.500s", program, args, err, out)
		}
		return string(out)
	}
	var listed struct {
		Agents []struct{ Sessions []struct{ ID string } }
	}
	run("pleat", &listed, "sessions", "--json", "--limit", "1")
	export := filepath.Join(home, "export.json")
	text := run(c.Program(dir), nil, "export", listed.Agents[0].Sessions[0].ID)
	must(t, os.WriteFile(export, []byte(text[strings.IndexByte(text, '{'):]), 0o600))
	before := databaseFiles(t, data)

	var sessions struct {
		Agents []struct {
			Agent    string
			Sessions []struct {
				ID, Name, Title, Project      string
				Messages, Tokens, Compactions int
				Requests                      int
			}
		}
	}
	run("pleat", &sessions, "sessions", "--json")
	if len(sessions.Agents) != 1 || len(sessions.Agents[0].Sessions) != 2 {
		t.Fatalf("the list has %+v", sessions)
	}
	parent, child := sessions.Agents[0].Sessions[0], sessions.Agents[0].Sessions[1]
	requests, input := 0, 0
	for _, x := range s.Log() {
		if x.Status == 200 && !(x.Side && !x.Summary) { // but that for the title
			requests, input = requests+1, input+x.Tokens
		}
	}
	if parent.Compactions != 1 || child.Compactions != 0 || parent.Requests+child.Requests != requests ||
		parent.Project != filepath.Join(home, "work") || !strings.Contains(child.Title, "subagent") {
		t.Errorf("%d requests; the list has %+v", requests, sessions)
	}
	var usage struct {
		All struct {
			Requests int
			Input    int `json:"input_tokens"`
		}
	}
	run("pleat", &usage, "usage", "--json")
	if usage.All.Requests != requests || usage.All.Input != input {
		t.Errorf("usage has %+v, want %d requests with %d tokens", usage.All, requests, input)
	}
	type shown struct { // without the calls' tokens: an export indents their input
		Messages, Window, Compactions any
		Tools                         []struct {
			Name   string
			Calls  int
			Result int `json:"result_tokens"`
		}
	}
	var fromDatabase, fromExport shown
	run("pleat", &fromDatabase, "show", parent.Name, "--json")
	run("pleat", &fromExport, "show", export, "--json")
	for _, s := range []*shown{&fromDatabase, &fromExport} {
		for _, c := range s.Compactions.([]any) {
			delete(c.(map[string]any), "line")
		}
	}
	if d := difftest.Values(fromExport, fromDatabase); d != "" || len(fromDatabase.Tools) != 2 {
		t.Errorf("- the export has, + the database:\n%s", d)
	}
	if found := run("pleat", nil, "search", "step-14-done"); !strings.Contains(found, parent.Name) {
		t.Errorf("search found %q", found)
	}
	if got, want := run("pleat", nil, "ledger", parent.Name), run("pleat", nil, "ledger", export); len(got) < 500 ||
		strings.Count(got, "\n") != strings.Count(want, "\n") {
		t.Errorf("ledger has %q, of the export %q", got, want)
	}
	run("pleat", nil, "compact", parent.Name, "--budget", "20k", "--dry-run")
	after := databaseFiles(t, data)
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%s was written", name)
		}
	}
}

func databaseFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "opencode.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no database: %v", dir, err)
	}
	all := make(map[string]string)
	for _, name := range files {
		data, err := os.ReadFile(name)
		must(t, err)
		all[filepath.Base(name)] = string(data)
	}
	return all
}

// newUpstream makes a model server that reads what Codex packs.
func newUpstream(o upstreamtest.Options) *upstreamtest.Server {
	o.Decoders = map[string]func(io.Reader) (io.ReadCloser, error){"zstd": unzstd}
	return upstreamtest.New(o)
}

// TestClientsDirect drives the real clients without a proxy: what they do by themselves.
func TestClientsDirect(t *testing.T) {
	dir := clientsFolder(t, false)
	for _, c := range realClients {
		if !c.Whole || testing.Short() && !steady(c) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			clientIn(t, dir, c.Name)
			s := newUpstream(upstreamtest.Options{Calls: 3})
			server := httptest.NewServer(s)
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			out, err := c.Run(ctx, clientRun{
				Dir: dir, Home: t.TempDir(), Base: server.URL, Window: 100_000,
				Prompt: "Work through the steps.",
			})
			if err != nil || !strings.Contains(out, "All 3 steps are done") {
				t.Errorf("%v: %q", err, out) // on one line, as .ci/clients shows only those
			}
			for i, x := range s.Log() {
				if len(x.Violations) > 0 || x.Status != 200 {
					t.Errorf("request %d: %+v", i, x)
				}
			}
		})
	}
}
