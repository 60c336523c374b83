package example_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Forget is a lever: it folds the results of one tool, whatever the others do. Its fields
// are its settings in policy files.
type Forget struct {
	Tool string `json:"tool"`
	Keep int    `json:"keep,omitempty"` // newest results of any tool that stay
}

// Name returns the lever's name in policy files and folds.
func (Forget) Name() string { return "forget" }

// Pull adds the folds to the draft.
func (l Forget) Pull(ctx context.Context, d *fold.Draft) error {
	results := d.Results() // oldest first
	for _, ref := range results[:max(len(results)-l.Keep, 0)] {
		if d.Enough() {
			break
		}
		call := int(d.Facts().Block(ref).Call) // its number in the ledger; 0: nobody knows the call
		if call == 0 || d.Source.Ledger().Entry(call).Tool != l.Tool || !d.Maskable(ref, nil) {
			continue
		}
		stub, err := d.Stub(ctx, ref, "", "")
		if err != nil {
			return err
		}
		d.FoldBlock(ref, l, "results of "+l.Tool+" do not matter later", stub) // not if no model has seen it
	}
	return nil
}

// A lever is tested on a slice of messages, with no session and no store.
func TestForget(t *testing.T) {
	msgs := slices.Concat(
		[]transcript.Message{transcript.User("Build it.")},
		pleattest.Round(1, "bash", `{"command":"make"}`, 400),
		pleattest.Round(2, "read_file", `{"path":"a.go"}`, 400),
		pleattest.Round(3, "bash", `{"command":"make test"}`, 400))
	for _, tt := range []struct {
		lever Forget
		want  []string
	}{
		{Forget{Tool: "bash"}, []string{"forget 2.0"}}, // no model has seen the newest result
		{Forget{Tool: "bash", Keep: 3}, nil},
		{Forget{Tool: "read_file"}, []string{"forget 4.0"}},
	} {
		plan := pleattest.Plan(t, 4_000, msgs, tt.lever)
		if got := pleattest.Folds(plan); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: got %v, want %v\n%s", tt.lever, got, tt.want, plan)
		}
	}
}

// A policy file names the lever like any other. Parse is given its zero value.
func Example_lever() {
	ctx := context.Background()
	p, err := policy.Parse([]byte(
		`{"name": "mine", "at_red": [{"lever": "forget", "tool": "bash"}, {"lever": "squeeze"}]}`), Forget{})
	if err != nil {
		log.Fatal(err)
	}
	s, err := pleat.OpenSession(ctx, store.NewMemory(), store.SessionKey{Session: "lever"}, &pleat.Options{
		Policy: p, Budget: fold.Budget{Window: 4_000},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	long := strings.Repeat("a line of output\n", 400)
	err = s.Append(ctx,
		transcript.User("Build it."),
		transcript.Assistant(transcript.Call("1", "bash", `{"command":"make"}`)),
		transcript.Results(transcript.Result("1", long)),
		transcript.Assistant(transcript.Call("2", "read_file",
			`{"path":"a.go"}`)), transcript.Results(transcript.Result("2", long)))
	if err != nil {
		log.Fatal(err)
	}
	plan, err := s.Plan(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range plan.Folds {
		fmt.Printf("%s: message %d, because %s\n", f.Lever, f.Start+1, f.Reason)
	}
	// Output:
	// forget: message 3, because results of bash do not matter later
}
