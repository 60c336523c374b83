package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// insideClaude is Claude Code with pleat's hooks inside, as where mods are not allowed.
func insideClaude(t *testing.T) *inside {
	dir := clientsFolder(t, false)
	r := newInside(t, dir, "claude", 24)
	r.setup(t, "claude")
	r.pageOnly(t)
	return r
}

// TestClientsInsideTwo runs two clients at the same time in one folder: neither is told what
// the other's user typed.
func TestClientsInsideTwo(t *testing.T) {
	t.Parallel()
	one := insideClaude(t)
	two := newInside(t, one.drivenBy.Dir, "claude", 24)
	two.drivenBy.Home = one.drivenBy.Home
	var both sync.WaitGroup
	both.Go(func() { one.done(t, upstreamtest.GoOn+" The first is OCELOT-42.") })
	both.Go(func() { two.done(t, upstreamtest.GoOn+" The second is QUOKKA-9.") })
	both.Wait()
	for r, words := range map[*inside][2]string{one: {"OCELOT-42", "QUOKKA-9"}, two: {"QUOKKA-9", "OCELOT-42"}} {
		all := strings.Join(r.bodies, "\n")
		last := r.bodies[len(r.bodies)-1]
		page := strings.Contains(last, "[pleat: messages")
		if !page || !strings.Contains(last, words[0]) || strings.Contains(all, words[1]) {
			t.Errorf("%s is not there, or %s is", words[0], words[1])
		}
	}
}

// TestClientsInsideProxy runs a client with pleat inside behind a proxy of pleat's: what is
// inside steps back, and the proxy writes the page.
func TestClientsInsideProxy(t *testing.T) {
	t.Parallel()
	r := insideClaude(t)
	d := drive{realClient: r.realClient, dir: r.drivenBy.Dir, window: 200_000, server: r.server}
	r.drivenBy.Base = d.inProcess(t, r.drivenBy.Base, r.drivenBy.Base)
	r.done(t, insideFirst+" "+upstreamtest.GoOn)
	_, page, _ := strings.Cut(r.bodies[len(r.bodies)-1], "[pleat: the client has compacted this conversation.")
	if !strings.Contains(page, "- message 1: "+insideFirst) || !strings.Contains(page, "made-1.txt") {
		t.Errorf("there is no page, or what the user typed or a file is not on it: %.5000s", page)
	}
	if files, _ := filepath.Glob(filepath.Join(r.drivenBy.Home, ".local/share/pleat/hook/*")); len(files) > 0 {
		t.Errorf("the hook ran: %v", files)
	}
}

// TestClientsInsideAgent lets a sub-agent of Claude Code compact. What its hooks name is the file of
// the main conversation, which is none of its business.
func TestClientsInsideAgent(t *testing.T) {
	t.Parallel()
	r := insideClaude(t)
	r.server = newUpstream(upstreamtest.Options{Calls: 2, Bytes: 24_000, AgentAt: 1, Agent: 10, Inside: true})
	r.done(t, "Work through the steps.")
	if all := strings.Join(r.bodies, "\n"); strings.Contains(all, "[pleat: ") {
		t.Error("there is a page")
	}
}

// TestClientsInsideNot runs clients in a project that does not want pleat inside.
func TestClientsInsideNot(t *testing.T) {
	dir := clientsFolder(t, false)
	for client, agent := range insideClients {
		if testing.Short() && agent == "opencode" {
			continue // it takes half a minute
		}
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			r := newInside(t, dir, client, 24)
			r.setup(t, agent)
			work := filepath.Join(r.drivenBy.Home, "work")
			must(t, os.MkdirAll(work, 0o700))
			writeTest(t, filepath.Join(work, "pleat.toml"), []byte("inside = false\n"))
			r.done(t, insideFirst+" "+upstreamtest.GoOn)
			if all := strings.Join(r.bodies, "\n"); strings.Contains(all, "[pleat: ") {
				t.Error("there is a page")
			}
		})
	}
}

// TestClientsInsideLocked runs a client while another program keeps the store locked: the page
// comes from the session's file.
func TestClientsInsideLocked(t *testing.T) {
	t.Parallel()
	r := insideClaude(t)
	r.pleat(t, "store", "migrate")
	path := filepath.Join(r.drivenBy.Home, ".local/share/pleat/pleat.db")
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	r.done(t, insideFirst+" "+upstreamtest.GoOn)
	last := r.bodies[len(r.bodies)-1]
	if !strings.Contains(last, "[pleat: messages") || !strings.Contains(last, insideFirst) {
		t.Error("there is no page, or what the user typed is not there")
	}
	data, err := os.ReadFile(filepath.Join(r.drivenBy.Home, ".local/share/pleat/hook/claude.json"))
	if err != nil || !strings.Contains(string(data), `"error":`) {
		t.Errorf("the doctor is told nothing: %s, %v", data, err)
	}
	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}

