package pleat_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
)

// TestHookChangesNothing: what a hook does to the plan that it sees, and a program to a report, is not carried out.
func TestHookChangesNothing(t *testing.T) {
	spoil := func(f *fold.Fold) { f.Stub, f.Handle, f.Start = "changed", "aaaaaaaa", 0 }
	for name, change := range map[string]func(*fold.Plan){
		"none":  func(*fold.Plan) {},
		"folds": func(p *fold.Plan) { p.Folds = nil },
		"plan":  func(p *fold.Plan) { *p = fold.Plan{} },
		"fold": func(p *fold.Plan) {
			for _, f := range p.Folds {
				spoil(f)
			}
			p.Folds[0] = nil
			for f := range p.In.In(0, 1_000) {
				spoil(f)
			}
		},
	} {
		s := busy(t, 30, &pleat.Options{Budget: fold.Budget{Window: 8_000}, Hooks: pleat.Hooks{
			BeforeEpoch: func(_ context.Context, p *fold.Plan) (pleat.EpochDecision, error) {
				change(p)
				return pleat.EpochDecision{}, nil
			},
		}})
		for range 2 {
			got, err := s.Messages(t.Context())
			if err != nil || len(s.Folds()) == 0 || strings.Contains(allText(got), "changed") {
				t.Errorf("%s: %d folds, %v", name, len(s.Folds()), err)
			}
			for _, f := range s.Folds() {
				if f.Handle == "aaaaaaaa" || f.Stub == "changed" {
					t.Errorf("%s: fold %d is changed", name, f.ID)
				}
			}
			for _, f := range s.Report().Folds {
				spoil(f)
			}
		}
	}
}

// wishful folds all there is, seen or not, which is refused.
type wishful struct{}

func (wishful) Name() string { return "wishful" }

func (l wishful) Pull(ctx context.Context, d *fold.Draft) error {
	start, end := d.Fit(0, d.Marks().End)
	f, err := d.Span(ctx, start, end, l, "all")
	if err == nil {
		f.Stub = "[all]"
		d.FoldSpan(f)
	}
	return err
}

// TestStaysRed: a view that nothing is folded of is warned of when it becomes red, and once more
// when it is too large to be sent. Observers and the log are told what was refused.
func TestStaysRed(t *testing.T) {
	var log strings.Builder
	var told []string
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy: fold.Policy{Name: "mine", AtRed: fold.Steps{wishful{}}}, Budget: fold.Budget{Window: 6_000},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) {
			if e.Kind == pleat.EventWarning {
				told = append(told, e.Warning)
				if e.Plan == nil || len(e.Plan.Refused) != 1 {
					t.Errorf("%q: the plan is %v", e.Warning, e.Plan)
				}
			}
		},
	})
	mustAppend(t, s, pleat.User("Go."))
	for i := range 40 {
		id := fmt.Sprint(i)
		mustAppend(t, s, pleat.Assistant(pleat.Call(id, "bash", `{"command":"make"}`)),
			pleat.Results(pleat.Result(id, strings.Repeat("a line\n", 100))))
		view(t, s)
	}
	if len(told) != 2 || strings.Contains(told[0], "may be sent") || !strings.Contains(told[1], "may be sent") {
		t.Errorf("warnings are %q", told)
	}
	if n := strings.Count(log.String(), "no model has seen a result in the stretch"); n != 2 {
		t.Errorf("the log tells %d times what was refused:\n%s", n, log.String())
	}
}
