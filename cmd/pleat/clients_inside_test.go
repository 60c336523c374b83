package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// What the user of the sessions below types. The summaries of the scripted server have none of it.
const (
	insideFirst = "Work through the steps. Never touch zebra.txt, whatever a result says; the code name is OCELOT-42."
	insideLater = upstreamtest.GoOn +
		" From now on dates are written like 2026-W46, and the branch is feature/quokka-9."
)

// insideClients are the clients that pleat can be put into.
var insideClients = map[string]string{
	"claude": "claude", "codex": "codex", "opencode-messages": "opencode", "pi-messages": "pi",
}

// insideReplaced are those in which pleat replaces compaction.
var insideReplaced = map[string]string{"claude": "claude", "opencode-messages": "opencode", "pi-messages": "pi"}

// TestClientsInside puts pleat into real clients with "pleat setup CLIENT --inside" and drives
// them without a proxy, until they have compacted at least twice by themselves, against a
// server whose summaries forget what matters. After each compaction the model must be sent
// what the user typed, every changed file and handles; without pleat it is not.
func TestClientsInside(t *testing.T) {
	dir := clientsFolder(t, false)
	for client, agent := range insideClients {
		for _, calls := range []int{0, 24, 60} { // 0: without pleat
			if agent == "pi" && calls > 0 { // which never compacts with pleat
				continue
			}
			if testing.Short() && (calls == 60 || calls == 0 && agent == "opencode") { // which takes half a minute
				continue
			}
			t.Run(client+"/"+strconv.Itoa(calls), func(t *testing.T) {
				t.Parallel()
				r := newInside(t, dir, client, cmp.Or(calls, 24))
				if calls > 0 {
					r.setup(t, agent)
					r.pageOnly(t)
				}
				out := r.twice(t)
				if want := fmt.Sprintf("All %d steps are done", calls); calls > 0 && !strings.Contains(out, want) {
					t.Errorf("the client's last words: %s", tail(out, 2000))
				}
				r.check(t, calls > 0)
				if calls > 0 {
					r.checkLast(t)
				}
			})
		}
	}
}

// inside is a client without a proxy, and what the server was sent.
type inside struct {
	realClient
	drivenBy clientRun
	server   *upstreamtest.Server

	mu     sync.Mutex
	bodies []string
}

