package pleat_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pleat-dev/pleat"
)

func TestResolve(t *testing.T) {
	failed := pleat.ErrorResult("1", "long output")
	msgs := []pleat.Message{
		pleat.User("hi"),
		pleat.Assistant(pleat.Thinking{Signature: "s"}, pleat.Say("text"), pleat.Call("1", "bash", `{"a":1}`)),
		pleat.Results(failed),
	}
	at := func(i int) pleat.Message { return msgs[i] }

	whole := pleat.Whole(3)
	if !whole.IsWhole(3) || whole.IsWhole(4) {
		t.Error("Whole(3).IsWhole is wrong")
	}
	v := pleat.View{Messages: []pleat.ViewMessage{
		{Source: -1, Made: pleat.User("digest")},
		{Source: 1, Edits: []pleat.BlockEdit{{Block: 0, Drop: true}, {Block: 2, Text: `{}`}}},
		{Source: 2, Edits: []pleat.BlockEdit{{Block: 0, Text: "stub"}}},
	}}
	if v.IsWhole(3) {
		t.Error("an edited view says it is whole")
	}
	got, err := v.Resolve(at)
	if err != nil {
		t.Fatal(err)
	}
	if n := got[1].Blocks().Len(); n != 2 {
		t.Errorf("edited message has %d blocks, want 2", n)
	}
	if c := got[1].Blocks().At(1).(pleat.ToolCall); c.Input.String() != `{}` || c.ID != "1" || c.Name != "bash" {
		t.Errorf("edited call = %+v", c)
	}
	if r := got[2].Blocks().At(0).(pleat.ToolResult); r.Text() != "stub" || !r.Error || r.CallID != "1" {
		t.Errorf("edited result = %+v", r)
	}

	for _, bad := range []struct {
		edit pleat.BlockEdit
		want error
	}{
		{pleat.BlockEdit{Block: 0, Text: "x"}, pleat.ErrNotEditable}, // thinking
		{pleat.BlockEdit{Block: 7, Text: "x"}, pleat.ErrNoSuchBlock},
	} {
		v := pleat.View{Messages: []pleat.ViewMessage{{Source: 1, Edits: []pleat.BlockEdit{bad.edit}}}}
		if _, err := v.Resolve(at); !errors.Is(err, bad.want) {
			t.Errorf("Resolve(%+v) = %v, want %v", bad.edit, err, bad.want)
		}
	}
}

func TestNewViolations(t *testing.T) {
	v := func(rule, path string) pleat.Violation { return pleat.Violation{Rule: rule, Path: path} }
	before := []pleat.Violation{v("a", "messages.9"), v("b", "messages.2")}
	after := []pleat.Violation{v("a", "messages.1"), v("a", "messages.5"), v("c", "messages.0")}
	want := []pleat.Violation{v("a", "messages.5"), v("c", "messages.0")}
	if diff := cmp.Diff(want, pleat.NewViolations(before, after)); diff != "" {
		t.Errorf("NewViolations (-want +got):\n%s", diff)
	}
}
