package pleat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
)

func named(t testing.TB, name string) fold.Policy {
	t.Helper()
	p, err := policy.ByName(name)
	must(t, err)
	return p
}

var outline = pleattest.Outline

// TestEveryTurn: the steps of every turn are pulled at red too, and fold what they can though the
// view is small.
func TestEveryTurn(t *testing.T) {
	for name, p := range map[string]fold.Policy{
		"alone":       {EveryTurn: fold.Steps{lever.Mask{Keep: 3}}},
		"before red":  {EveryTurn: fold.Steps{lever.Mask{Keep: 3}}, AtRed: fold.Steps{lever.Nothing{}}},
		"with a goal": {EveryTurn: fold.Steps{lever.Aim{}, lever.Mask{Keep: 3}}},
	} {
		for _, from := range []int{0, 20} { // the first view is asked for in a small view, or in a red one
			p.Name = "mine"
			s := open(t, store.NewMemory(), &pleat.Options{Policy: p, Budget: fold.Budget{Window: 6_000}})
			mustAppend(t, s, pleat.User("Go."))
			for i := range 30 {
				id := fmt.Sprint(i)
				mustAppend(t, s, pleat.Assistant(pleat.Call(id, "bash", `{"command":"make"}`)),
					pleat.Results(pleat.Result(id, strings.Repeat("a line\n", 150))))
				if i < from {
					continue
				}
				view(t, s)
				snap, want := s.Snapshot(), i+1-3
				if name == "with a goal" {
					want = 0
				}
				if n := len(s.Folds()); snap.State == fold.Red || n < want {
					t.Errorf("%s, after %d rounds: %d results folded, %d tokens of %d", name, i+1, n, snap.Tokens,
						snap.Limits.Max)
				}
			}
		}
	}
}
