package pleat_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/store"
)

// pulled is a lever made of a function.
type pulled struct{ pull func(*fold.Draft, fold.Lever) }

func (pulled) Name() string { return "pulled" }

func (p pulled) Pull(_ context.Context, d *fold.Draft) error { p.pull(d, p); return nil }

// TestListsAreLent: what a lever does to the lists that it is given changes neither its plan nor
// what the user said.
func TestListsAreLent(t *testing.T) {
	meddle := pulled{func(d *fold.Draft, l fold.Lever) {
		for _, r := range d.Results()[:4] {
			d.FoldBlock(r, l, "old", "[old]")
		}
		_ = slices.DeleteFunc(d.Added(), func(f *fold.Fold) bool { return f.Before > 1 })
		if added := d.Added(); len(added) > 0 {
			added[0] = &fold.Fold{}
		}
		slices.Reverse(d.Source.Said())
	}}
	s := busy(t, 30, &pleat.Options{Budget: fold.Budget{Window: 6_000}, Policy: fold.Policy{
		Name: "own", AtRed: fold.Steps{meddle, lever.Squeeze{}},
	}})
	mustAppend(t, s, pleat.User("And no tests."))
	was, _ := inside.Of(s).UserWords()
	if _, err := s.Messages(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, _ := inside.Of(s).UserWords(); !reflect.DeepEqual(now, was) {
		t.Errorf("the user said %v", now)
	}
}

// TestPullShows: a lever that only shows more has an effect.
func TestPullShows(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{Window: 6_000}, Policy: fold.Policy{Name: "own", AtRed: fold.Steps{lever.Mask{Keep: 2}}},
	})
	for _, id := range strings.Fields("a b c d e f g h i j k l") {
		mustAppend(t, s, pleat.User("go "+id), pleat.Assistant(pleat.Call(id, "sh", `{}`)),
			pleat.Results(pleat.Result(id, strings.Repeat(id+" is a line\n", 100))), pleat.Assistant(pleat.Say("ok")))
		if _, err := s.Messages(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	must(t, s.SetBudget(fold.Budget{Window: 100_000}))
	before := s.Snapshot().Tokens
	plan, err := s.Pull(t.Context(), pulled{func(d *fold.Draft, _ fold.Lever) {
		d.Goal = d.Limits.Target
		for _, r := range d.Results() {
			d.Show(r, "")
		}
	}})
	if err != nil || plan.IsEmpty() || s.Snapshot().Tokens <= before {
		t.Errorf("%v, %v; %d tokens, %d before", plan, err, s.Snapshot().Tokens, before)
	}
}
