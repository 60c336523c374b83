package ledger_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// ledgerSession is a small piece of work with everything in it.
func ledgerSession() *ledger.Ledger {
	return ledgerOf(
		readCall("src/a.go", ""), readCall("src/b.go", ""), callStep{"grep", `{"pattern":"x","path":"src"}`, "hit"},
		editCall("src/a.go"), writeCall("src/new.go"),
		bashCall("go test ./... 2>&1 | tail -3", "--- FAIL: TestA (0.00s)\nFAIL\n"),
		editCall("src/a.go"), bashCall("go test ./...", "ok"), bashCall("go test ./...", "ok"),
		bashCall("rm src/old.go", ""), bashCall("mv src/b.go src/c.go", ""),
		callStep{"edit_file", `{"path":"src/z.go"}`, "!no match"},
		callStep{"mcp__mail__send", `{"to":"me"}`, "sent"},
		bashCall("git push", "?"),
	)
}

// Of a run whose output was cut after its first lines nobody knows how it ended.
func TestLedgerRunCutOff(t *testing.T) {
	one := ledgerOf(
		bashCall("make test | head -5", "started"),
	).Render(ledger.RenderOptions{UpTo: 9, Budget: 500, Count: count})
	if !strings.Contains(one, "make test | head -5: its end was cut off") {
		t.Errorf("alone:\n%s", one)
	}
	l := ledgerOf(bashCall("make test", "!Exit code 2"), bashCall("make test | head -5", "started"), editCall("a.go"))
	for _, budget := range []int{500, 40} {
		got := l.Render(ledger.RenderOptions{UpTo: 9, Budget: budget, Count: count})
		if strings.Contains(got, "make test | head -5: ok") || strings.Contains(got, "(2 times, 1 failed): ok") {
			t.Errorf("%d tokens:\n%s", budget, got)
		}
	}
}

func TestLedgerRejected(t *testing.T) {
	const refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg."
	push := bashCall("git push", "!"+refused)
	push.tool = "Bash"
	l := ledgerOf(push, bashCall("git fetch", "!"+refused), bashCall("git pull", refused))
	got := l.Render(ledger.RenderOptions{UpTo: 9, Budget: 500, Count: count})
	if strings.Count(got, ": failed: says that the user rejected it\n") != 2 {
		t.Error(got)
	}
}

func TestLedgerRender(t *testing.T) {
	tests := []struct {
		budget int
		want   string
	}{
		{
			1000, `14 tool calls: 4 edit, 3 read, 3 run, 1 create, 1 delete, 1 net, 1 other; 2 failed; 1 without a result.
#1 read src/a.go: 1 line, stale since #4
#2 read src/b.go: 1 line, stale since #11
#3 read x in src: 1 line
#4 edit src/a.go: ok
#5 create src/new.go: ok
#6 run go test ./... | tail -3: failed: --- FAIL: TestA (0.00s), ok in #8
#7 edit src/a.go: ok
#8 run go test ./...: ok, newer in #9
#9 run go test ./...: ok
#10 delete rm src/old.go: ok
#11 edit mv src/b.go src/c.go: ok
#12 edit src/z.go: failed: no match
#13 mcp__mail__send to=me: ok
#14 net git push: no result
`,
		},
		{
			120, `14 tool calls: 4 edit, 3 read, 3 run, 1 create, 1 delete, 1 net, 1 other; 2 failed; 1 without a result.
Created: src/{c.go,new.go}
Edited: src/a.go
Deleted: src/{b.go,old.go}
#9 run go test ./... (3 times, 1 failed): ok
#11 edit mv src/b.go src/c.go: ok
#12 edit src/z.go: failed: no match
#13 mcp__mail__send to=me: ok
#14 net git push: no result
9 calls are only counted or summed up here; the ledger tool lists them by path, tool, kind, outcome or number.
`,
		},
		{
			90, `14 tool calls: 4 edit, 3 read, 3 run, 1 create, 1 delete, 1 net, 1 other; 2 failed; 1 without a result.
Created: src/{c.go,new.go}
Edited: src/a.go
Deleted: src/{b.go,old.go}
#13 mcp__mail__send to=me: ok
#14 net git push: no result
12 calls are only counted or summed up here; the ledger tool lists them by path, tool, kind, outcome or number.
`,
		},
	}
	for _, tt := range tests {
		got := ledgerSession().Render(ledger.RenderOptions{UpTo: 1000, Budget: tt.budget})
		difftest.Equal(t, tt.want, got, "budget ", tt.budget)
	}
	if got := ledgerSession().Render(ledger.RenderOptions{UpTo: 0, Budget: 100}); got != "" {
		t.Errorf("a ledger without calls renders as %q", got)
	}
}

