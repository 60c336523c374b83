package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// editing makes a conversation of successful calls.
func editing(calls ...transcript.ToolCall) *Writer {
	msgs := []transcript.Message{transcript.User("Go.")}
	for i, c := range calls {
		c.ID = fmt.Sprintf("c%d", i)
		result := "The file has been updated."
		switch c.Name {
		case "write_file":
			result = "File created successfully."
		case "read_file":
			result = "     1→func oldWay(n int) error {\n     2→func keptHere() {\n"
		}
		msgs = append(msgs, transcript.Assistant(c), transcript.Results(transcript.Result(c.ID, result)))
	}
	return stateOf(append(msgs, transcript.Assistant(transcript.Say("Done."))))
}

func edit(path, old, with string) transcript.ToolCall {
	return transcript.Call("", "edit_file", fmt.Sprintf(`{"path":%q,"old_string":%q,"new_string":%q}`, path, old, with))
}

func write(path, text string) transcript.ToolCall {
	return transcript.Call("", "write_file", fmt.Sprintf(`{"path":%q,"content":%q}`, path, text))
}

func TestChangesAreNet(t *testing.T) {
	tests := []struct {
		name      string
		calls     []transcript.ToolCall
		want, not []string
	}{
		{
			"a signature",
			[]transcript.ToolCall{edit("a.go", "func run(n int) {", "func run(n int, fast bool) {")},
			[]string{"\n#1 a.go:\n", "- func run(n int) {\n+ func run(n int, fast bool) {"},
			nil,
		},
		{
			"added and taken out again",
			[]transcript.ToolCall{
				edit("a.go", "x", "x\nfunc tryThis() {"), edit("a.go", "func tryThis() {", "func keepThis() {"),
			},
			[]string{"+ func keepThis() {", "\n#1 #2 a.go:\n"},
			[]string{"tryThis"},
		},
		{
			"taken out and put back",
			[]transcript.ToolCall{
				edit("a.go", "func wasHere() {", "func other() {"),
				edit("a.go", "func other() {", "func wasHere() {\nfunc more() {"),
			},
			[]string{"+ func more() {"},
			[]string{"wasHere", "other"},
		},
		{
			"created",
			[]transcript.ToolCall{
				write(
					"b.go",
					"package b\n\ntype BlobStore struct {\n\tmaxBytes int64\n}\n\nfunc (s *BlobStore) Close() error {\n\tif err != nil {\n\t\treturn nil\n",
				),
			},
			[]string{
				"\n#1 b.go (created):\n",
				"+ type BlobStore struct {",
				"+ maxBytes int64",
				"+ func (s *BlobStore) Close() error {",
			},
			[]string{"return nil", "err != nil"},
		},
		{
			"its folder deleted",
			[]transcript.ToolCall{
				write("/p/lib/a.go", "func gone() {\n"), write("/p/lib/sub/b.go", "func goneToo() {\n"),
				write("/p/library.go", "func stays() {\n"), transcript.Call("", "bash", `{"command":"rm -rf /p/lib"}`),
				write("/p/lib/c.go", "func anew() {\n"),
			},
			[]string{"+ func stays() {", "+ func anew() {"},
			[]string{"gone"},
		},
		{
			"written over",
			[]transcript.ToolCall{
				transcript.Call("", "read_file", `{"path":"a.go"}`),
				edit("a.go", "x", "func passing() {"),
				write("a.go", "func keptHere() {\nfunc newWay(n int) error {\n"),
			},
			[]string{"+ func newWay(n int) error {"},
			[]string{"keptHere", "passing"},
		},
		{
			"moved",
			[]transcript.ToolCall{
				transcript.Call(
					"",
					"apply_patch",
					"*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n@@\n-func before() {\n+func after() {\n*** End Patch\n",
				),
			},
			[]string{"\n#1 b.go (was a.go):\n", "+ func after() {"},
			nil,
		},
		{
			"here-documents",
			[]transcript.ToolCall{
				transcript.Call("", "bash", `{"command":"cat > c.py <<'EOF'\ndef handle_event(e):\n    pass\nEOF"}`),
			},
			[]string{"\n#1 c.py (created):\n", "+ def handle_event(e):"},
			nil,
		},
		{
			"tests",
			[]transcript.ToolCall{
				edit("x.test.ts", "a", "test(\"keeps its own state\", async () => {\n\texpect(n).toBe(1);"),
			},
			[]string{`+ test("keeps its own state", async () => {`},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := editing(tt.calls...)
			in := pageOf(s, len(s.Facts()), 3000)
			got := in.changes(600)
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("%q is missing in\n%s", w, got)
				}
			}
			for _, n := range tt.not {
				if strings.Contains(got, n) {
					t.Errorf("%q is in\n%s", n, got)
				}
			}
		})
	}
}

