package recall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// TestStubOfUnfoldingNamesTheOrigin: what unfolding gave and was folded again is got back
// from where it came from, by the same call. What another tool of that name gave is not.
func TestStubOfUnfoldingNamesTheOrigin(t *testing.T) {
	masks := fold.Policy{Name: "masks", AtRed: fold.Steps{lever.Mask{Keep: 3, All: true}}}
	s := pleattest.Open(
		t,
		store.NewMemory(),
		&pleat.Options{Tokens: counter, Recall: pleat.UnfoldCall, Budget: fold.Budget{Window: 16_000}, Policy: masks},
	)
	pleattest.Read(t, s, 0, 2, 8_000)
	origin := handleOf(t, s, 1)
	echo := func(id, tool, input, text string) {
		t.Helper()
		pleattest.Append(
			t,
			s,
			transcript.Assistant(transcript.Call(id, tool, input)),
			transcript.Results(transcript.Result(id, text)),
		)
	}
	input := fmt.Sprintf(`{"handle":%q,"lines":"20-90"}`, origin)
	text, isError, _ := inside.Of(s).Answer(t.Context(), "unfold", input)
	if isError {
		t.Fatal(text)
	}
	echo("u", "mcp__pleat__unfold", input, text)
	echo("v", "unfold", input, strings.Replace(text, origin, "zzzzzzz9", 1))
	pleattest.Read(t, s, 2, 4, 8_000)
	pleattest.View(t, s)
	stubs := make(map[int]fold.Fold)
	for _, f := range s.Report().Folds {
		if f.Block >= 0 {
			stubs[f.Start] = *f
		}
	}
	ours, other := stubs[5], stubs[7]
	if want := fmt.Sprintf(`unfold("%s", lines="20-90")]`, origin); !strings.HasSuffix(ours.Stub, want) {
		t.Errorf("the stub does not end with %s: %q", want, ours.Stub)
	}
	if want := fmt.Sprintf(`unfold("%s")]`, other.Handle); other.Handle == "" || !strings.HasSuffix(other.Stub, want) {
		t.Errorf("the stub of another tool does not end with %s: %q", want, other.Stub)
	}
	if u := unfold(t, s, recall.UnfoldRequest{Handle: ours.Handle}); u.Whole != text {
		t.Errorf("its own handle does not give back what it was:\n%s", u.Whole)
	}
}