// expandBraces takes braces apart: what joinPaths wrote names these paths and no others.
func expandBraces(s string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == ',' && depth == 0 {
			out = append(out, expandBrace(strings.TrimPrefix(s[start:i], " "))...)
			start = i + 1
			continue
		}
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
	}
	return out
}

func expandBrace(s string) []string {
	open := strings.IndexByte(s, '{')
	if open < 0 {
		return []string{s}
	}
	var out []string
	for _, inner := range expandBraces(s[open+1 : len(s)-1]) {
		out = append(out, s[:open]+inner)
	}
	return out
}

// Whatever the session and the budget: the text fits, is the same each time, and names
// every changed path and no other, as long as the names fit.
func TestLedgerRenderNamesEveryChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dirs := []string{"", "src/", "src/app/", "/abs/tree/", "/abs/tree/deep/er/", "../up/", "docs/"}
	for range 60 {
		var steps []callStep
		want := map[string]bool{}
		for range rng.IntN(80) {
			p := fmt.Sprintf("%sf%d.go", dirs[rng.IntN(len(dirs))], rng.IntN(30))
			switch rng.IntN(6) {
			case 0, 1:
				steps = append(steps, readCall(p, ""))
			case 2:
				steps = append(steps, editCall(p))
				want[p] = true
			case 3:
				steps = append(steps, bashCall("rm "+p, ""))
				want[p] = true
			case 4:
				steps = append(steps, writeCall(p))
				want[p] = true
			case 5:
				steps = append(steps, bashCall("go test ./"+p, "!Exit code 1\nboom"))
			}
		}
		l := ledgerOf(steps...)
		for _, budget := range []int{40, 150, 400, 1000, 4000} {
			got := l.Render(ledger.RenderOptions{UpTo: 1 << 20, Budget: budget})
			if got != l.Render(ledger.RenderOptions{UpTo: 1 << 20, Budget: budget}) {
				t.Fatal("two renderings differ")
			}
			if len(steps) > 0 && (len(got)+3)/4 > budget && budget > 60 {
				t.Errorf("%d tokens for a budget of %d", len(got)/4, budget)
			}
			if strings.Contains(got, " more files changed") || budget == 40 {
				continue
			}
			named := namedPaths(got)
			for p := range want {
				if !slices.ContainsFunc(named, func(n string) bool { return samePath(n, p) }) {
					t.Fatalf("budget %d: %s is not named in\n%s", budget, p, got)
				}
			}
		}
	}
}

func namedPaths(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, label := range []string{"Created: ", "Edited: ", "Deleted: ", "Created and deleted again: "} {
			if list, ok := strings.CutPrefix(line, label); ok {
				if i := strings.IndexAny(list, "(#"); i >= 0 {
					list = strings.TrimSpace(list[:i])
				}
				out = append(out, expandBraces(list)...)
			}
		}
		for _, w := range strings.Fields(line) {
			out = append(out, strings.TrimSuffix(w, ":"))
		}
	}
	return out
}

