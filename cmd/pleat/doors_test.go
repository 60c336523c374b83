package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/dash"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// doors runs commands in a home folder with sessions of two agents and a rehearsal.
type doors struct {
	*testing.T
	home string
}

func (d doors) getenv(name string) string {
	return map[string]string{"HOME": d.home, "PLEAT_STORE": filepath.Join(d.home, "pleat.db")}[name]
}

func (d doors) run(args ...string) string {
	d.Helper()
	var out, told bytes.Buffer
	p := &term.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &told, Getenv: d.getenv}
	if code := execute(d.Context(), p, args); code != 0 && args[0] != "doctor" {
		d.Fatalf("pleat %s: code %d: %s", strings.Join(args, " "), code, told.String())
	}
	return out.String()
}

// fails runs a command that must fail, and returns what it says.
func (d doors) fails(args ...string) string {
	d.Helper()
	var told bytes.Buffer
	p := &term.Console{Stdin: strings.NewReader(""), Stdout: d.Output(), Stderr: &told, Getenv: d.getenv}
	if code := execute(d.Context(), p, args); code == 0 {
		d.Errorf("pleat %s: no error", strings.Join(args, " "))
	}
	return told.String()
}

// number finds the one number that a pattern catches in a text.
func (d doors) number(text, pattern string) int {
	d.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		d.Fatalf("no %s in %s", pattern, text)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
	if err != nil {
		d.Fatal(err)
	}
	return n
}

