package agent_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

var update = flag.Bool("update", false, "write golden files")

// do has the model make some calls in one answer and returns their results.
func (b *bench) do(t *testing.T, calls ...transcript.ToolCall) []transcript.ToolResult {
	t.Helper()
	for i := range calls {
		calls[i].ID = fmt.Sprintf("do-%d-%d", len(b.script.Steps), i)
	}
	b.script.Steps = append(b.script.Steps, pleattest.Use(calls...), pleattest.Say("ok"))
	run(t, b.Agent, "go on")
	all := b.results()
	return all[len(all)-len(calls):]
}

// wants fails unless a result is, or is not, an error and has the text.
func wants(t *testing.T, r transcript.ToolResult, failed bool, text string) {
	t.Helper()
	if r.Error != failed || !strings.Contains(r.Text(), text) {
		t.Errorf("the result is (error %v) %q; want (error %v) %q in it", r.Error, r.Text(), failed, text)
	}
}

// The bytes of the tool list are part of every request: changing them breaks the prompt
// cache of every running session, so that it must be meant.
func TestToolDefinitionsAreStable(t *testing.T) {
	t.Parallel()
	b := newBench(t, agent.Options{}, pleattest.Use(call("1", "calc", `{"expression":"1"}`)), pleattest.Say("ok"))
	run(t, b.Agent, "go")
	var got strings.Builder
	for _, d := range b.Tools() {
		if d.Name == "calc" { // the tests' own
			continue
		}
		fmt.Fprintf(&got, "%s\n%s\n%s\n\n", d.Name, d.Description, d.Schema)
	}
	golden := filepath.Join("testdata", "tools.golden")
	if *update {
		write(t, golden, got.String())
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	difftest.Equal(t, string(want), got.String(), "the tool list changed")
	first := b.script.Requests()[0].Tools
	for i, r := range b.script.Requests() {
		if d := difftest.Values(first, r.Tools); d != "" {
			t.Errorf("request %d has other tools than the first:\n%s", i, d)
		}
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, agent.Options{})
	var text strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	b.file(t, "long.txt", text.String())
	b.file(t, "empty.txt", "")
	b.file(t, "bin", "a\x00b")
	b.file(t, "no-end.txt", "one\ntwo")
	r := b.do(
		t,
		call("", "read_file", `{"path":"long.txt"}`),
		call("", "read_file", `{"path":"long.txt","offset":4999,"limit":10}`),
		call("", "read_file", `{"path":"long.txt","offset":6000}`),
		call("", "read_file", `{"path":"empty.txt"}`),
		call("", "read_file", `{"path":"bin"}`),
		call("", "read_file", `{"path":"missing.txt"}`),
		call("", "read_file", `{"path":"no-end.txt"}`),
		call("", "read_file", `{"path":"."}`),
		call("", "read_file", `{"path":7}`),
	)
	wants(t, r[0], false, "lines 1-2000 of 5000;")
	wants(t, r[0], false, "[more: offset 2001]")
	if got := r[1].Text(); !strings.HasPrefix(got, "[read long.txt: lines 4999-5000 of 5000;") ||
		!strings.HasSuffix(got, "]\nline 4999\nline 5000\n") {
		t.Errorf("the end of the file came as %q", got)
	}
	wants(t, r[2], true, "there is no line 6000")
	wants(t, r[3], false, "lines 1-0 of 0")
	wants(t, r[4], true, "not a text file")
	wants(t, r[5], true, "does not exist")
	wants(t, r[6], false, "]\none\ntwo")
	wants(t, r[7], true, "is a folder")
	wants(t, r[8], true, "read the arguments")
}

func TestReadAgainUnchanged(t *testing.T) {
	t.Parallel()
	b := newBench(t, agent.Options{})
	body := strings.Repeat("some line of the file\n", 100)
	b.file(t, "a.txt", body)
	read := call("", "read_file", `{"path":"a.txt"}`)
	wants(t, b.do(t, read)[0], false, body)
	again := b.do(t, read)[0].Text()
	if !strings.HasPrefix(again, "[unchanged a.txt:") || len(again) > 250 {
		t.Fatalf("reading again gave %q", again)
	}
	// The handle in it leads to the content.
	_, rest, _ := strings.Cut(again, `unfold("`)
	handle, _, _ := strings.Cut(rest, `"`)
	if u, err := b.Session().Unfold(t.Context(), recall.UnfoldRequest{Handle: handle}); err != nil ||
		!strings.HasSuffix(u.Whole, body) {
		t.Errorf("unfold(%q) gave %q, %v", handle, u.Whole, err)
	}
	// A part of it stands above as well; another file state does not.
	wants(t, b.do(t, call("", "read_file", `{"path":"a.txt","offset":3,"limit":4}`))[0], false, "[unchanged")
	b.file(t, "a.txt", body+"more\n")
	wants(t, b.do(t, read)[0], false, body+"more\n")
	// What the view no longer shows is read again.
	for i := range 12 {
		b.do(t, call("", "calc", `{"expression":"%d+1"}`, i))
	}
	if p, err := b.Session().Pull(t.Context(), lever.Mask{Keep: 3, Min: 120}); err != nil || p.IsEmpty() {
		t.Fatalf("nothing was masked: %v", err)
	}
	whole := b.do(t, read)[0]
	wants(t, whole, false, body+"more\n")
	// What a page shows is not.
	if p, err := b.Session().Pull(t.Context(), lever.Digest{Stub: whole.Text() + "{summary}"}); err != nil || p.IsEmpty() {
		t.Fatalf("there is no page: %v", err)
	}
	wants(t, b.do(t, read)[0], false, "[unchanged a.txt:")
}

func TestEditFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, agent.Options{Permit: agent.AllowAll})
	b.file(t, "a.go", "package a\n\nvar x = 1\nvar y = 1\n")
	edit := func(old, with string, all bool) transcript.ToolCall {
		return call("", "edit_file", `{"path":"a.go","old":%q,"new":%q,"all":%v}`, old, with, all)
	}
	wants(t, b.do(t, edit("x = 1", "x = 2", false))[0], true, "was not read yet")
	b.do(t, call("", "read_file", `{"path":"a.go"}`))
	wants(t, b.do(t, edit("= 1", "= 2", false))[0], true, "2 times")
	wants(t, b.do(t, edit("z = 1", "z = 2", false))[0], true, "is not in a.go")
	wants(t, b.do(t, edit("", "z", false))[0], true, "old is needed")
	wants(t, b.do(t, edit("x", "x", false))[0], true, "the same")
	// Two edits of one answer do not get in each other's way.
	for _, r := range b.do(t, edit("x = 1", "x = 2", false), edit("y = 1", "y = 3", false)) {
		wants(t, r, false, "[edited a.go: line ")
	}
	wants(t, b.do(t, edit("var", "const", true))[0], false, "2 places, the first at line 3")
	data, err := os.ReadFile(filepath.Join(b.dir, "a.go"))
	if want := "package a\n\nconst x = 2\nconst y = 3\n"; err != nil || string(data) != want {
		t.Errorf("the file is %q, want %q (%v)", data, want, err)
	}
	// What somebody else changed must be looked at first.
	b.file(t, "a.go", "package other\n")
	wants(t, b.do(t, edit("other", "mine", false))[0], true, "has changed since")
	wants(t, b.do(t, call("", "write_file", `{"path":"a.go","content":"x"}`))[0], true, "has changed since")
	wants(t, b.do(t, call("", "write_file", `{"path":"new/b.go","content":"package b\n"}`))[0], false,
		"[wrote new/b.go: 1 lines, 10 bytes;")
	// What it wrote itself it knows.
	wants(t, b.do(t, call("", "edit_file", `{"path":"new/b.go","old":"package b","new":"package c"}`))[0], false,
		"[edited")
}