// TestClientsInsideLimit lets the user type more than clients take from a hook, in letters that
// have several bytes: the page comes whole all the same, with the newest words in it.
func TestClientsInsideLimit(t *testing.T) {
	dir := clientsFolder(t, false)
	for _, client := range []string{"claude", "codex"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			r := newInside(t, dir, client, 24)
			r.setup(t, client)
			r.pageOnly(t)
			r.drivenBy.Prompt = insideFirst + "\n" + tooMuch()
			r.twice(t)
			seen := 0
			for i, body := range r.bodies {
				at := strings.LastIndex(body, "[pleat: messages 1 to")
				if at < 0 {
					continue
				}
				seen++
				page := body[at:]
				if client == "claude" {
					page = body // its parts come in any order
				}
				if strings.Contains(body, "Preview (first") || strings.Contains(page, "tokens truncated") ||
					!strings.Contains(page, "ledger() lists every call") || !strings.Contains(page, insideLater) {
					t.Fatalf("the page in request %d is cut:\n%.12000s", i, page)
				}
			}
			if seen == 0 {
				t.Error("no request has a page")
			}
		})
	}
}

// tooMuch is more text than fits into a page.
func tooMuch() string {
	var b strings.Builder
	for i := range 400 {
		b.WriteString("Über die Größe der Öfen, Punkt " + strings.Repeat("ä", i%17+1) + ".\n")
	}
	return b.String()
}

// TestClientsInsideLate drives Qwen Code, which does not wait for its hook: the page comes with
// the second request after a compaction. The model that writes the summary is told a short one.
func TestClientsInsideLate(t *testing.T) {
	dir := clientsFolder(t, testing.Short())
	t.Parallel()
	r := newInside(t, dir, "qwen", 24)
	r.setup(t, "qwen")
	r.done(t, insideFirst+"\n"+tooMuch())
	last := r.bodies[len(r.bodies)-1]
	_, page, _ := strings.Cut(last, "[pleat: messages 1 to")
	if !strings.Contains(page, insideFirst) || !strings.Contains(page, "ledger() lists every call") {
		t.Errorf("what the user typed is not there, or the page is cut:\n%.12000s", page)
	}
	for i, x := range r.server.Log() {
		_, brief, told := strings.Cut(r.bodies[i], "Copy what follows into the summary, word for word, names and handles, too:")
		told = told && strings.Contains(brief, insideFirst) && strings.Contains(brief, "ledger() lists every call")
		if x.Summary && !told {
			t.Errorf("request %d: the summary's writer is told %.5000s", i, brief)
		}
	}
}

var viewStub = regexp.MustCompile(`unfold\(\\"([0-9a-z]{8})\\", session: \\"([a-z0-9A-Z_~-]+)\\"\)`)

// TestClientsInsideReplaced drives clients in which pleat replaces compaction. No model is asked for a summary, each
// request has what the user typed, unfold gives back what was folded, and a client that is started again sends what it
// sent before.
func TestClientsInsideReplaced(t *testing.T) {
	dir := clientsFolder(t, false)
	for client, agent := range insideReplaced {
		for _, parallel := range []int{1, 2} {
			if testing.Short() && (parallel == 2 || agent == "opencode") { // which takes half a minute to start
				continue
			}
			t.Run(fmt.Sprint(client, "/", parallel), func(t *testing.T) {
				t.Parallel()
				r := newInside(t, dir, client, 30)
				r.server = newUpstream(upstreamtest.Options{
					Calls: 30, Bytes: 24_000, PauseAt: 15, Files: true, Inside: true, Parallel: parallel, Thinking: parallel == 2,
				})
				r.setup(t, agent)
				if out := r.twice(t); !strings.Contains(out, "All 30 steps are done") {
					t.Errorf("the client's last words: %s", tail(out, 2000))
				}
				r.checkReplaced(t)
			})
		}
	}
}

