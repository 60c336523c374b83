package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/transcript"
)

// longSession is a made-up Claude Code log of so many rounds: files read, tests run, one
// file changed in the end.
func longSession(rounds int) []byte {
	var b bytes.Buffer
	parent := "null"
	add := func(id, kind, content string) {
		fmt.Fprintf(&b,
			`{"parentUuid":%s,"isSidechain":false,"cwd":"/home/dev/shop","sessionId":"long","version":"2.1.7","type":%q,"message":{%s"role":%q,"content":%s},"uuid":%q,"timestamp":"2026-01-02T10:00:00.000Z"}`+"\n",
			parent, kind, map[string]string{"assistant": `"id":"m` + id +
				`","model":"claude-opus-4-5-20251101",`}[kind], kind, content, id)
		parent = strconv.Quote(id)
	}
	quote := func(s string) string { q, _ := json.Marshal(s); return string(q) }
	add("u0", "user",
		quote("Uploads fail with 413. Find out why. Never change anything under legacy/: it is frozen for the audit."))
	for i := range rounds {
		id, result := fmt.Sprint(i+1), ""
		call := fmt.Sprintf(`"name":"Read","input":{"file_path":"/home/dev/shop/src/part%03d.go"}`, i)
		for line := range 20 {
			result += fmt.Sprintf("%4d\tfunc part%03d_%d() error { return errLimit%d }\n", line+1, i, line, i*20+line)
		}
		switch {
		case i == 3:
			result = "port = 8081\nupload_limit_bytes = 1048576\nworkers = 4\n"
		case i%7 == 6:
			call = `"name":"Bash","input":{"command":"go test ./..."}`
			result = strings.Repeat("ok  \texample/shop\t0.41s\n", 20)
		case i == rounds-1:
			call = `"name":"Edit","input":{"file_path":"/home/dev/shop/config/server.toml","old_string":"1048576","new_string":"10485760"}`
			result = "The file has been updated."
		}
		add("a"+id, "assistant", fmt.Sprintf(`[{"type":"text","text":"Step %d."},{"type":"tool_use","id":"t%d",%s}]`, i,
			i, call))
		add("u"+id, "user", fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"t%d","content":%s}]`, i, quote(result)))
	}
	add("end", "assistant", `[{"type":"text","text":"The limit was 1 MB; it is 10 MB now."}]`)
	return b.Bytes()
}

// makeSession is a command for the scripts: makesession FILE ROUNDS.
func makeSession() {
	rounds, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = os.WriteFile(os.Args[1], longSession(rounds), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// checkFolds is a script command, checkfolds FILE BUDGET: compacting keeps to the budget,
// and every fold comes back with the hash it was folded under.
func checkFolds(ts *testscript.TestScript, _ bool, args []string) {
	run := func(args ...string) []byte {
		var out, told bytes.Buffer
		p := &term.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &told, Getenv: ts.Getenv}
		if code := execute(context.Background(), p, args); code != 0 {
			ts.Fatalf("pleat %v: code %d: %s", args, code, told.String())
		}
		return out.Bytes()
	}
	var c struct {
		Tokens   struct{ Before, After, Budget int }
		Messages []struct {
			Message int
			Handle  string
			Blocks  []struct{ Text, Handle string }
		}
		Folds []struct {
			Handle, Lever string
			Hash          transcript.Hash `json:"sha256"`
			Bytes         int
		}
		Ledger, Pins, Anchors []any
	}
	folded := run("compact", ts.MkAbs(args[0]), "--budget", args[1], "--pin", "the port is 8081", "--json")
	ts.Check(json.Unmarshal(folded, &c))
	if c.Tokens.After > c.Tokens.Budget || c.Tokens.Before <= c.Tokens.Budget {
		ts.Fatalf("tokens %+v", c.Tokens)
	}
	if n := []int{len(c.Folds), len(c.Ledger), len(c.Anchors), len(c.Pins)}; slices.Contains(n, 0) || n[3] != 1 {
		ts.Fatalf("folds, ledger entries, anchors, pins: %v", n)
	}
	for i := 0; i < len(c.Folds); i += 1 + len(c.Folds)/5 { // some of them: each opens the store
		f, u := c.Folds[i], struct {
			Hash transcript.Hash `json:"sha256"`
		}{}
		ts.Check(json.Unmarshal(run("unfold", f.Handle, "--json"), &u))
		exact := run("unfold", f.Handle, "--exact")
		if got := transcript.HashOf(exact); got != f.Hash || u.Hash != f.Hash || len(exact) != f.Bytes {
			ts.Fatalf("unfold %s: %d bytes, hash %s, %s in JSON, folded as %d and %s",
				f.Handle, len(exact), got, u.Hash, f.Bytes, f.Hash)
		}
	}
	handles := make(map[string]bool)
	for _, f := range c.Folds {
		handles[f.Handle] = true
	}
	for _, m := range c.Messages {
		if m.Message == 0 && !handles[m.Handle] {
			ts.Fatalf("a message of pleat's own without a fold: %+v", m)
		}
		for _, b := range m.Blocks {
			if m.Message > 0 && strings.HasPrefix(b.Text, "[folded: ") && !handles[b.Handle] {
				ts.Fatalf("a stub without a fold: %+v", b)
			}
		}
	}
}

// The shapes of the JSON objects are a contract: testdata/shapes has every member that a
// rich session gives, with its type. Adding lines is fine; removing or changing one is a
// new version.
func TestShapes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "long.jsonl")
	writeTest(t, file, longSession(300))
	env := map[string]string{"PLEAT_STORE": filepath.Join(dir, "pleat.db")}
	for _, args := range [][]string{
		{"show", "show", file},
		{"plan", "compact", file, "--budget", "12k", "--dry-run"},
		{"compact", "compact", file, "--budget", "12k", "--pin", "SHOP-417"},
		{"ledger", "ledger", file},
		{"search", "search", "upload limit", "--in", file},
		{"policies", "config", "policies"},
	} {
		t.Run(args[0], func(t *testing.T) {
			var out, told bytes.Buffer
			p := &term.Console{
				Stdin: strings.NewReader(""), Stdout: &out, Stderr: &told,
				Getenv: func(k string) string { return env[k] },
			}
			if code := execute(t.Context(), p, append(args[1:], "--json")); code != 0 {
				t.Fatalf("code %d: %s", code, told.String())
			}
			checkShape(t, args[0], out.Bytes())
		})
	}
}

func checkShape(t *testing.T, name string, data []byte) {
	t.Helper()
	var v any
	must(t, json.Unmarshal(data, &v))
	members := make(map[string]bool)
	shape("", v, members)
	golden := filepath.Join("testdata", "shapes", name)
	if os.Getenv("PLEAT_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(strings.Join(slices.Sorted(maps.Keys(members)), "\n")+"\n"),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	for line := range strings.Lines(string(want)) {
		if line = strings.TrimSpace(line); !members[line] {
			t.Errorf("%s --json has no member %s", name, line)
		}
	}
}

// shape lists the members of a JSON value with their types.
func shape(path string, v any, members map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			shape(path+"."+k, e, members)
		}
	case []any:
		for _, e := range v {
			shape(path+"[]", e, members)
		}
	case string:
		members[path+" string"] = true
	case float64:
		members[path+" number"] = true
	case bool:
		members[path+" bool"] = true
	}
}