// That a file was read is known as long as the transcript is: after compaction, and in
// another program that opens the session.
func TestReadBeforeEditSurvives(t *testing.T) {
	t.Parallel()
	store, dir := store.NewMemory(), t.TempDir()
	open := func(steps ...pleattest.Step) *agent.Agent {
		w := workspace(t, dir)
		a := newAgent(t, &agent.Options{
			Store: store, Generator: &pleattest.Script{Steps: steps}, Permit: agent.AllowAll,
			Tools: agent.StandardTools(w, nil), Session: pleat.Options{Budget: fold.Budget{Window: 8_000}},
		})
		return a
	}
	write(t, filepath.Join(dir, "a.txt"), "one\n"+strings.Repeat("filler of the file\n", 200))
	a := open(pleattest.Use(call("1", "read_file", `{"path":"a.txt"}`)), pleattest.Say("read"))
	run(t, a, "read it")
	var steps []pleattest.Step
	for i := range 10 {
		steps = append(steps,
			pleattest.Use(call(fmt.Sprint("c", i), "bash", `{"command":"seq %d %d"}`, i*1000, i*1000+500)))
	}
	a = open(append(steps, pleattest.Say("counted"))...)
	run(t, a, "count")
	if a.Session().Snapshot().Epoch == 0 {
		t.Fatal("nothing was folded")
	}
	a = open(pleattest.Use(call("e", "edit_file", `{"path":"a.txt","old":"one","new":"two"}`)), pleattest.Say("edited"))
	run(t, a, "edit it")
	if data, _ := os.ReadFile(filepath.Join(dir, "a.txt")); !strings.HasPrefix(string(data), "two\n") {
		t.Errorf("the file begins with %q", data[:4])
	}
}