// TestLedgerNamesSomeReads: where all calls only looked, the newest are named that there is room for.
func TestLedgerNamesSomeReads(t *testing.T) {
	var calls []callStep
	for i := range 100 {
		calls = append(calls, readCall(fmt.Sprintf("src/part%02d.go", i), ""))
	}
	l := ledgerOf(calls...)
	o := ledger.RenderOptions{UpTo: 1_000, Budget: 100, Count: count}
	got := l.Render(o)
	if n := strings.Count(got, "part"); n < 10 || count(got) > o.Budget || !strings.Contains(got, "part99.go") ||
		!strings.Contains(got, fmt.Sprintf("and before them at %d other files", 100-n)) {
		t.Errorf("%d files in %d tokens:\n%s", n, count(got), got)
	}
	if o.Budget = 20; !strings.Contains(l.Render(o), "100 calls are only counted") {
		t.Errorf("without room:\n%s", l.Render(o))
	}
}

func TestLedgerSelect(t *testing.T) {
	l := ledgerSession()
	tests := []struct {
		name string
		f    ledger.Filter
		want []int
	}{
		{"file", ledger.Filter{Path: "src/a.go"}, []int{1, 4, 7}},
		{"name", ledger.Filter{Path: "a.go"}, []int{1, 4, 7}},
		{"absolute", ledger.Filter{Path: "/w/src/a.go"}, []int{1, 4, 7}},
		{"directory", ledger.Filter{Path: "src", Kinds: []toolcall.CallKind{toolcall.CallRead}}, []int{1, 2, 3}},
		{"pattern", ledger.Filter{Path: "*.go", From: 10}, []int{10, 11, 12}},
		{"tool", ledger.Filter{Tool: "GREP"}, []int{3}},
		{"kind", ledger.Filter{Kinds: []toolcall.CallKind{toolcall.CallRun, toolcall.CallNet}}, []int{6, 8, 9, 14}},
		{
			"outcome",
			ledger.Filter{Outcomes: []toolcall.Outcome{toolcall.Failed, toolcall.Unanswered}},
			[]int{6, 12, 14},
		},
		{"range", ledger.Filter{From: 3, To: 5}, []int{3, 4, 5}},
		{"text", ledger.Filter{Text: "testa"}, []int{6}},
		{"effects", ledger.Filter{Effects: true, To: 6}, []int{4, 5, 6}},
		{"messages", ledger.Filter{FromMessage: 2, ToMessage: 6}, []int{2, 3}},
		{"nothing", ledger.Filter{Path: "nowhere.go"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []int
			for _, e := range l.Select(tt.f) {
				got = append(got, e.Seq)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if n := l.Counts(tt.f).Calls; n != len(tt.want) {
				t.Errorf("counts %d, want %d", n, len(tt.want))
			}
		})
	}
	if n := l.Between(2, 6); n != 2 {
		t.Errorf("between: %d entries", n)
	}
	want := ledger.Counts{
		Calls: 3, Superseded: 2, Bytes: 11,
		Tools:    []ledger.NameCount{{Name: "read_file", Count: 2}, {Name: "grep", Count: 1}},
		Kinds:    []ledger.NameCount{{Name: "read", Count: 3}},
		Outcomes: []ledger.NameCount{{Name: "ok", Count: 3}},
	}
	difftest.Equal(t, want, l.Counts(ledger.Filter{To: 3}))
}

func TestLedgerChanged(t *testing.T) {
	l := ledgerOf(
		readCall("/w/a.go", ""),
		editCall("a.go"),
		editCall("/w/a.go"), // one file, two spellings
		writeCall("new.go"),
		bashCall("rm tmp.txt", ""),
		writeCall("tmp2.txt"),
		bashCall("rm -rf gen", ""),
		writeCall("gen/x.go"),
		bashCall("rm -rf gen tmp2.txt", ""),
		readCall("known.go", ""),
		writeCall("known.go"), // overwritten, not created
		bashCall("git mv old.go renamed.go", ""),
		callStep{"edit_file", `{"path":"failed.go"}`, "!no match"},
		bashCall("echo x > made.txt && false", "!Exit code 1"),
		callStep{"mcp__x__y", `{"path":"who.knows"}`, "ok"},
		callStep{
			"apply_patch",
			"*** Begin Patch\n*** Add File: p.go\n+x\n*** End Patch",
			"Success. Updated the following files:\nM p.go",
		},
	)
	var got []string
	for _, s := range l.Changed() {
		got = append(got, fmt.Sprintf("%s %s %d #%d", s.State, s.Path, s.Count, s.Last))
	}
	want := []string{
		"edit /w/a.go 2 #3", "create new.go 1 #4", "delete tmp.txt 1 #5", "delete tmp2.txt 2 #9", "delete gen 2 #9",
		"delete gen/x.go 1 #9", "edit known.go 1 #11", "delete old.go 1 #12", "create renamed.go 1 #12",
		"create made.txt 1 #14", "other who.knows 1 #15", "edit p.go 1 #16",
	}
	difftest.Equal(t, want, got)
	if r := ledgerSession().ReadOnly(); len(r) != 1 || r[0].Path != "src" {
		t.Errorf("only read: %+v", r)
	}
}

// Files go with their directory, however the two are spelled.
func TestLedgerRemovedDirs(t *testing.T) {
	in := func(dir, command string) callStep {
		return callStep{"exec_command", fmt.Sprintf(`{"cmd":%q,"workdir":%q}`, command, dir), ""}
	}
	runSteps(t, []stepTest{
		{"relative", []callStep{writeCall("d/a.go"), bashCall("rm -rf d", "")}, "delete d/a.go delete d"},
		{
			"a slash at the end",
			[]callStep{writeCall("./d/a.go"), bashCall("rm -r ./d/", "")},
			"delete ./d/a.go delete ./d/",
		},
		{"all in it", []callStep{writeCall("d/a.go"), bashCall("rm -rf d/*", "")}, "delete d/a.go delete d/*"},
		{"deep", []callStep{writeCall("d/e/f/a.go"), bashCall("rm -rf d", "")}, "delete d/e/f/a.go delete d"},
		{
			"absolute file, directory of the call",
			[]callStep{writeCall("/w/app/d/a.go"), in("/w/app", "rm -rf d")},
			"delete /w/app/d/a.go delete d",
		},
		{
			"absolute file, after cd",
			[]callStep{writeCall("/w/app/d/a.go"), bashCall("cd /w/app && rm -rf d", "")},
			"delete /w/app/d/a.go delete d",
		},
		{
			"both absolute",
			[]callStep{writeCall("/w/app/d/a.go"), bashCall("rm -rf /w/app/d", "")},
			"delete /w/app/d/a.go delete /w/app/d",
		},
		{
			"absolute directory, root known",
			[]callStep{in("/w/app", "cat x.go"), writeCall("d/a.go"), bashCall("rm -rf /w/app/d", "")},
			"delete d/a.go delete /w/app/d",
		},
		{
			"two places could be meant",
			[]callStep{writeCall("/w/one/d/a.go"), writeCall("/w/two/d/b.go"), bashCall("rm -rf d", "")},
			"create /w/one/d/a.go create /w/two/d/b.go delete d",
		},
		{
			"elsewhere",
			[]callStep{writeCall("/w/app/d/a.go"), bashCall("rm -rf /tmp/d", "")},
			"create /w/app/d/a.go delete /tmp/d",
		},
		{
			"a longer name",
			[]callStep{writeCall("/w/dd/a.go"), writeCall("dist2/b.go"), bashCall("rm -rf d dist", "")},
			"create /w/dd/a.go create dist2/b.go delete d delete dist",
		},
		{
			"the directory is made anew",
			[]callStep{writeCall("d/a.go"), bashCall("rm -rf d && mkdir d", "")},
			"delete d/a.go edit d",
		},
		{
			"the file is made anew",
			[]callStep{writeCall("/w/d/a.go"), bashCall("rm -rf d", ""), writeCall("/w/d/a.go")},
			"create /w/d/a.go delete d",
		},
		{
			"made and removed by one call",
			[]callStep{bashCall("mkdir d && touch d/a.go && rm -rf d", "")},
			"delete d delete d/a.go",
		},
		{
			"removed, then made by one call",
			[]callStep{writeCall("d/a.go"), bashCall("rm -rf d && touch d/a.go", "")},
			"create d/a.go delete d",
		},
		{
			"the removal failed",
			[]callStep{writeCall("d/a.go"), bashCall("rm -rf d", "!Exit code 1\nrm: d: Permission denied")},
			"create d/a.go",
		},
	}, func(l *ledger.Ledger) (states []string) {
		for _, s := range l.Changed() {
			states = append(states, s.State.String(), s.Path)
		}
		return states
	})
}

func count(text string) int { return tokens.NewTokenizer(model.Model{}, nil).CountText(text) }

// Files that there is no room to name are counted by folder, and one call names them all.
func TestLedgerCountsFolders(t *testing.T) {
	var steps []callStep
	for i := range 300 {
		steps = append(steps, editCall(fmt.Sprintf("/w/%s/some-file-%d.go", []string{"a", "b", "a"}[i%3], i)))
	}
	l := ledgerOf(steps...)
	got := l.Render(ledger.RenderOptions{UpTo: 1 << 20, Budget: 200})
	var more, folders, a, b int
	_, line, _ := strings.Cut(got, "\n")
	const form = "%d more files changed in %d folders: /w/a/ (%d), /w/b/ (%d); ledger(files=true) names them all."
	if n, err := fmt.Sscanf(line, form, &more, &folders, &a, &b); n != 4 {
		t.Fatalf("%v in\n%s", err, got)
	}
	if named := strings.Count(got, "some-file-"); more+named != 300 || a+b != more || folders != 2 || a <= b {
		t.Errorf("%d named and %d counted (%d and %d)", named, more, a, b)
	}
	all := l.Render(ledger.RenderOptions{UpTo: 1 << 20, Budget: 200, Names: 4000})
	if strings.Count(all, "some-file-") != 300 {
		t.Errorf("there is room for all names:\n%s", all)
	}
	if all := namedPaths(l.Files("")); !slices.Contains(all, "/w/a/some-file-0.go") ||
		!slices.Contains(all, "/w/b/some-file-298.go") {
		t.Errorf("not all named: %s", l.Files(""))
	}
	if part := l.Files("/w/b"); strings.Count(part, "some-file-") != 100 {
		t.Errorf("not those of one folder: %s", part)
	}
}

// Handles are added to what fits without them: that of a change, else of the result, and of both for a
// command, which may show something besides.
func TestRenderHandles(t *testing.T) {
	l := ledgerOf(editCall("a.go"), editCall("b.go"), editCall("a.go"), bashCall("go test ./...", "ok"),
		bashCall("cat a.go; echo x > c.go", "package a"))
	facts := make(transcript.Facts, 10)
	for i := range facts {
		facts[i].Blocks = []transcript.BlockFacts{{Handle: transcript.HandleOf(uint64(i+1)<<56, transcript.HandleLen)}}
	}
	h := func(i int) string { return facts[i].Blocks[0].Handle.String() }
	lines := []string{
		"#1 edit a.go: ok", h(0), "#2 edit b.go: ok", h(2), "#3 edit a.go: ok", h(4), "./...: ok", h(7),
		"> c.go: ok", h(8) + ", result " + h(9),
	}
	for budget := 1000; budget > 10; budget /= 2 {
		o := ledger.RenderOptions{UpTo: 100, Budget: budget}
		want := l.Render(o)
		for i := 0; i < len(lines); i += 2 {
			want = strings.ReplaceAll(want, lines[i]+"\n", lines[i]+" ["+lines[i+1]+"]\n")
		}
		o.Facts = facts
		if got := l.Render(o); got != want || budget == 1000 && strings.Count(got, "[") != 5 {
			t.Errorf("in %d tokens:\n%s\nwant\n%s", budget, got, want)
		}
	}
	if calls := l.Changed()[0].Calls; fmt.Sprint(calls) != "[1 3]" {
		t.Errorf("a.go was changed by %v", calls)
	}
}

// The session files of two agents say beside each call which files it really changed.
// The ledger, which sees only calls and results, must find all of them, and what it finds
// beyond must come from shell commands.
func TestLedgerCorpusChanges(t *testing.T) {
	truths, found, extra, files := 0, 0, 0, 0
	for _, file := range corpustest.Files(t) {
		if agent := filepath.Base(filepath.Dir(filepath.Dir(file))); agent != "claude-code" && agent != "codex" {
			continue
		}
		files++
		truth, l := recorded(t, file), ledger.Of(transcript.NewTranscript(corpustest.Read(t, file)...))
		changed := l.Changed()
		for path := range truth {
			truths++
			names := 0
			for _, s := range changed {
				if p := plainPath(s.Path); p == plainPath(path) ||
					!strings.ContainsAny(p[:min(2, len(p))], ":/") && samePath(p, path) {
					names++
				}
			}
			switch {
			case names == 0:
				t.Errorf("%s: %s was changed", filepath.Base(file), path)
			case names > 1:
				t.Errorf("%s: %s has %d names", filepath.Base(file), path, names)
			}
			found += min(names, 1)
		}
		for _, s := range changed {
			known := false
			for path := range truth {
				known = known || samePath(s.Path, path)
			}
			if known {
				continue
			}
			extra++
			byCommand := func(e ledger.Entry) bool { return e.Command != "" }
			if !slices.ContainsFunc(l.Select(ledger.Filter{Path: s.Path}), byCommand) {
				t.Errorf("%s: %s was not changed by a file tool", filepath.Base(file), s.Path)
			}
		}
	}
	t.Logf("%d sessions: %d of %d changed files found, %d more by shell commands", files, found, truths, extra)
}

// samePath reports whether two spellings mean one file, in Windows' ways too: from the root,
// or the end of that.
func samePath(a, b string) bool {
	a, b = plainPath(a), plainPath(b)
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}

var drive = regexp.MustCompile(`^(?:/mnt/|/)?([a-zA-Z])(?::/|/)`)

func plainPath(p string) string {
	p = drive.ReplaceAllString(strings.ReplaceAll(p, `\`, "/"), "$1:/")
	if len(p) > 1 && p[1] == ':' {
		p = strings.ToLower(p)
	}
	return p
}

// recorded reads what the session files say beside calls: which files were really changed.
func recorded(t *testing.T, file string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(file)
	difftest.Must(t, err)
	truth := map[string]bool{}
	for text := range strings.Lines(string(data)) {
		var line struct {
			ToolUseResult json.RawMessage
			Payload       struct {
				Type    string
				Success bool
				Changes map[string]struct {
					MovePath string `json:"move_path"`
				}
			}
		}
		if json.Unmarshal([]byte(text), &line) != nil {
			continue // lines of other kinds have other shapes
		}
		var result struct {
			FilePath        string
			StructuredPatch json.RawMessage
		}
		if json.Unmarshal(line.ToolUseResult, &result) == nil && result.StructuredPatch != nil {
			truth[result.FilePath] = true
		}
		if p := line.Payload; p.Type == "patch_apply_end" {
			for path, c := range p.Changes {
				truth[path] = truth[path] || p.Success
				truth[c.MovePath] = truth[c.MovePath] || p.Success
			}
		}
	}
	for path, ok := range truth {
		if !ok || path == "" {
			delete(truth, path)
		}
	}
	return truth
}
