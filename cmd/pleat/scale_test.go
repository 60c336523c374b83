package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
)

// Show and browse count a session alike whose provider counts otherwise than pleat, to the token, and
// what show lists adds up to what it says of the whole.
func TestShowAndBrowseCountAlike(t *testing.T) {
	for _, added := range []int{-200, 0, 900} {
		d := doors{t, t.TempDir()}
		d.scaled(added)
		var show struct {
			Tokens struct {
				All            int
				ByKind, Beside []struct{ Tokens int }
			}
			Largest []struct{ Tokens int }
			View    struct{ Whole, Tokens int }
		}
		must(t, json.Unmarshal([]byte(d.run("show", "scaled", "--json")), &show))
		whole := show.Tokens.All
		for _, s := range show.Tokens.Beside {
			whole += s.Tokens
		}
		if whole != show.View.Whole {
			t.Errorf("added %d: the parts have %d tokens, the whole %d", added, whole, show.View.Whole)
		}
		if seen := show.View.Tokens; max(whole-seen, seen-whole) > whole/100 { // nothing is folded
			t.Errorf("added %d: the whole has %d tokens, and the model sees %d", added, whole, seen)
		}
		plan, page := d.run("compact", "scaled", "--dry-run", "--json", "--budget",
			"4k"), d.page("/dash/plan?s=scaled&budget=4k")
		if got := d.number(plan, `"before": (\d+)`); got != show.Tokens.All {
			t.Errorf("added %d: compact says %d tokens, show %d", added, got, show.Tokens.All)
		}
		if got := d.number(page, `Whole session</dt><dd>([0-9,]+)`); got != show.Tokens.All {
			t.Errorf("added %d: the plan of the dashboard says %d tokens, show %d", added, got, show.Tokens.All)
		}
		if a, b := d.number(plan, `"after": (\d+)`), d.number(page, `After folding</dt><dd>([0-9,]+)`); a != b {
			t.Errorf("added %d: compact folds to %d tokens, the dashboard to %d", added, a, b)
		}
		tree, sum := d.run("browse", "scaled"), 0
		for _, m := range regexp.MustCompile(`(?m)^ *([0-9,]+)  ▾`).FindAllStringSubmatch(tree, -1) {
			sum += d.number(m[1], `(.*)`)
		}
		if sum != show.Tokens.All {
			t.Errorf("added %d: browse has %d tokens, show %d", added, sum, show.Tokens.All)
		}
		if want := term.Thousands(show.Largest[0].Tokens) + "  "; !strings.Contains(tree, " "+want) {
			t.Errorf("added %d: no block of %s in %s", added, want, tree)
		}
		if !strings.Contains(tree, "the model sees ") {
			t.Errorf("added %d: a session without folds is not called so: %s", added, tree)
		}
		if said := d.run("show", "scaled"); !strings.Contains(said, "("+term.Short(whole)+" with ") {
			t.Errorf("show does not say that all has %d tokens: %s", whole, said)
		}
	}
}

// What compact makes of a session is counted as that is, by every door, although no provider reported
// anything for it: of one whose provider counts otherwise, of one whose model is in no table, and of one
// that is counted for another model than its own.
func TestCopiesCountAlike(t *testing.T) {
	d := doors{t, t.TempDir()}
	d.scaled(900)
	d.run("demo", "--session", "demo")
	for _, args := range [][]string{{"scaled"}, {"demo"}, {"scaled", "--model", "gpt-5"}} {
		name, more := args[0], args[1:]
		made := d.run(append([]string{"compact", "--budget", "2500", "--json"}, args...)...)
		before, after := d.number(made, `"before": (\d+)`), d.number(made, `"after": (\d+)`)
		show := d.run(append([]string{"show", "--json"}, args...)...)
		if got := d.number(show, `"all": (\d+),\s+"model"`); got != before {
			t.Errorf("compact says that %s %q has %d tokens, show %d", name, more, before, got)
		}
		copied := regexp.MustCompile(name + `~compact-[0-9a-f]+`).FindString(made)
		show = d.run("show", copied, "--json")
		if got := d.number(show, `"whole": (\d+)`); got != before {
			t.Errorf("compact says that %s %q has %d tokens, show of its copy %d", name, more, before, got)
		}
		if got := d.number(show, `"view": \{[^}]*"tokens": (\d+)`); got != after {
			t.Errorf("compact leaves %d tokens of %s %q, show of its copy says %d", after, name, more, got)
		}
		about := term.Short(after) + " of " + term.Short(before) + " tokens are left"
		if got := d.run("browse", copied); !strings.Contains(got, about) {
			t.Errorf("browse of %s %q does not say %s: %s", copied, more, about, got)
		}
		row := term.Thousands(before) + `<.*?>` + term.Thousands(after) + `<`
		if page := d.page("/dash/session?s=" + name); !regexp.MustCompile(`(?s)Compacted with pleat.*` + row).MatchString(page) {
			t.Errorf("the page of %s %q does not say %s", name, more, row)
		}
		if page := d.page("/dash/session?s=" +
			copied); d.number(page, `at message.*?data-l="after">([0-9,]+)<`) != after ||
			!strings.Contains(page, "In the window now</dt><dd>"+term.Short(after)) {
			t.Errorf("the page of %s %q does not say %d", copied, more, after)
		}
	}
}