func TestGlobAndGrep(t *testing.T) {
	t.Parallel()
	b := newBench(t, agent.Options{})
	b.file(t, "a.go", "package a\nfunc Alpha() {}\n")
	b.file(t, "sub/b.go", "package b\nfunc Beta() {}\n// alpha again\n")
	b.file(t, "sub/deep/c.txt", "alpha\n"+strings.Repeat("x", 3000)+"needle"+strings.Repeat("y", 3000)+"\n")
	b.file(t, ".git/config", "alpha\n")
	b.file(t, "bin", "alpha\x00\n")
	r := b.do(
		t,
		call("", "glob", `{"pattern":"**/*.go"}`),
		call("", "glob", `{"pattern":"*.go","path":"sub"}`),
		call("", "glob", `{"pattern":"*.rs"}`),
		call("", "glob", `{"pattern":"[a"}`),
		call("", "grep", `{"pattern":"alpha"}`),
		call("", "grep", `{"pattern":"alpha","ignore_case":true,"glob":"*.go"}`),
		call("", "grep", `{"pattern":"alpha","files_only":true,"path":"sub"}`),
		call("", "grep", `{"pattern":"needle"}`),
		call("", "grep", `{"pattern":"("}`),
		call("", "grep", `{"pattern":"Beta","path":"sub/b.go"}`),
	)
	for i, want := range []struct {
		failed bool
		text   string
	}{
		{false, "a.go\nsub/b.go\n"},
		{false, "sub/b.go\n"},
		{false, "no file matches\n"},
		{true, "is not a pattern"},
		{false, "sub/b.go:3:// alpha again\nsub/deep/c.txt:1:alpha\n"},
		{false, "a.go:2:func Alpha() {}\nsub/b.go:3:// alpha again\n"},
		{false, "sub/b.go: 1\nsub/deep/c.txt: 1\n"},
		{false, "sub/deep/c.txt:2:[column 2901 of 6006]"},
		{true, "read pattern"},
		{false, "sub/b.go:2:func Beta() {}\n"},
	} {
		if !want.failed && i != 7 {
			if got := r[i].Text(); got != want.text || r[i].Error {
				t.Errorf("call %d gave %q, want %q", i, got, want.text)
			}
			continue
		}
		wants(t, r[i], want.failed, want.text)
	}
}

func TestTodoWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t, agent.Options{})
	r := b.do(
		t,
		call(
			"",
			"todo_write",
			`{"todos":[{"content":"look","status":"completed"},{"content":"mend","status":"in_progress"},{"content":"test",`+
				`"status":"pending"}]}`,
		),
	)
	wants(t, r[0], false, "1 to do, 1 in progress, 1 completed")
	_, tasks := inside.Of(b.Session()).UserWords()
	if len(tasks.Items) != 3 || tasks.Items[1].Text != "mend" || tasks.Items[1].Status != userwords.TaskInProgress {
		t.Errorf("the session's tasks are %+v", tasks.Items)
	}
	two := call("", "todo_write",
		`{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"in_progress"}]}`)
	wants(t, b.do(t, two)[0], true, "more than one")
	wants(t, b.do(t, call("", "todo_write", `{"todos":[{"content":"a","status":"later"}]}`))[0], true, "later")
}

func TestLoadSkill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) { write(t, filepath.Join(dir, name), text) }
	write("skills/release/SKILL.md",
		"---\nname: release\ndescription: How releases are made.\n---\n# Release\nTag it.\n")
	write("skills/plain/SKILL.md", "# Plain words\nBe plain.\n")
	write("secret/SKILL.md", "not a skill")
	w := workspace(t, t.TempDir())
	b := &bench{script: &pleattest.Script{}}
	tools := agent.StandardTools(w, &agent.ToolOptions{Skills: filepath.Join(dir, "skills")})
	b.Agent = newAgent(t, &agent.Options{Generator: b.script, Tools: tools})
	r := b.do(
		t,
		call("", "load_skill", `{}`),
		call("", "load_skill", `{"name":"release"}`),
		call("", "load_skill", `{"name":"../secret"}`),
		call("", "load_skill", `{"name":"none"}`),
	)
	wants(t, r[0], false, "plain: Plain words\nrelease: How releases are made.\n")
	wants(t, r[1], false, "# Release\nTag it.\n")
	wants(t, r[2], true, "not the name of a skill")
	wants(t, r[3], true, `there is no skill "none"`)
}