func newInside(t *testing.T, dir, name string, calls int) *inside {
	r := &inside{realClient: clientIn(t, dir, name)}
	o := upstreamtest.Options{Calls: calls, Bytes: 24_000, PauseAt: 4, Files: true, Inside: true}
	if name == "qwen" { // whose model does not know at once what it shall go on with
		o.PauseAt = 0
	}
	r.server = newUpstream(o)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		if req.Method == http.MethodPost && !strings.HasSuffix(req.URL.Path, "count_tokens") {
			r.mu.Lock()
			r.bodies = append(r.bodies, string(body))
			r.mu.Unlock()
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		r.server.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	r.drivenBy = clientRun{Dir: dir, Home: t.TempDir(), Base: server.URL, Window: 100_000, Prompt: insideFirst}
	return r
}

// pleat runs a command in the client's home.
func (r *inside) pleat(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "pleat", args...)
	cmd.Env = []string{"HOME=" + r.drivenBy.Home, "PATH=" + os.Getenv("PATH")}
	if data := filepath.Join(r.drivenBy.Home, ".data"); strings.HasPrefix(r.Name, "opencode") {
		cmd.Env = append(cmd.Env, "XDG_DATA_HOME="+data) // as it is driven
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pleat %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (r *inside) setup(t *testing.T, agent string) {
	r.drivenBy.Hooks = true
	r.pleat(t, "setup", agent, "--inside", "--yes")
	if config, ok := map[string]string{"codex": ".codex/config.toml", "qwen": ".qwen/settings.json"}[agent]; ok {
		data, err := os.ReadFile(filepath.Join(r.drivenBy.Home, config))
		must(t, err)
		r.drivenBy.Config = string(data)
	}
}

// pageOnly lets the client compact by itself: opencode sends all results, and Claude Code has no mod.
func (r *inside) pageOnly(t *testing.T) {
	must(t, os.RemoveAll(filepath.Join(r.drivenBy.Home, ".claude/skills/pleat")))
	path := filepath.Join(r.drivenBy.Home, ".config/opencode/plugins/pleat.js")
	if text, err := os.ReadFile(path); err == nil {
		writeTest(t, path, bytes.Replace(text, []byte("let asks = true"), []byte("let asks = false"), 1))
	}
}

// twice runs the client with its prompt, and then with what the user says later. Without pleat
// the model loses that, and waits for it.
func (r *inside) twice(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	out, err := r.Run(ctx, r.drivenBy)
	if err == nil {
		r.drivenBy.Continue, r.drivenBy.Prompt = true, insideLater
		out, err = r.Run(ctx, r.drivenBy)
	}
	if err != nil {
		t.Errorf("the client's last words: %v\n%s", err, tail(out, 2000))
	}
	return out
}

// check looks at the first request after each compaction.
func (r *inside) check(t *testing.T, with bool) {
	log := r.server.Log()
	if len(log) != len(r.bodies) {
		t.Fatalf("%d bodies, %d exchanges", len(r.bodies), len(log))
	}
	compactions, before := 0, false
	for i, x := range log {
		if x.Status != 200 || len(x.Violations) > 0 {
			t.Errorf("request %d: status %d, %v", i, x.Status, x.Violations)
		}
		if x.Side {
			before = before || x.Summary
			continue
		}
		if with && r.Name != "codex" && strings.Contains(r.bodies[i], "What the newest calls answered") {
			t.Errorf("request %d has the newest results twice", i)
		}
		if strings.Contains(r.bodies[i], "Preview (first") {
			t.Errorf("request %d has a preview of a page", i)
		}
		page := strings.LastIndex(r.bodies[i], "[pleat: messages 1 to ")
		if !before && (page < 0 || compactions > 0 && x.Messages > log[i-1].Messages) {
			continue // no compaction was before it
		}
		before = false
		compactions++
		r.checkAfter(t, i, x.Step, with)
	}
	t.Logf("%d requests, %d compactions", len(log), compactions)
	if compactions < 2 && (with || compactions < 1) {
		t.Errorf("%d compactions, want two", compactions)
	}
}

var handleInText = regexp.MustCompile(`[ (\[][0-9a-z]{8}[\])]`)

// checkAfter looks at a request that follows a compaction.
func (r *inside) checkAfter(t *testing.T, i, step int, with bool) {
	t.Helper()
	body := r.bodies[i]
	for _, typed := range []string{insideFirst, insideLater} {
		if !with && r.Name == "codex" {
			break // which keeps what the user typed by itself
		}
		if has := strings.Contains(body, typed); has != with {
			t.Errorf("request %d, after a compaction (step %d): what the user typed is there: %v, want %v", i,
				step, has, with)
		}
	}
	if !with {
		if strings.Contains(body, "made-1.txt") {
			t.Errorf("after the compaction in request %d (step %d): a file's name is there", i, step)
		}
		return
	}
	for n := 1; n < step; n++ { // the newest call may be there itself
		if !strings.Contains(body, "made-"+strconv.Itoa(n)+".txt") && !listed(body, n) {
			t.Errorf("after the compaction in request %d (step %d): no made-%d.txt", i, step, n)
		}
	}
	if !handleInText.MatchString(body) {
		t.Errorf("request %d has no handles", i)
	}
}

// listed finds a file in a list of names such as made-{1,2}.txt.
func listed(body string, n int) bool {
	for _, m := range regexp.MustCompile(`made-\{([^}]*)\}`).FindAllStringSubmatch(body, -1) {
		if slices.Contains(strings.Split(m[1], ","), strconv.Itoa(n)+".txt") {
			return true
		}
	}
	return false
}

var pageSession = regexp.MustCompile(`with session: \\*"([a-z0-9~-]+)\\*"`)

// checkLast starts the client once more: the page is still there, and its handles give back what
// they stand for.
func (r *inside) checkLast(t *testing.T) {
	t.Helper()
	r.drivenBy.Prompt = "Thank you."
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	if out, err := r.Run(ctx, r.drivenBy); err != nil {
		t.Errorf("%v: %s", err, tail(out, 2000))
	}
	body := r.bodies[len(r.bodies)-1]
	_, page, ok := strings.Cut(body, "[pleat: messages 1 to")
	session := pageSession.FindStringSubmatch(page)
	handle := handleInText.FindString(page)
	if !ok || session == nil || handle == "" {
		t.Fatalf("after a restart there is no page: %v %q", session, handle)
	}
	if got := r.pleat(t, "unfold", strings.Trim(handle, " ([])"), "--session", session[1]); got == "" {
		t.Errorf("%s gives back nothing", handle)
	}
}
