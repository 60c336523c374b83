package ledger_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

func ExampleOf() {
	t := transcript.NewTranscript(
		transcript.Assistant(transcript.Call("1", "read_file", `{"path":"main.go"}`)),
		transcript.Results(transcript.Result("1", "package main\n")),
		transcript.Assistant(transcript.Call("2", "edit_file", `{"path":"main.go","old":"a","new":"b"}`)),
		transcript.Results(transcript.Result("2", "ok")),
		transcript.Assistant(transcript.Call("3", "bash", `{"command":"go test ./... 2>&1 | tail -5"}`)),
		transcript.Results(transcript.Result("3", "--- FAIL: TestMain (0.00s)\nFAIL\n")),
	)
	l := ledger.Of(t)
	fmt.Print(l.Render(ledger.RenderOptions{UpTo: t.Len(), Budget: 1000}))
	fmt.Println(l.Entry(1).SupersededBy, l.Changed()[0].Path)
	// Output:
	// 3 tool calls: 1 edit, 1 read, 1 run; 1 failed.
	// #1 read main.go: 1 line, stale since #2
	// #2 edit main.go: ok
	// #3 run go test ./... | tail -5: failed: --- FAIL: TestMain (0.00s)
	// 2 main.go
}

// callStep is a call with its answer; "!" before the answer marks a failure, "?" alone none.
type callStep struct{ tool, input, answer string }

func bashCall(command, answer string) callStep {
	in, _ := json.Marshal(map[string]string{"command": command})
	return callStep{"bash", string(in), answer}
}

func readCall(path, rest string) callStep {
	return callStep{"read_file", `{"path":"` + path + `"` + rest + `}`, "text"}
}

func editCall(path string) callStep { return callStep{"edit_file", `{"path":"` + path + `"}`, "ok"} }

func writeCall(path string) callStep { return callStep{"write_file", `{"path":"` + path + `"}`, "ok"} }

func ledgerOf(steps ...callStep) *ledger.Ledger {
	t := transcript.NewTranscript()
	for i, s := range steps {
		id := fmt.Sprint(i)
		t.Append(transcript.Assistant(transcript.Call(id, s.tool, s.input)))
		switch {
		case s.answer == "?":
		case strings.HasPrefix(s.answer, "!"):
			t.Append(transcript.Results(transcript.ErrorResult(id, s.answer[1:])))
		default:
			t.Append(transcript.Results(transcript.Result(id, s.answer)))
		}
	}
	return ledger.Of(t)
}

// stepTest is what is wanted of a ledger of some calls.
type stepTest struct {
	name  string
	steps []callStep
	want  string
}

