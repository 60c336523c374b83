package ledger_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pleat-dev/pleat/internal/calltest"
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

type callStep calltest.Step

func bashCall(command, answer string) callStep {
	in, _ := json.Marshal(map[string]string{"command": command})
	return callStep{"bash", string(in), answer}
}

func readCall(path, rest string) callStep {
	return callStep{"read_file", `{"path":"` + path + `"` + rest + `}`, "text"}
}

func editCall(path string) callStep { return callStep{"edit_file", `{"path":"` + path + `"}`, "ok"} }

func writeCall(path string) callStep { return callStep{"write_file", `{"path":"` + path + `"}`, "ok"} }

func ledgerOf[S ~struct{ Tool, Input, Answer string }](steps ...S) *ledger.Ledger {
	t, _ := calltest.Transcript(steps...)
	return ledger.Of(t)
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
			for r := range tr.Rounds() {
				for _, c := range tr.Round(r).Calls {
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
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(got, &m); err != nil {
		t.Fatal(err)
	}
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
	if d := difftest.Values(want, m); d != "" {
		t.Error(d)
	}
	var back ledger.Entry
	if err := json.Unmarshal(got, &back); err != nil || back.Kind != toolcall.CallRun ||
		back.Outcome != toolcall.Failed {
		t.Errorf("read back %+v, %v", back, err)
	}
}
