package bench

import (
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/transcript"
)

// What a reader takes from a line about files, the probe takes from it too.
func TestStatedChanges(t *testing.T) {
	for line, want := range map[string]trail{
		"Edited: /src/a.go (2 times) #157":         {"/src/a.go": Edited},
		"Created: /src/a b.md #3":                  {"/src/a b.md": Created},
		"#31 create /src/cli/.env.example: ok":     {"/src/cli/.env.example": Created},
		"#31 edit /src/a.go: failed: no such text": {},
		"Edited: src/{a.go,b/{c.go,d.go}}": {
			"src/a.go": Edited, "src/b/c.go": Edited, "src/b/d.go": Edited,
		},
		"- Removed from 3 stop/post-task handlers":         {},
		"- Removed `a.go`":                                 {"a.go": Deleted},
		"+ **`handlers.go` - New handler:**":               {},
		"- **`handlers.go`** (new)":                        {"handlers.go": Created},
		"- `handlers.go` - new file with the handlers":     {"handlers.go": Created},
		"Only looked at: /src/a.go":                        {},
		"handlers.go (modified) and other.go (deleted #9)": {"handlers.go": Edited, "other.go": Deleted},
	} {
		difftest.Equal(t, want, seeText(line).changes(), line)
	}
}

// A call that the view shows to have failed changed nothing.
func TestFailedChange(t *testing.T) {
	failed := transcript.Result("2", "Error: no such text")
	failed.Error = true
	msgs := []transcript.Message{
		transcript.Assistant(
			transcript.Call("1", "write", `{"file_path":"/a.go"}`),
			transcript.Call("2", "edit", `{"file_path":"/b.go"}`),
		),
		transcript.Results(transcript.Result("1", "done"), failed),
	}
	got := seeView(transcript.Whole(len(msgs)), msgs).changes()
	difftest.Equal(t, trail{"/a.go": Created}, got)
}

// Of a command that was run through a filter afterwards nobody knows the newest outcome.
func TestOutcomeFilteredLater(t *testing.T) {
	run := func(id, command, result string) []transcript.Message {
		return []transcript.Message{
			transcript.Assistant(transcript.Call(id, "bash", `{"command":"`+command+`"}`)),
			transcript.Results(transcript.Result(id, result)),
		}
	}
	s := &Session{
		Messages: slices.Concat(
			run("1", "make lint", "ok"), run("2", "make test", "ok"), run("3", "make lint 2>&1 | head -3", "bad"),
		),
	}
	var got []string
	for _, p := range outcomes(s, span{cut: len(s.Messages)}) {
		got = append(got, p.what)
	}
	difftest.Equal(t, []string{"ok: make test"}, got)
}

// The newest word on a command holds, also over an older stub further up.
func TestOutcomeInOrder(t *testing.T) {
	run := func(id, result string) []transcript.Message {
		return []transcript.Message{
			transcript.Assistant(transcript.Call(id, "bash", `{"command":"make test"}`)),
			transcript.Results(transcript.Result(id, result)),
		}
	}
	page := func(text string) []transcript.Message { return []transcript.Message{transcript.User(text)} }
	stub := `[folded: bash make test, 9 lines, 99 bytes. It ended: failed: boom. Done and seen]`
	for name, tc := range map[string]struct {
		parts [][]transcript.Message
		want  verdict
	}{
		"stub, then shown": {[][]transcript.Message{run("1", stub), run("2", "all good")}, stated},
		"shown, then stub": {[][]transcript.Message{run("1", "all good"), run("2", stub)}, wrong},
		"page, then shown": {[][]transcript.Message{page("#1 make test: failed: boom"), run("2", "all good")}, stated},
		"shown, then page": {[][]transcript.Message{run("1", "all good"), page("#2 make test: failed: boom")}, wrong},
		"page":             {[][]transcript.Message{page("#1 make test: ok")}, stated},
		"another command":  {[][]transcript.Message{page("#1 make test-all: ok")}, absent},
		"only named":       {[][]transcript.Message{page("ran `make test`")}, absent},
	} {
		var v transcript.View
		var msgs []transcript.Message
		for _, p := range tc.parts {
			for _, m := range p {
				vm := transcript.ViewMessage{Source: len(msgs)}
				if len(p) == 1 {
					vm = transcript.ViewMessage{Source: -1, Made: m}
				}
				v.Messages, msgs = append(v.Messages, vm), append(msgs, m)
			}
		}
		if got := outcomeProbe(outcome{command: "make test", result: "all good"}).look(seeView(v, msgs)); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