func TestTaskRunsASubAgent(t *testing.T) {
	t.Parallel()
	gen := model.GeneratorFunc(func(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
		first, last := req.Messages[0].Text(), req.Messages[len(req.Messages)-1]
		var step pleattest.Step
		switch {
		case last.Role() == transcript.RoleUser && first == "main":
			step = pleattest.Use(
				call("t1", "task", `{"description":"count","prompt":"count the files"}`),
				call("t2", "task", `{"prompt":"never ends"}`),
			)
		case first == "main":
			step = pleattest.Say("main is done")
		case last.Role() == transcript.RoleUser && first == "count the files":
			for _, d := range req.Tools {
				if d.Name == "task" {
					return model.Reply{}, errors.New("a sub-agent was given the tool task")
				}
			}
			step = pleattest.Use(call("s1", "glob", `{"pattern":"*"}`))
		case first == "count the files":
			step = pleattest.Say("there is 1 file")
		default:
			step = pleattest.Use(call(fmt.Sprint("n", len(req.Messages)), "calc", `{"expression":"1"}`))
		}
		step.Reply.Usage = model.Usage{Input: 100, Output: 10}
		return step.Reply, nil
	})
	st := store.NewMemory()
	b := newBench(
		t,
		agent.Options{
			Generator: gen, Store: st, Key: store.SessionKey{Session: "m"}, Limits: agent.Limits{Tokens: 100_000},
		},
	)
	b.file(t, "only.txt", "x")
	res, err := b.Run(t.Context(), "main")
	if err != nil || res.Text != "main is done" {
		t.Fatalf("%+v, %v", res, err)
	}
	r := b.results()
	wants(t, r[0], false, "[report of sub-agent m.task-t1: 2 requests, 1 calls]\nthere is 1 file\n")
	wants(t, r[1], true, "its limit (turns) was reached")
	if want := (2 + 2 + 50) * 110; res.Spent.Tokens() != want {
		t.Errorf("the run cost %d tokens, want %d with its sub-agents", res.Spent.Tokens(), want)
	}
	child, err := pleat.OpenSession(t.Context(), st, store.SessionKey{Session: "m.task-t1"}, nil)
	if err != nil || child.Len() != 4 {
		t.Errorf("the sub-agent's session has %d messages, want 4 (%v)", child.Len(), err)
	}
	depth := map[int]int{}
	for _, e := range b.events {
		if e.Kind == agent.EventDone {
			depth[e.Depth]++
		}
	}
	if depth[0] != 1 || depth[1] != 2 {
		t.Errorf("done events by depth: %v", depth)
	}
}

func TestUnknownAndBrokenTools(t *testing.T) {
	t.Parallel()
	panics := agent.Tool{
		Definition: model.Tool{Name: "panics", Schema: `{"type":"object"}`},
		Run:        func(context.Context, agent.Call) (string, error) { panic("oh") },
	}
	silent := agent.Tool{
		Definition: model.Tool{Name: "silent", Schema: `{"type":"object"}`},
		Run:        func(context.Context, agent.Call) (string, error) { return "", nil },
	}
	b := newBench(t, agent.Options{Tools: []agent.Tool{panics, silent}})
	r := b.do(
		t,
		call("", "panics", "{}"),
		call("", "nonsense", "{}"),
		call("", "silent", "{}"),
		call("", "calc", `{"expression":`),
		call("", "unfold", `{"handle":"zzzzzzzz"}`),
	)
	wants(t, r[0], true, "panics broke: oh")
	wants(t, r[1], true, `there is no tool "nonsense"`)
	wants(t, r[2], false, "(no output)")
	wants(t, r[3], true, "read the arguments of calc")
	wants(t, r[4], true, "no such handle")
	b.answered(t)
	if _, err := agent.New(
		t.Context(), &agent.Options{Generator: b.script, Tools: []agent.Tool{panics, panics}},
	); err == nil {
		t.Error("two tools of one name were taken")
	}
}

// A panic of the caller's own code comes out where the caller can recover, so that it can put
// a terminal back.
func TestPanickingHook(t *testing.T) {
	b := newBench(
		t,
		agent.Options{
			Hooks: agent.Hooks{
				BeforeTool: func(context.Context, agent.Call) (agent.Verdict, error) { panic("the hook broke") },
			},
		},
	)
	defer func() {
		if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "the hook broke\n") ||
			!strings.Contains(p, "tools_test.go") {
			t.Errorf("recovered %q", p)
		}
	}()
	b.do(t, call("", "calc", `{"expression":"1+1"}`), call("", "calc", `{"expression":"1+2"}`))
	t.Error("no panic")
}