// Whatever the room: the section fits, is the same every time, and what was changed last
// stands last.
func TestChangesFit(t *testing.T) {
	var calls []transcript.ToolCall
	for i := range 60 {
		path := fmt.Sprintf("src/pkg%d/file%d.go", i%7, i%23)
		calls = append(
			calls,
			edit(
				path,
				fmt.Sprintf("func old%dWay() {", i),
				fmt.Sprintf("func new%dWay(ctx context.Context) error {\n\tcount%d int", i, i),
			),
		)
	}
	s := editing(calls...)
	last := calls[len(calls)-1]
	for room := 0; room < 1500; room += 61 {
		in := pageOf(s, len(s.Facts()), 3000)
		got := in.changes(room)
		if n := s.Tokens().CountText(got); n > room {
			t.Errorf("%d tokens in a room of %d", n, room)
		}
		if got != in.changes(room) {
			t.Errorf("room %d: not the same twice", room)
		}
		if room > 200 && !strings.Contains(got, "new59Way") {
			t.Errorf("room %d: the newest change %s is missing in\n%s", room, last.Input, got)
		}
	}
}

// A paste must not keep short messages out.

func TestLedgerKeepsWhatOthersSaw(t *testing.T) {
	msgs := []transcript.Message{
		transcript.User("Go."),
		transcript.Assistant(
			transcript.Call("a", "bash",
				`{"command":"git add -A && git commit -m 'Guard the limiter against bursts'"}`),
		),
		transcript.Results(transcript.Result("a", "[main 4dc9e56] Guard the limiter against bursts\n 1 file changed")),
		transcript.Assistant(transcript.Call("b", "bash",
			`{"command":"gh pr comment 162 --body 'Not needed any more'"}`)),
		transcript.Results(transcript.Result("b", "https://github.com/x/y/pull/162#issuecomment-1")),
	}
	for i := range 40 {
		id := fmt.Sprintf("t%d", i)
		msgs = append(
			msgs,
			transcript.Assistant(transcript.Call(id, "bash", fmt.Sprintf(`{"command":"go test ./pkg%d/..."}`, i))),
			transcript.Results(transcript.Result(id, "ok")),
		)
	}
	s := stateOf(msgs)
	in := pageOf(s, len(s.Facts()), 3000)
	got := s.Ledger().
		Render(ledger.RenderOptions{
			UpTo: len(s.Facts()), Budget: 200, Count: s.Tokens().CountText, Answer: in.answer, Brief: true,
		})
	for _, want := range []string{
		"[main 4dc9e56] Guard the limiter",
		"gh pr comment 162 --body 'Not needed any more': ok: https://github.com/x/y/pull/162", "go test ./pkg39",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestChangeParts(t *testing.T) {
	tests := []struct {
		tool, name, input string
		want              map[string]string
	}{
		{
			"edit",
			"edit",
			`{"path":"a.go","old_string":"one\ntwo","new_string":"one\ntwo\nthree"}`,
			map[string]string{"a.go": "three\n"},
		},
		{
			"edit",
			"edits",
			`{"path":"a.go","edits":[{"oldText":"x","newText":"x\ny"},{"oldText":"p","newText":"q"}]}`,
			map[string]string{"a.go": "y\nq\n"},
		},
		{"write", "write", `{"file_path":"a.go","content":"all\nof it\n"}`, map[string]string{"a.go": "all\nof it\n"}},
		{
			"apply_patch", "patch",
			"*** Begin Patch\n*** Update File: a.go\n@@\n-old\n+new\n same\n*** Add File: b.go\n+package b\n*** End Patch\n",
			map[string]string{"a.go": "new\n", "b.go": "package b\n"},
		},
		{
			"apply_patch",
			"patch in JSON",
			`{"input":"*** Begin Patch\n*** Update File: a.go\n+new\n*** End Patch"}`,
			map[string]string{"a.go": "new\n"},
		},
		{"edit", "nothing", `{"path":"a.go"}`, map[string]string{}},
		{"write", "damaged", `{"path":"a.go","content":"x`, map[string]string{}},
	}
	for _, tt := range tests {
		e := ledger.Entry{
			CallFacts: toolcall.CallFacts{
				Kind:  toolcall.CallEdit,
				Paths: []toolcall.PathChange{{Path: "a.go", Change: toolcall.CallEdit}},
			},
		}
		got := map[string]string{}
		for _, p := range changeParts(&e, transcript.Call("c", tt.tool, tt.input)) {
			if p.kind == fromChange {
				got[p.label] += p.text
			}
		}
		difftest.Equal(t, tt.want, got, tt.name)
	}
}
