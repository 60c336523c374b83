package pleat_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

// A view that cannot fit folds nothing: with the right window the session is as it was before.
func TestNothingFitsNothingFolds(t *testing.T) {
	st, ctx := store.NewMemory(), t.Context()
	open := func(window int) *pleat.Session {
		return pleattest.Open(t, st, &pleat.Options{
			Tools: pleat.RecallTools(), Budget: pleat.Budget{Window: window},
		})
	}
	s := open(32_000)
	mustAppend(t, s, pleat.User("go"))
	for i := range 10 {
		id := fmt.Sprint("r", i)
		mustAppend(t, s, pleat.Assistant(pleat.Call(id, "read", fmt.Sprintf(`{"path":"f%d"}`, i))),
			pleat.Results(pleat.Result(id, fmt.Sprint("found ", i, strings.Repeat(" line of a file\n", 30)))))
	}
	want := messages(t, s)
	wrong := open(500)
	for range 2 {
		if _, err := wrong.Messages(ctx); !errors.Is(err, pleat.ErrCannotFit) {
			t.Fatalf("in 500 tokens: %v", err)
		}
	}
	again := open(32_000)
	got := messages(t, again)
	if a, b := pleattest.Text(want), pleattest.Text(got); a != b {
		t.Errorf("the session shows\n%s\nafter a view that did not fit, and showed\n%s", b, a)
	}
	if n := len(again.Report().Epochs); n > 0 {
		t.Errorf("%d epochs are stored", n)
	}
}
