package pleattest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

func ExampleScript() {
	m := &pleattest.Script{Steps: []pleattest.Step{
		pleattest.Use(transcript.Call("c1", "bash", `{"command":"ls"}`)), pleattest.Say("done"),
	}}
	for range 2 {
		r, _ := m.Generate(
			context.Background(),
			&model.Request{Model: "any"},
			func(d model.Delta) { fmt.Println(d.Kind, d.Name, d.Text) },
		)
		fmt.Println(r.Stop)
	}
	// Output:
	// tool_call bash {"command":"ls"}
	// tool_use
	// text  done
	// end
}

func TestScriptEnds(t *testing.T) {
	broken := errors.New("broken")
	m := &pleattest.Script{Steps: []pleattest.Step{pleattest.Fail(broken), {Hang: true}}}
	if _, err := m.Generate(t.Context(), &model.Request{}, nil); !errors.Is(err, broken) {
		t.Errorf("first answer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Generate(ctx, &model.Request{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("second answer: %v", err)
	}
	if _, err := m.Generate(t.Context(), &model.Request{}, nil); err == nil || len(m.Requests()) != 3 {
		t.Errorf("a request beyond the script: %v after %d requests", err, len(m.Requests()))
	}
}