// page gets a page of the dashboard.
func (d doors) page(path string) string {
	d.Helper()
	p := &term.Console{Stdout: d.Output(), Stderr: d.Output(), Getenv: d.getenv}
	st, err := stores.Open(d.Context(), p, &stores.Flags{Path: d.getenv("PLEAT_STORE")})
	if err != nil {
		d.Fatal(err)
	}
	defer st.Close()
	h, end, err := dashboard(p, library.Options{Store: st}, dash.Options{})
	if err != nil {
		d.Fatal(err)
	}
	defer end()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
	r.RemoteAddr = "127.0.0.1:1"
	h.ServeHTTP(w, r)
	if w.Code != 200 {
		d.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// Every command and the dashboard say the same numbers of the same sessions.
func TestDoorsAgree(t *testing.T) {
	d := doors{t, t.TempDir()}
	codex, err := os.ReadFile("../../sessionlog/testdata/codex.log")
	must(t, err)
	for name, data := range map[string][]byte{
		".claude/projects/-shop/long.jsonl":          longSession(100),
		".codex/sessions/2026/01/02/rollout-1.jsonl": codex,
	} {
		path := filepath.Join(d.home, name)
		writeTest(t, path, data)
		long := time.Now().Add(-2 * library.Quiet) // its last message is complete
		must(t, os.Chtimes(path, long, long))
	}
	var listed struct {
		Agents []struct {
			Sessions []struct {
				File   string
				Tokens int
				USD    float64
			}
		}
	}
	if err := json.Unmarshal([]byte(d.run("sessions", "--json")), &listed); err != nil || len(listed.Agents) != 2 {
		t.Fatal(listed, err)
	}
	for _, a := range listed.Agents {
		d.file(a.Sessions[0].File, a.Sessions[0].Tokens, a.Sessions[0].USD)
	}
	d.folded(listed.Agents[0].Sessions[0].File)
	d.rehearsal()
	n := strings.Count(d.run("store", "list", "--names"), "\n")
	if got := d.number(d.run("doctor"), `pleat\.db, (\d+) sessions`); got != n {
		t.Errorf("doctor counts %d sessions, store list %d", got, n)
	}
}

// file compares what is said of a session file.
func (d doors) file(path string, tokens int, usd float64) {
	const budget = "7000"
	show := d.run("show", path, "--json")
	plan := d.run("compact", path, "--dry-run", "--json", "--budget", budget)
	id := "?s=" + regexp.MustCompile(`[^/\\]+$`).FindString(strings.TrimSuffix(path, ".jsonl"))
	page, planned := d.page("/dash/session"+id), d.page("/dash/plan"+id+"&budget=7k")
	for door, got := range map[string]int{
		"show":    d.number(show, `"all": (\d+),\s+"model"`),
		"compact": d.number(plan, `"before": (\d+)`),
		"plan":    d.number(planned, `Whole session</dt><dd>([0-9,]+)`),
	} {
		if got != tokens {
			d.Errorf("%s: %s says %d tokens, sessions %d", path, door, got, tokens)
		}
	}
	if a, b := d.number(plan, `"after": (\d+)`), d.number(planned, `After folding</dt><dd>([0-9,]+)`); a != b {
		d.Errorf("%s: compact folds to %d tokens, the dashboard to %d", path, a, b)
	}
	if of := "of " + term.Short(tokens) + " tokens"; !strings.Contains(d.run("browse", path, "--budget", budget), of) {
		d.Errorf("%s: browse does not say %s", path, of)
	}
	if want := `data-l="tokens">` + term.Short(tokens) + "</td>"; !strings.Contains(d.page("/"), want) {
		d.Errorf("%s: the list of the dashboard has no %q", path, want)
	}
	if want := "where the whole session takes " + term.Short(tokens) + "."; !strings.Contains(page, want) {
		d.Errorf("%s: the chart of the session does not say %q", path, want)
	}
	failed := d.number(show, `"failed": (\d+)`)
	if got := strings.Count(d.page("/dash/ledger"+id+"&show=calls&outcome=error"), `data-l="ended"`); got != failed {
		d.Errorf("%s: the dashboard lists %d failed calls, show %d", path, got, failed)
	}
	typed := d.number(show, `"name": "user text",\s+"blocks": \d+,\s+"tokens": (\d+)`)
	if got := d.number(page, `User text</th>.*?</td><td class="num">[^<]*</td><td class="num">([0-9,]+)<`); got != typed {
		d.Errorf("%s: the dashboard says that people typed %d tokens, show %d", path, got, typed)
	}
	if strings.Contains(page, "as the provider reported it") != strings.Contains(page, "are not among the messages") {
		d.Errorf("%s: the page does not say what is in a request beside the messages: %s", path, page)
	}
	alone := strings.Count(page, "hole session, its messages alone<") == 2 // in the legend and above the table
	if alone != strings.Contains(page, "as the provider reported it") {
		d.Errorf("%s: the chart has a line of whole requests and one of messages alone, and does not say so", path)
	}
	cost := "Spent, by the price list</dt><dd>" + term.Cents(usd) + " <small>with the output that the file counts"
	if usd > 0 && !strings.Contains(page, cost) {
		d.Errorf("%s: the page of the session has no %q", path, cost)
	}
	largest := d.number(show, `"largest": (\d+)`)
	if want := "Largest request</dt><dd>" + term.Short(largest); !strings.Contains(page, want) {
		d.Errorf("%s: the page of the session has no %q", path, want)
	}
}

// folded folds a session file that the dashboard has read, and a copy of a part of it elsewhere.
// The first is one session still, for everybody, and every command finds it by its name in the store.
func (d doors) folded(path string) {
	sums := regexp.MustCompile(`(?s)<table.*`)
	before, searched := sums.FindString(d.page("/")), d.run("search", "limit", "--json")
	d.run("compact", path, "--budget", "7000", "-o", filepath.Join(d.home, "out"), "--force")
	if got := sums.FindString(d.page("/")); got != before || before == "" {
		d.Errorf("the dashboard listed %s, after compact %s", before, got)
	}
	if got := d.run("search", "limit", "--json"); got != searched {
		d.Errorf("search printed %s, after compact %s", searched, got)
	}
	names := strings.Fields(d.run("store", "list", "--names"))
	part := filepath.Join(d.home, "part.jsonl")
	writeTest(d.T, part, longSession(20))
	d.run("compact", part, "-o", filepath.Join(d.home, "out"), "--force")
	more := strings.Fields(d.run("store", "list", "--names"))
	if len(more) != len(names)+1 {
		d.Errorf("the store lists %q, and then with a file of nobody %q", names, more)
	}
	kept := strings.Fields(d.run("store", "gc", "--name", "*~compact-*", "--json"))
	copied := regexp.MustCompile(`[a-z0-9-]+~compact-[0-9a-f]+`).FindString(strings.Join(kept, " "))
	if copied == "" {
		d.Fatalf("compact made no copy that belongs to a session: %q", kept)
	}
	after := d.number(d.run("compact", path, "--dry-run", "--json", "--budget", "7000"), `"after": (\d+)`)
	page := d.page("/dash/session?s=" + strings.TrimSuffix(filepath.Base(path), ".jsonl"))
	if got := d.number(page, `(?s)>`+copied+`<.*?data-l="after">([0-9,]+)<`); got != after {
		d.Errorf("the page of the session says that %s has %d tokens, compact %d", copied, got, after)
	}
	if got := d.number(d.page("/dash/session?s="+copied), `at message.*?data-l="after">([0-9,]+)<`); got != after {
		d.Errorf("the page of %s says %d tokens, compact %d", copied, got, after)
	}
	d.again(path, copied)
	d.tooSmall(path, copied)
	for _, name := range append(more, copied) {
		tokens := d.number(d.run("show", name, "--json"), `"all": (\d+),\s+"model"`)
		if got := d.number(d.run("compact", name, "--dry-run", "--json"), `"before": (\d+)`); got != tokens {
			d.Errorf("%s: compact says %d tokens, show %d", name, got, tokens)
		}
		if got := d.run("browse", name); !strings.Contains(got, term.Short(tokens)+" tokens") {
			d.Errorf("%s: browse does not say %d tokens: %s", name, tokens, got)
		}
		if d.run("ledger", name); strings.HasPrefix(name, "codex-") { // it has no such word
			continue
		}
		hit := regexp.MustCompile(`pleat (unfold \S+ --in \S+)`).FindStringSubmatch(d.run("search", "limit",
			"--in", name))
		if hit == nil || d.run(strings.Fields(hit[1])...) == "" {
			d.Errorf("%s: search names no command that shows a hit: %q", name, hit)
		}
	}
}

// again folds a session that was folded before to a larger budget: its page goes by that one.
func (d doors) again(path, copied string) {
	d.run("compact", path, "--budget", "9000", "-o", filepath.Join(d.home, "out"), "--force")
	page := d.page("/dash/session?s=" + copied)
	for _, want := range []string{
		" <small>of 9.0k tokens", "window (9.0k)", "rewritten 2 times", "<td>asked for</td>",
	} {
		if !strings.Contains(page, want) {
			d.Errorf("the page of %s has no %q after a second compact", copied, want)
		}
	}
	for _, no := range []string{"undone", "nearly full"} {
		if strings.Contains(page, no) {
			d.Errorf("the page of %s says %q after a second compact", copied, no)
		}
	}
}

// tooSmall folds a session to a budget that nothing fits: what was folded before stays, and the budget
// that is named will do, for everybody.
func (d doors) tooSmall(path, copied string) {
	before := d.run("show", copied, "--json")
	told := d.fails("compact", path, "--budget", "10")
	if got := d.run("show", copied, "--json"); got != before {
		d.Errorf("after a compact that failed show prints %s, not %s", got, before)
	}
	least := d.number(told, `the smallest view has ([0-9,]+) tokens`)
	if got := d.number(told, `--budget ([0-9]+) or more would do`); got != least {
		d.Errorf("the smallest view has %d tokens, and %d or more would do", least, got)
	}
	d.run("compact", path, "--budget", strconv.Itoa(least), "-o", filepath.Join(d.home, "out"), "--force")
	page := d.page("/dash/session?s=" + copied)
	if want := fmt.Sprintf("window (%d)", least); !strings.Contains(page, want) {
		d.Errorf("the page of %s does not say %s", copied, want)
	}
	epochs := d.number(page, `rewritten (\d+) times`)
	if got := d.number(d.run("show", copied, "--json"), `"epochs": (\d+)`); got != epochs {
		d.Errorf("show counts %d epochs, the dashboard %d", got, epochs)
	}
	fresh := filepath.Join(d.home, "fresh.jsonl")
	writeTest(d.T, fresh, longSession(12))
	d.fails("compact", fresh, "--budget", "10", "--store", filepath.Join(d.home, "fresh.db"))
	if got := d.run("store", "list", "--names", "--store", filepath.Join(d.home, "fresh.db")); got != "" {
		d.Errorf("a compact that failed left %s", got)
	}
}

// rehearsal compares what a run says at its end with what is said of it later.
func (d doors) rehearsal() {
	out := d.run("demo", "--session", "demo")
	whole := d.number(out, `the conversation has ([0-9,]+) tokens with`)
	shown := d.number(out, `the last request showed ([0-9,]+) of them`)
	window := d.number(out, `The window holds ([0-9,]+)`)
	if want := "the model sees " + term.Short(shown) + " of " + term.Short(whole) + " tokens"; !strings.Contains(d.run("browse", "demo"), want) {
		d.Errorf("browse does not say that %s", want)
	}
	if want := "(" + term.Short(whole) + " with system prompt and tools)"; !strings.Contains(d.run("show", "demo"), want) {
		d.Errorf("show does not say %s", want)
	}
	page := d.page("/dash/session?s=demo")
	for _, want := range []string{
		"In the window now</dt><dd>" + term.Short(shown) + " <small>of " + term.Short(window) + " tokens",
		"Whole session</dt><dd>" + term.Short(whole),
		"messages: " + term.Short(shown) + " at the end", // of the chart
	} {
		if !strings.Contains(page, want) {
			d.Errorf("the page of the session has no %q", want)
		}
	}
}
