package recall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// callsSession has a file that was written, edits of it that look alike, and a patch.
func callsSession(t *testing.T) *pleat.Session {
	t.Helper()
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{Tokens: counter})
	var file strings.Builder
	for i := range 300 {
		fmt.Fprintf(&file, "line %d of \\\"walrus\\\"\\n", i+1)
	}
	inputs := []string{
		`{"file_path":"src/herd.go","content":"` + file.String() + `"}`,
		`{"replace_all":false,"file_path":"src/herd.go","old_string":"line 7\nline 8","new_string":"line 7\nlimit := 4096 // ibex"}`,
		`{"replace_all":false,"file_path":"src/herd.go","old_string":"line 9\nline 10","new_string":"line 9\nlimit := 8192 // dromedary"}`,
	}
	msgs := []transcript.Message{transcript.User("Work.")}
	for i, in := range inputs {
		id, tool := fmt.Sprint("c", i), "Edit"
		if i == 0 {
			tool = "Write"
		}
		msgs = append(
			msgs,
			transcript.Assistant(transcript.Say("Now the herd."), transcript.Call(id, tool, in)),
			transcript.Results(transcript.Result(id, "ok")),
		)
	}
	pleattest.Append(t, s, msgs...)
	return s
}

// TestCallsAreText: what a call wrote is found, shown and addressed by its own lines, not by the JSON of its input.
func TestCallsAreText(t *testing.T) {
	s := callsSession(t)
	for query, want := range map[string]recall.Line{
		"limit dromedary": {Number: 5, Text: "+limit := 8192 // dromedary"},
		"walrus 203":      {Number: 203, Text: `line 203 of "walrus"`},
	} {
		hits := searchFor(t, s, query).Answers[0].Hits
		if len(hits) == 0 {
			t.Fatalf("%s: nothing", query)
		}
		found := false
		for _, l := range hits[0].Shown {
			found = found || l.Match && l.Number == want.Number && l.Text == want.Text
		}
		if !found {
			t.Errorf("%s: %q is not in the first hit:\n%s", query, want.Text, searchFor(t, s, query).Text())
		}
		u := unfold(t, s, recall.UnfoldRequest{Handle: hits[0].Handle, From: want.Number, To: want.Number})
		if got := strings.TrimSuffix(u.Content(), "\n"); got != want.Text {
			t.Errorf("%s: line %d is %q", query, want.Number, got)
		}
		if !strings.HasPrefix(u.Whole, "{") || u.Hash != transcript.HashOf(u.Whole) {
			t.Errorf("%s: the whole is not the exact input: %.80s", query, u.Whole)
		}
		raw := unfold(t, s, recall.UnfoldRequest{Handle: hits[0].Handle, Raw: true}).Content()
		if !strings.HasPrefix(raw, `{"kind":"tool_call"`) {
			t.Errorf("%s: raw: %.80s", query, raw)
		}
	}
}

// TestResultOfWritingCommand: a call that shows one file and writes another has its change under its number, and
// the handle of its result beside it.
func TestResultOfWritingCommand(t *testing.T) {
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{Tokens: counter})
	err := s.Append(t.Context(), transcript.User("Work."),
		transcript.Assistant(transcript.Call("1", "Bash", `{"command":"cat a; echo x > b"}`)),
		transcript.Results(transcript.Result("1", "walrus")))
	must(t, err)
	u := unfold(t, s, recall.UnfoldRequest{Handle: "#1"})
	if got := unfold(t, s, recall.UnfoldRequest{Handle: u.Result}).Content(); got != "walrus" ||
		u.Content() != "cat a; echo x > b" || !strings.Contains(u.Text(), ", result "+u.Result) {
		t.Errorf("%s beside it: %q", u.Text(), got)
	}
	row := " [" + u.Handle + ", result " + u.Result + "]\n"
	if led := inside.Of(s).LedgerText(ledger.Filter{}, 0); !strings.Contains(led, row) {
		t.Errorf("no %q in %s", row, led)
	}
}