func (r *inside) checkReplaced(t *testing.T) {
	folds, prompts := 0, []string{insideFirst}
	var before []any
	log := r.server.Log()
	for i, x := range log {
		if x.Status != 200 || len(x.Violations) > 0 || x.Summary {
			t.Errorf("request %d: %+v", i, x)
		}
		if x.Side {
			continue
		}
		if strings.Contains(r.bodies[i], insideLater) {
			prompts = []string{insideFirst, insideLater}
		}
		for _, p := range prompts {
			if !strings.Contains(r.bodies[i], p) {
				t.Errorf("request %d: what the user typed is not there: %s", i, p)
			}
		}
		now := messagesOf(t, r.bodies[i])
		if same := commonLen(before, now); same < len(before) {
			if x.Folded { // Claude Code changes its first message by itself
				folds++
			}
		}
		before = now
	}
	last := r.bodies[len(r.bodies)-1]
	stubs := viewStub.FindAllStringSubmatch(last, -1)
	t.Logf("%d requests, %d times folded, %d stubs in the last", len(log), folds, len(stubs))
	if folds < 3 || len(stubs) == 0 {
		t.Fatalf("folded %d times, %d stubs", folds, len(stubs))
	}
	if got := r.pleat(t, "unfold", stubs[0][1], "--session", stubs[0][2]); len(got) < 20_000 {
		t.Errorf("%v gives back %d bytes", stubs[0], len(got))
	}
}

// messagesOf are the messages of a request, without marks of caches.
func messagesOf(t *testing.T, body string) []any {
	t.Helper()
	var request struct{ Messages []any }
	must(t, json.Unmarshal([]byte(cacheMark.ReplaceAllString(body, "")), &request))
	return request.Messages
}

var cacheMark = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

// commonLen is how many messages two requests begin with.
func commonLen(a, b []any) int {
	for i := range min(len(a), len(b)) {
		if !reflect.DeepEqual(a[i], b[i]) {
			return i
		}
	}
	return min(len(a), len(b))
}

// insideFails are programs that stand where pleat was when the client was set up.
var insideFails = map[string]string{
	"missing": "",
	"killed":  "#!/bin/sh\nkill -9 $$\n",
	"refuses": "#!/bin/sh\necho no >&2\nexit 2\n",
	"babbles": "#!/bin/sh\necho '{\"hookSpecificOutput\": 7'\n",
	"hangs":   "#!/bin/sh\nexec sleep 30\n",
}

// TestClientsInsideFails drives real clients whose hooks fail in all ways: they compact and go
// on as without pleat.
func TestClientsInsideFails(t *testing.T) {
	dir := clientsFolder(t, runtime.GOOS == "windows")
	for client, agent := range insideClients {
		for how, program := range insideFails {
			if agent == "opencode" && (testing.Short() || how != "hangs" && how != "missing") {
				continue // it takes half a minute each time
			}
			t.Run(client+"/"+how, func(t *testing.T) {
				t.Parallel()
				r := newInside(t, dir, client, 24)
				r.setup(t, agent) // with all that replaces compaction
				r.replace(t, program)
				r.done(t, insideFirst+" "+upstreamtest.GoOn)
			})
		}
	}
}

// done runs the client once, until all steps are done.
func (r *inside) done(t *testing.T, prompt string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r.drivenBy.Prompt = prompt
	out, err := r.Run(ctx, r.drivenBy)
	if err != nil || !strings.Contains(out, "steps are done") && !strings.Contains(out, "I wait") {
		t.Errorf("the client's last words: %v\n%s", err, tail(out, 2000))
	}
	compacted := false
	for i, x := range r.server.Log() {
		compacted = compacted || x.Compacted
		if x.Status != 200 || len(x.Violations) > 0 {
			t.Errorf("request %d: status %d, %v", i, x.Status, x.Violations)
		}
	}
	if !compacted {
		t.Error("the client did not compact")
	}
}

// replace puts another program in pleat's place: no program if the text is empty.
func (r *inside) replace(t *testing.T, program string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "other")
	if program != "" {
		must(t, os.WriteFile(name, []byte(program), 0o700))
	}
	found := false
	for _, config := range []string{
		".claude/settings.json", ".codex/hooks.json", ".pi/agent/extensions/pleat.js",
		".config/opencode/plugins/pleat.js", ".claude/skills/pleat/hooks/register.js",
	} {
		path := filepath.Join(r.drivenBy.Home, filepath.FromSlash(config))
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		was := pleatProgram(t)
		found = found || strings.Contains(string(text), was)
		quick := strings.NewReplacer(was, name, `"timeout": 10`, `"timeout": 1`, "timeout: 10000", "timeout: 1000",
			"timeoutMs: 10_000", "timeoutMs: 1_000")
		writeTest(t, path, []byte(quick.Replace(string(text))))
	}
	if !found {
		t.Fatal("the client has no configuration")
	}
}

// pleatProgram is this program, as it is written into configurations.
func pleatProgram(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("pleat")
	must(t, err)
	if path, err = filepath.EvalSymlinks(path); err != nil {
		t.Fatal(err)
	}
	return path
}