// What was folded in a stored session is found in it by every handle, also where it is called as a file is.
func TestUnfoldInStored(t *testing.T) {
	d := doors{t, t.TempDir()}
	d.scaled(0)
	made := d.run("compact", "--budget", "2500", "--json", "scaled")
	copied := regexp.MustCompile(`scaled~compact-[0-9a-f]+`).FindString(made)
	_, folds, _ := strings.Cut(made, `"folds": [`)
	folds, _, _ = strings.Cut(folds, `"ledger": [`)
	handles := regexp.MustCompile(`"handle": "([0-9a-z]+)"`).FindAllStringSubmatch(folds, -1)
	for _, m := range handles {
		if d.run("unfold", m[1], "--in", copied) != d.run("unfold", m[1], "--in", "scaled") {
			t.Errorf("%s is another thing in the session than in its copy", m[1])
		}
	}
	if len(handles) == 0 || !strings.Contains(d.run("search", "parser 19", "--in", "scaled"), "--in scaled") {
		t.Errorf("%d folds", len(handles))
	}
}

// A compact that fails, or folds nothing, leaves nothing behind.
func TestNoEmptyCopies(t *testing.T) {
	d := doors{t, t.TempDir()}
	d.scaled(0)
	before := d.run("store", "list", "--json")
	d.fails("compact", "scaled", "--budget", "100")
	if out := d.run("compact", "scaled", "--budget", "100k"); !strings.Contains(out, "Mend parser 19.") {
		t.Errorf("what fits is not printed: %s", out)
	}
	if got := d.run("store", "list", "--json"); got != before {
		t.Errorf("the store has %s, had %s", got, before)
	}
	if page := d.page("/dash/session?s=scaled"); strings.Contains(page, "Compacted with pleat") {
		t.Error("the dashboard lists a compaction without folds")
	}
}

// scaled stores a session whose provider counts 7 tokens where pleat counts 10, and adds some.
func (d doors) scaled(added int) {
	p := &term.Console{Stdout: d.Output(), Stderr: d.Output(), Getenv: d.getenv}
	st, err := stores.Open(d.Context(), p, &stores.Flags{Path: d.getenv("PLEAT_STORE")})
	if err != nil {
		d.Fatal(err)
	}
	defer st.Close()
	m, _ := model.DefaultModels().Lookup("claude-sonnet-4-5")
	s, err := pleat.OpenSession(d.Context(), st, pleat.Key{Session: "scaled"}, &pleat.Options{
		Model: m, Tools: pleat.RecallTools(), System: "You are an agent.",
	})
	for i := 0; i < 20 && err == nil; i++ {
		id := fmt.Sprint("c", i)
		err = s.Append(d.Context(), pleat.User(fmt.Sprintf("Mend parser %d.", i)),
			pleat.Assistant(pleat.Call(id, "read_file", fmt.Sprintf(`{"path":"%d.go"}`, i))),
			pleat.Results(pleat.Result(id, strings.Repeat(fmt.Sprintf("func f%d() { return %d }\n", i, i), 40+i))))
		if err == nil {
			_, err = s.View(d.Context(), pleat.Turn{})
		}
		if err == nil {
			err = s.Used(d.Context(), model.Usage{Input: s.Snapshot().Parts.Total()*7/10 + added, Output: 10})
		}
	}
	if err != nil {
		d.Fatal(err)
	}
}

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

// Whose sub-agent had a session is said at every door, and that session is never the last.
func TestSubAgentsAreTold(t *testing.T) {
	d := doors{t, t.TempDir()}
	d.store(store.SessionKey{Session: "run-1"}, "Mend it.")
	d.store(store.SessionKey{Session: "run-1.task-c1"}, "Look for parsers.")
	d.last("Mend it.")
	for door, got := range map[string]string{
		"show": d.run("show", "run-1.task-c1"), "store list": d.run("store", "list"), "the dashboard": d.page("/"),
		"its page": d.page("/dash/session?s=run-1.task-c1"),
	} {
		if !strings.Contains(strings.ToLower(got), "sub-agent of ") {
			t.Errorf("%s does not say whose sub-agent it was: %s", door, got)
		}
	}
	if got := d.run("show", "run-1"); strings.Contains(got, "sub-agent") {
		t.Errorf("run-1 is no sub-agent's: %s", got)
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