func runSteps(t *testing.T, tests []stepTest, tell func(*ledger.Ledger) []string) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(tell(ledgerOf(tt.steps...)), " "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestLedgerSupersede(t *testing.T) {
	part := func(first, limit int) string { return fmt.Sprintf(`,"offset":%d,"limit":%d`, first, limit) }
	runSteps(t, []stepTest{
		{"read again", []callStep{readCall("a", ""), readCall("a", "")}, "2 0"},
		{
			"read again, unchanged",
			[]callStep{readCall("a", ""), {"read_file", `{"path":"a"}`, "[unchanged a: it is as you read it]"}},
			"0 0",
		},
		{
			"unchanged, then edited",
			[]callStep{
				readCall("a", ""),
				{"Read", `{"file_path":"a"}`, "File unchanged since last read. The content is still current."},
				editCall("a"),
			},
			"3 0 0",
		},
		{"edited after", []callStep{readCall("a", ""), editCall("a")}, "2 0"},
		{"deleted after", []callStep{readCall("a", ""), bashCall("rm a", "")}, "2 0"},
		{"overwritten after", []callStep{readCall("a", part(5, 5)), writeCall("a")}, "2 0"},
		{
			"failed edit changes nothing",
			[]callStep{readCall("a", ""), {"edit_file", `{"path":"a"}`, "!no match"}},
			"0 0",
		},
		{
			"unanswered edit changes nothing yet",
			[]callStep{readCall("a", ""), {"edit_file", `{"path":"a"}`, "?"}},
			"0 0",
		},
		{"other file", []callStep{readCall("a", ""), editCall("b/a")}, "0 0"},
		{"part stays when edited", []callStep{readCall("a", part(5, 5)), editCall("a")}, "0 0"},
		{"part covered by part", []callStep{readCall("a", part(5, 5)), readCall("a", part(1, 20))}, "2 0"},
		{"part not covered", []callStep{readCall("a", part(5, 50)), readCall("a", part(1, 20))}, "0 0"},
		{"whole not covered by part", []callStep{readCall("a", ""), readCall("a", part(1, 20))}, "0 0"},
		{"part covered by whole", []callStep{readCall("a", part(5, 5)), readCall("a", "")}, "2 0"},
		{
			"failed read does not cover",
			[]callStep{readCall("a", ""), {"read_file", `{"path":"a","offset":0}`, "!gone"}},
			"0 0",
		},
		{
			"sed parts",
			[]callStep{bashCall("sed -n '10,20p' a", "x"), bashCall("nl -ba a | sed -n '5,40p'", "x")},
			"2 0",
		},
		{"two files, one read again", []callStep{bashCall("cat a b", "x"), readCall("a", "")}, "0 0"},
		{
			"two files, both read again",
			[]callStep{bashCall("cat a b", "x"), readCall("a", ""), readCall("b", "")},
			"3 0 0",
		},
		{"equal looks", []callStep{bashCall("git status", "x"), bashCall("git status", "y")}, "2 0"},
		{"equal looks, other order of members", []callStep{
			{"grep", `{"pattern":"x","path":"src"}`, "1"},
			{"grep", `{"path":"src","pattern":"x"}`, "2"},
		}, "2 0"},
		{"equal runs", []callStep{bashCall("go test", "ok"), bashCall("go test", "ok")}, "2 0"},
		{
			"failure mended",
			[]callStep{bashCall("go test 2>&1 | tail -5", "!Exit code 1\nx"), bashCall("go test", "ok")},
			"2 0",
		},
		{
			"success then failure of a filtered run",
			[]callStep{bashCall("go test", "ok"), bashCall("go test | tail", "!Exit code 1\nx")},
			"0 0",
		},
		{
			"failure elsewhere is not mended",
			[]callStep{bashCall("cd a && npm test", "!Exit code 1"), bashCall("cd b && npm test", "ok")},
			"0 0",
		},
		{"edits are never stale", []callStep{editCall("a"), editCall("a")}, "0 0"},
		{"runs that write files are never stale", []callStep{bashCall("gen > a", ""), bashCall("gen > a", "")}, "0 0"},
		{"posts are never stale", []callStep{bashCall("git push", ""), bashCall("git push", "")}, "0 0"},
		{
			"failed edit, then one that worked",
			[]callStep{{"edit_file", `{"path":"a"}`, "!no match"}, editCall("a")},
			"2 0",
		},
		{"absolute and relative", []callStep{readCall("/w/app/x/a.go", ""), bashCall("rm x/a.go", "")}, "2 0"},
		{
			"ambiguous end",
			[]callStep{readCall("/w/x/a.go", ""), readCall("/w/y/a.go", ""), bashCall("rm a.go", "")},
			"0 0 0",
		},
		{"a sibling project's file", []callStep{readCall("../cli/mise.toml", ""), writeCall("mise.toml")}, "0 0"},
		{"dot slash", []callStep{readCall("./a", ""), editCall("a")}, "2 0"},
		{"directory of the call", []callStep{
			readCall("/w/app/a.go", ""), {"exec_command", `{"cmd":"rm a.go","workdir":"/w/app"}`, ""},
		}, "2 0"},
	}, func(l *ledger.Ledger) (by []string) {
		for _, e := range l.Entries {
			by = append(by, fmt.Sprint(e.SupersededBy))
		}
		return by
	})
}

// The ledger must bind results to the same calls as the transcript.
func TestLedgerBinding(t *testing.T) {
	a := transcript.Assistant
	call := func(id string) transcript.Block { return transcript.Call(id, "bash", `{"command":"ls"}`) }
	res := func(id, text string) transcript.Message { return transcript.Results(transcript.Result(id, text)) }
	for name, msgs := range map[string][]transcript.Message{
		"late":         {a(call("1")), transcript.User("wait"), a(call("2")), res("2", "b"), res("1", "a")},
		"orphan":       {transcript.User("x"), res("9", "x"), a(call("1")), res("1", "a"), res("1", "b")},
		"abandoned":    {a(call("1")), transcript.User("again"), a(call("1")), res("1", "a")},
		"same id":      {a(call("1"), call("1")), res("1", "a"), res("1", "bb")},
		"two elements": {a(call("1")), a(call("1")), res("1", "a"), res("1", "bb")},
		"reused id":    {a(call("1")), res("1", "a"), a(call("1")), res("1", "bb")},
	} {
		t.Run(name, func(t *testing.T) {
			tr := transcript.NewTranscript(msgs...)
			l := ledger.Of(tr)
			i := 0
			for _, r := range tr.Rounds() {
				for _, c := range r.Calls {
					i++
					e := l.Entry(i)
					if e.Call != c.Call || (e.Outcome != toolcall.Unanswered) != c.Answered || e.Result != c.Result {
						t.Errorf("call %d: ledger has %v = %v (%v), transcript %+v", i, e.Call, e.Result, e.Outcome, c)
					}
				}
			}
			if i != l.Len() {
				t.Errorf("ledger has %d calls, transcript %d", l.Len(), i)
			}
		})
	}
}

func TestLedgerEntryJSON(t *testing.T) {
	l := ledgerOf(bashCall("go vet ./...", "!Exit code 2\nmain.go:3:1: undefined: x"))
	l.Entries[0].Handle = "h1"
	got, err := json.Marshal(l.Entry(1))
	difftest.Must(t, err)
	var m map[string]any
	difftest.Must(t, json.Unmarshal(got, &m))
	delete(m, "signature")
	want := map[string]any{
		"seq": 1.0, "tool": "bash", "args": "go vet ./...", "kind": "run", "command": "go vet ./...",
		"outcome":   "error",
		"error":     "main.go:3:1: undefined: x",
		"exit_code": 2.0,
		"lines":     2.0,
		"bytes":     37.0,
		"handle":    "h1",
	}
	difftest.Equal(t, want, m)
	var back ledger.Entry
	if err := json.Unmarshal(got, &back); err != nil || back.Kind != toolcall.CallRun ||
		back.Outcome != toolcall.Failed {
		t.Errorf("read back %+v, %v", back, err)
	}
}

// One file is one entry, however it is written and wherever the shell stands.
func TestLedgerOneFile(t *testing.T) {
	runSteps(t, []stepTest{
		{
			"a shell that stays",
			[]callStep{
				bashCall("cd /w/app/src && ls", ""),
				bashCall("sed -i s/a/b/ x.go", ""),
				editCall("/w/app/src/x.go"),
			},
			"/w/app/src/x.go",
		},
		{
			"a failure behind cd",
			[]callStep{
				bashCall("cd /w/app/src && go test", "!Exit code 1\nFAIL"),
				bashCall("touch x.go", ""),
				editCall("/w/app/src/x.go"),
			},
			"/w/app/src/x.go",
		},
		{
			"a cd that failed",
			[]callStep{
				editCall("/w/x.go"),
				editCall("/w/sub/x.go"),
				bashCall("cd /w && ls", ""),
				bashCall("cd no", "!Exit code 1\nbash: cd: no: No such file or directory"),
				bashCall("rm x.go", ""),
			},
			"/w/x.go /w/sub/x.go",
		},
		{
			"there and back",
			[]callStep{
				bashCall("cd /w && touch a.go && cd sub && touch b.go && cd .. && touch c.go", ""),
				editCall("/w/a.go"),
				editCall("/w/sub/b.go"),
				editCall("/w/c.go"),
			},
			"/w/a.go /w/sub/b.go /w/c.go",
		},
		{
			"a subshell",
			[]callStep{
				bashCall("cd /w && (cd sub && touch b.go) && touch c.go", ""),
				editCall("/w/sub/b.go"),
				editCall("/w/c.go"),
			},
			"/w/sub/b.go /w/c.go",
		},
		{
			"a shell that begins anew",
			[]callStep{bashCall("cd src && touch x.go", ""), bashCall("cd src && rm x.go", "")},
			"x.go",
		},
		{
			"put back",
			[]callStep{
				editCall("/w/x.go"),
				bashCall("cd /elsewhere && ls", "a\nShell cwd was reset to /w\n"),
				bashCall("rm x.go y.go", ""),
			},
			"/w/x.go y.go",
		},
		{
			"a directory of the call",
			[]callStep{{"exec_command", `{"cmd":"cd sub && touch x.go","srcdir":"/w"}`, "ok"}, editCall("/w/sub/x.go")},
			"/w/sub/x.go",
		},
		{"Windows", []callStep{
			{"Edit", `{"file_path":"C:\\Src\\x.go"}`, "ok"},
			bashCall("cd /c/src && rm ./X.go", ""), bashCall("touch /mnt/c/Src/x.go", ""),
			{
				"PowerShell",
				`{"command":"Set-Location c:\\src; Remove-Item .\\x.go -ErrorAction SilentlyContinue"}`,
				"ok",
			},
		}, `C:\Src\x.go`},
	}, func(l *ledger.Ledger) (changed []string) {
		for _, s := range l.Changed() {
			changed = append(changed, s.Path)
		}
		return changed
	})
}

// What goes on in the background ends when the agent is told so.
func TestLedgerBackground(t *testing.T) {
	build := func(answer string) callStep { return bashCall("make all", answer) }
	codex := callStep{
		"exec_command",
		`{"cmd":"make all"}`,
		"Chunk ID: a\nWall time: 30 seconds\nProcess running with session ID 42\nOutput:\nFAIL is not the end\n",
	}
	claude := build("Command running in background with ID: b1c2. Output is being written to: /tmp/b1c2.output")
	poll := func(answer string) callStep { return callStep{"write_stdin", `{"session_id":42,"chars":""}`, answer} }
	output := func(answer string) callStep { return callStep{"TaskOutput", `{"task_id":"b1c2","block":true}`, answer} }
	outcome := func(l *ledger.Ledger) []string { return []string{l.Entry(1).Outcome.String()} }
	runSteps(t, []stepTest{
		{"goes on", []callStep{codex, poll("Process running with session ID 42\nOutput:\n")}, "running"},
		{
			"ended well",
			[]callStep{
				codex,
				poll("Process running with session ID 42\n"),
				poll("Process exited with code 0\nOutput:\nok\n"),
			},
			"ok",
		},
		{
			"failed",
			[]callStep{codex, poll("Process exited with code 2\nOutput:\nmake: *** [all] Error 2\n")},
			"error",
		},
		{
			"another one's end",
			[]callStep{codex, {"write_stdin", `{"session_id":43}`, "Process exited with code 2\n"}},
			"running",
		},
		{
			"asked for",
			[]callStep{
				claude,
				output(
					"<retrieval_status>success</retrieval_status>\n\n<task_id>b1c2</task_id>\n\n<status>completed</status>\n\n<exit_code>1</exit_code>\n\n<output>\nx</output>",
				),
			},
			"error",
		},
		{"asked too early", []callStep{claude, output("<task_id>b1c2</task_id>\n<status>running</status>")}, "running"},
		{"asked in vain", []callStep{claude, output("Error: no task with that ID")}, "running"},
		{"only output is shown", []callStep{claude, output("compiling a.c\n")}, "running"},
	}, outcome)
	asked := ledgerOf(codex, poll("Process running with session ID 42\n"), poll("Process running with session ID 42\n"),
		claude, output("<task_id>b1c2</task_id>\n<status>running</status>"))
	want := "5 tool calls: 4 run, 1 read; 2 started in the background.\n"
	if got := asked.Render(ledger.RenderOptions{UpTo: 100, Budget: 60}); !strings.HasPrefix(got, want) {
		t.Errorf("questions count as running: %s", got)
	}
	agent := callStep{"Agent", `{"prompt":"look"}`, "Async agent launched successfully.\nagentId: a77 (internal ID)"}
	for _, tt := range []struct {
		name         string
		started      callStep
		notice, want string
	}{
		{
			"told",
			claude,
			"<task-notification>\n<task-id>b1c2</task-id>\n<status>completed</status>\n<summary>Background command \"Build\" completed (exit code 0)</summary>\n</task-notification>",
			"ok",
		},
		{
			"told that it failed",
			claude,
			"<task-notification>\n<task-id>b1c2</task-id>\n<status>failed</status>\n<summary>Background command \"Build\" failed with exit code 2</summary>\n</task-notification>",
			"error",
		},
		{
			"an agent",
			agent,
			"<task-notification>\n<task-id>a77</task-id>\n<status>completed</status>\n</task-notification>",
			"ok",
		},
		{"somebody talks of it", claude, "why is <task-id>b1c2</task-id> <status>failed</status>?", "running"},
	} {
		l := ledgerOf(tt.started)
		l.Add(100, transcript.User(tt.notice))
		if got := outcome(l)[0]; got != tt.want {
			t.Errorf("%s: %s, want %s: %+v", tt.name, got, tt.want, l.Entry(1).ResultFacts)
		}
	}
}

// TestSettled renders a long ledger again and again while it grows. What it keeps from one
// rendering to the next must not show: a ledger that is made anew says the same, also when a
// result comes late and when an earlier part is asked for.
func TestSettled(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var msgs []transcript.Message
	late := ""
	for i := range 3 * ledger.Recent {
		id, path := fmt.Sprint("c", i), fmt.Sprintf("src/p%d/f%d.go", r.IntN(5), r.IntN(80))
		call, result := transcript.Call(id, "read_file", fmt.Sprintf(`{"path":%q}`, path)), "1\tpackage p"
		switch r.IntN(6) {
		case 0:
			call, result = transcript.Call(id, "write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, path)), "written"
		case 1:
			input := fmt.Sprintf(`{"path":"/home/me/%s","old_string":"a","new_string":"b"}`, path)
			call, result = transcript.Call(id, "edit_file", input), "edited"
		case 2:
			input := fmt.Sprintf(`{"command":"go test ./src/p%d"}`, r.IntN(9))
			call, result = transcript.Call(id, "bash", input), "FAIL\nexit status 1"
		case 3:
			input := fmt.Sprintf(`{"command":"rm -r src/p%d && git commit -m %d"}`, r.IntN(5), i)
			call, result = transcript.Call(id, "bash", input), "ok"
		}
		msgs = append(msgs, transcript.Assistant(call))
		if i == 7 {
			late = id
			continue
		}
		msgs = append(msgs, transcript.Results(transcript.Result(id, result)))
	}
	msgs = append(msgs, transcript.Results(transcript.Result(late, "late")))
	grows := &ledger.Ledger{}
	check := func(added, upTo int) {
		fresh := &ledger.Ledger{}
		for i, m := range msgs[:added] {
			fresh.Add(i, m)
		}
		for _, o := range []ledger.RenderOptions{
			{Budget: 900, Names: 2_000}, {Budget: 300, Brief: true}, {Budget: 60}, {Budget: 100_000},
		} {
			o.UpTo = upTo
			if d := difftest.Values(fresh.Render(o), grows.Render(o)); d != "" {
				t.Fatalf("with %d messages, up to %d, in %d tokens:\n%s", added, upTo, o.Budget, d)
			}
		}
	}
	for i, m := range msgs {
		if grows.Add(i, m); (i+1)%700 == 0 || i+1 == len(msgs) {
			check(i+1, i+1)
			check(i+1, i-10)
		}
	}
	check(len(msgs), 900)
	text := grows.Render(ledger.RenderOptions{UpTo: len(msgs), Budget: 100_000})
	for _, f := range grows.Changed() {
		if !strings.Contains(text, ": "+f.Path) {
			t.Errorf("%s is not named", f.Path)
		}
	}
}
