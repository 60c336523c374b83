package transcript_test

import (
	"errors"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/transcript"
)

func TestResolve(t *testing.T) {
	failed := transcript.ErrorResult("1", "long output")
	msgs := []transcript.Message{
		transcript.User("hi"),
		transcript.Assistant(transcript.Thinking{Signature: "s"}, transcript.Say("text"),
			transcript.Call("1", "bash", `{"a":1}`)),
		transcript.Results(failed),
	}
	tr := transcript.NewTranscript(msgs...)

	whole := transcript.Whole(3)
	if !whole.IsWhole(3) || whole.IsWhole(4) {
		t.Error("Whole(3).IsWhole is wrong")
	}
	v := transcript.View{Messages: []transcript.ViewMessage{
		{Source: -1, Made: transcript.User("digest")},
		{Source: 1, Edits: []transcript.BlockEdit{{Block: 0, Drop: true}, {Block: 2, Text: `{}`}}},
		{Source: 2, Edits: []transcript.BlockEdit{{Block: 0, Text: "stub"}}},
	}}
	if v.IsWhole(3) {
		t.Error("an edited view says it is whole")
	}
	got, err := v.Resolve(tr)
	difftest.Must(t, err)
	if n := got[1].Blocks().Len(); n != 2 {
		t.Errorf("edited message has %d blocks, want 2", n)
	}
	if c := got[1].Blocks().At(1).(transcript.ToolCall); c.Input.String() != `{}` || c.ID != "1" || c.Name != "bash" {
		t.Errorf("edited call = %+v", c)
	}
	if r := got[2].Blocks().At(0).(transcript.ToolResult); r.Text() != "stub" || !r.Error || r.CallID != "1" {
		t.Errorf("edited result = %+v", r)
	}

	for _, bad := range []struct {
		edit transcript.BlockEdit
		want error
	}{
		{transcript.BlockEdit{Block: 0, Text: "x"}, transcript.ErrNotEditable}, // thinking
		{transcript.BlockEdit{Block: 7, Text: "x"}, transcript.ErrNoSuchBlock},
	} {
		v := transcript.View{Messages: []transcript.ViewMessage{{Source: 1, Edits: []transcript.BlockEdit{bad.edit}}}}
		if _, err := v.Resolve(tr); !errors.Is(err, bad.want) {
			t.Errorf("Resolve(%+v) = %v, want %v", bad.edit, err, bad.want)
		}
	}
}

func TestNewViolations(t *testing.T) {
	v := func(rule, path string) transcript.Violation { return transcript.Violation{Rule: rule, Path: path} }
	before := []transcript.Violation{v("a", "messages.9"), v("b", "messages.2")}
	after := []transcript.Violation{v("a", "messages.1"), v("a", "messages.5"), v("c", "messages.0")}
	want := []transcript.Violation{v("a", "messages.5"), v("c", "messages.0")}
	difftest.Equal(t, want, transcript.NewViolations(before, after), "NewViolations")
}

// TestCheckBlank: a view shows something, and nothing in it is blank.
func TestCheckBlank(t *testing.T) {
	tr := transcript.NewTranscript(transcript.User("hi"), transcript.Assistant(transcript.Say("text")))
	for rule, list := range map[string][]transcript.ViewMessage{
		"no-messages":   nil,
		"empty-message": {{Source: -1, Made: transcript.User(" \n")}},
		"empty-text":    {{Source: 0}, {Source: 1, Edits: []transcript.BlockEdit{{Text: "\t"}}}},
	} {
		if bad := (transcript.View{Messages: list}).Check(tr); len(bad) != 1 || bad[0].Rule != rule {
			t.Errorf("got %v, want %s", bad, rule)
		}
	}
	if bad := (transcript.View{}).Check(transcript.NewTranscript()); len(bad) > 0 {
		t.Errorf("a conversation that has not begun: %v", bad)
	}
}
