package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

var (
	inBackticks = regexp.MustCompile("`([^`]+)`")
	itemShows   = regexp.MustCompile("Shows\\s+(?:`[^`]+`,\\s+)*`[^`]+`")
)

// Every file that docs/sources.md names is there.
func TestSourcesFiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/sources.md")
	must(t, err)
	file := regexp.MustCompile("`([a-z][a-z/_]*(?:/|\\.go|/[a-z]+\\.txt|/telemetry))`")
	found := file.FindAllStringSubmatch(string(page), -1)
	if len(found) < 40 {
		t.Errorf("the page names %d files", len(found))
	}
	for _, f := range found {
		if _, err := os.Stat("../../" + f[1]); err != nil && f[1] != "legacy/" {
			t.Error(err)
		}
	}
}

// Every command of docs/sources.md, a line of its own, runs and shows what the items after it say, in the order of the
// page and in one folder.
func TestSourcesPage(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	page, err := os.ReadFile("../../docs/sources.md")
	must(t, err)
	var script strings.Builder
	script.WriteString("env HOME=$WORK\n")
	items := 0
	for _, part := range strings.Split(string(page), "\n`pleat ")[1:] {
		command, list, _ := strings.Cut(part, "`\n")
		if strings.Contains(command, "`") {
			continue // a sentence that begins with a command
		}
		if strings.Contains(list, "`exit status 1`") {
			script.WriteString("! ")
		}
		fmt.Fprintf(&script, "exec pleat %s\n", command)
		for _, item := range itemShows.FindAllString(list, -1) {
			items++
			for _, shows := range inBackticks.FindAllStringSubmatch(item, -1) {
				if file, ok := strings.CutPrefix(shows[1], "./"); ok {
					fmt.Fprintf(&script, "exists-glob %s\n", file)
				} else if shows[1] != "exit status 1" {
					text := regexp.QuoteMeta(shows[1])
					fmt.Fprintf(&script, "stdout '%s'\n", strings.ReplaceAll(text, "'", "''"))
				}
			}
		}
	}
	if items < 40 {
		t.Fatalf("the page has %d items that show something", items)
	}
	dir := t.TempDir()
	writeTest(t, filepath.Join(dir, "sources.txt"), []byte(script.String()))
	testscript.Run(t, testscript.Params{Dir: dir, Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"exists-glob": func(ts *testscript.TestScript, _ bool, args []string) {
			if found, err := filepath.Glob(ts.MkAbs(args[0])); err != nil || len(found) == 0 {
				ts.Fatalf("there is no file %s", args[0])
			}
		},
	}})
}

// A file that names another model at its end is counted by that one from the beginning, as
// if it had been read first.
func TestOtherModelLast(t *testing.T) {
	text := longSession(60)
	const name = "claude-opus-4-5-20251101"
	at := bytes.LastIndex(text, []byte(name))
	text = append(append(bytes.Clone(text[:at]), "gpt-5"...), text[at+len(name):]...)
	got, st := compactFile(t, text)
	want, _ := compactFile(t, text, "--model", "gpt-5")
	if !bytes.Equal(got, want) {
		t.Errorf("with the file's model:\n%.300s\nwith the same by name:\n%.300s", got, want)
	}
	if other, _ := compactFile(t, text, "--model", name); bytes.Equal(other, want) {
		t.Error("both models count alike: the test shows nothing")
	}
	db := openAt(t, st, stores.ReadOnly)
	defer db.Close()
	list, err := library.Stored(t.Context(), db, "")
	if err != nil || len(list) != 1 {
		t.Fatalf("%d sessions, %v, want 1", len(list), err)
	}
	for e, err := range db.Scan(t.Context(), list[0].Key, 1, store.EntrySession) {
		if err != nil || !strings.Contains(string(e.Data), `"model":"gpt-5`) {
			t.Errorf("the session begins with %s, %v", e.Data, err)
		}
	}
}

// compactFile returns what compacting prints, and the store that it was kept in.
func compactFile(t *testing.T, text []byte, args ...string) (out []byte, store string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "session.jsonl")
	writeTest(t, file, text)
	store = filepath.Join(dir, "pleat.db")
	var printed, told bytes.Buffer
	p := &term.Console{Stdout: &printed, Stderr: &told, Getenv: func(string) string { return "" }}
	args = append([]string{"compact", "--json", "--budget", "4k", "--store", store}, append(args, file)...)
	if code := execute(t.Context(), p, args); code != 0 {
		t.Fatalf("pleat %v: code %d: %s", args, code, told.String())
	}
	return bytes.ReplaceAll(printed.Bytes(), []byte(dir), nil), store
}

// What cannot be read to its end is not stored in part.
func TestUnreadableIsNotStored(t *testing.T) {
	dir := t.TempDir()
	file, store := filepath.Join(dir, "session.jsonl"), filepath.Join(dir, "pleat.db")
	var text bytes.Buffer // a Codex rollout, which is read in one pass
	line := func(kind, payload string) {
		fmt.Fprintf(&text, `{"timestamp":"2026-01-02T10:00:00.000Z","type":%q,"payload":{%s}}`+"\n", kind, payload)
	}
	line("session_meta", `"id":"a","cwd":"/home/dev/shop","cli_version":"0.50.0"`)
	line("turn_context", `"model":"gpt-5"`)
	for i := range 400 {
		line("response_item",
			fmt.Sprintf(`"type":"message","role":"user","content":[{"type":"input_text","text":"Word %d."}]`, i))
	}
	text.WriteString("{\"damaged\n")
	writeTest(t, file, text.Bytes())
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		code int
		want string
	}{
		"damage":    {t.Context(), 1, "session.jsonl:403"},
		"cancelled": {cancelled, 130, "stopped"},
	} {
		var told bytes.Buffer
		p := &term.Console{Stdout: &told, Stderr: &told, Getenv: func(string) string { return "" }}
		if code := execute(c.ctx, p, []string{"compact", "--strict", "--store", store, file}); code != c.code ||
			!strings.Contains(told.String(), c.want) {
			t.Errorf("%s: code %d, %q, want %q", name, code, told.String(), c.want)
		}
	}
	db := openAt(t, store, stores.MakeMissing)
	defer db.Close()
	if list, err := library.Stored(t.Context(), db, ""); err != nil || len(list) != 0 {
		t.Errorf("%d sessions are stored, %v", len(list), err)
	}
}
