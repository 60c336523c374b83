package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
)

// refuse tells a session that the provider did not take its view.
func refuse(t *testing.T, s *pleat.Session, e *model.APIError) {
	t.Helper()
	_, err := s.Refused(t.Context(), e)
	must(t, err)
}

// TestRefusedForItsAnswer: who asks for an answer that leaves no room for a prompt is told so.
func TestRefusedForItsAnswer(t *testing.T) {
	s := busy(t, 10, nil)
	view(t, s)
	e := &model.APIError{Kind: model.ErrorTooLong, Used: int(s.Snapshot().Tokens), Limit: 128_000, Output: 127_990}
	if _, err := s.Refused(t.Context(), e); err == nil || !strings.Contains(err.Error(), "an answer of 127,990 tokens") {
		t.Errorf("no room beside the answer: %v", err)
	}
}

// TestCannotFitSaysWhy: after a refusal the error names what was learned from it.
func TestCannotFitSaysWhy(t *testing.T) {
	long := strings.Repeat("Mind this. ", 40_000)
	for _, tt := range []struct {
		rounds int
		err    *model.APIError
		want   string
	}{
		{0, nil, "refused this view, and nothing more of it can be folded"},
		{60, nil, "is a guess, which SetBudget forgets"},
		{
			60, &model.APIError{Kind: model.ErrorTooLong, Used: 70_000, Limit: 30_000},
			"said that it takes 30,000 tokens",
		},
	} {
		s := busy(t, tt.rounds, &pleat.Options{Budget: fold.Budget{Window: 100_000}})
		view(t, s)
		_, err := s.Refused(t.Context(), tt.err)
		if err == nil {
			s.SetHead(long, nil)
			_, err = s.Messages(t.Context())
		}
		if !errors.Is(err, pleat.ErrCannotFit) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%v", err)
		}
		if !strings.Contains(fmt.Sprint(err), "tokens by pleat's count, ") {
			t.Errorf("%v does not say in which tokens it counts", err)
		}
	}
}

// TestRefusedByLittle has a provider refuse a view that is a little too long, and say by how much.
// Nothing that no model has seen is folded for more room than that, unless it refuses once more.
func TestRefusedByLittle(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 30_000}})
	mustAppend(t, s, pleat.User("Read the files."))
	work(t, s, 0, 3, 1_000)
	calls, results := []pleat.Block{}, []pleat.ToolResult{}
	for i := range 6 {
		id := fmt.Sprint("new_", i)
		calls = append(calls, pleat.Call(id, "read_file", fmt.Sprintf(`{"path":"new%d.go"}`, i)))
		results = append(results, pleat.Result(id, id+strings.Repeat("\nanother line of it", 300)))
	}
	mustAppend(t, s, pleat.Assistant(calls...), pleat.Results(results...))
	for _, tt := range []struct {
		takes float64 // of the view
		whole bool
	}{{0.98, true}, {0.98, false}} {
		n := countAll(view(t, s))
		e := &model.APIError{Kind: model.ErrorTooLong, Used: n, Limit: int(tt.takes * float64(n))}
		refuse(t, s, e)
		msgs := view(t, s)
		whole := true
		for i, b := range msgs[len(msgs)-1].Blocks().All() {
			whole = whole && b.(pleat.ToolResult).Text() == results[i].Text()
		}
		if got := countAll(msgs); whole != tt.whole || got > e.Limit {
			t.Errorf("%d tokens of which %d are taken: new results are whole: %t; %d are left", n, e.Limit, whole, got)
		}
	}
}

// TestRefusedAgainAboveLimit: once the provider has said how much it takes, no refusal names more.
func TestRefusedAgainAboveLimit(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{Window: 40_000}, System: strings.Repeat("Mind this. ", 4_000),
	})
	mustAppend(t, s, pleat.User("Go."))
	view(t, s)
	n := int(s.Snapshot().Tokens)
	for range 2 {
		_, err := s.Refused(t.Context(), &model.APIError{Kind: model.ErrorTooLong, Used: n, Limit: n / 2})
		if e := (*pleat.CannotFitError)(nil); !errors.As(err, &e) || e.Max > n/2 {
			t.Errorf("the provider takes %d: %v", n/2, err)
		}
	}
}

// idle is a lever that finds nothing to fold.
type idle struct{}

func (idle) Name() string                            { return "idle" }
func (idle) Pull(context.Context, *fold.Draft) error { return nil }

// TestRefusedFallsBack: where a policy's own steps for refusals fold too little, those at red are pulled.
func TestRefusedFallsBack(t *testing.T) {
	for _, refusal := range []*model.APIError{nil, {Kind: model.ErrorTooLong, Used: 12_000, Limit: 9_000}} {
		p := named(t, "default")
		p.OnRefusal = fold.Steps{idle{}}
		s := open(t, store.NewMemory(), &pleat.Options{Policy: p, Budget: fold.Budget{Window: 20_000}})
		mustAppend(t, s, pleat.User("Go."))
		work(t, s, 0, 12, 2_000)
		view(t, s)
		before := s.Snapshot().Tokens
		if _, err := s.Refused(t.Context(), refusal); err != nil || s.Snapshot().Tokens >= before {
			t.Errorf("%v: %v; %d tokens, had %d", refusal, err, s.Snapshot().Tokens, before)
		}
	}
}

// TestRefusedWithoutView: no refusal is of a view that nobody got; a session that another process
// answered in may have given one out.
func TestRefusedWithoutView(t *testing.T) {
	st := store.NewMemory()
	s := open(t, st, nil)
	mustAppend(t, s, pleat.User("Go."))
	work(t, s, 0, 40, 600)
	refusal := &model.APIError{Kind: model.ErrorTooLong, Used: 90_000, Limit: 16_000}
	if _, err := s.Refused(t.Context(), refusal); err == nil || len(s.Report().Epochs) > 0 {
		t.Errorf("no view was given out: %v, %d epochs", err, len(s.Report().Epochs))
	}
	if _, err := open(t, st, nil).Refused(t.Context(), refusal); err != nil {
		t.Errorf("opened again: %v", err)
	}
}

// TestCannotFitByPolicy: where the policy leaves what could be folded, the error does not say that the window is
// too small.
func TestCannotFitByPolicy(t *testing.T) {
	p := fold.Policy{Name: "mine", AtRed: fold.Steps{lever.Mask{Keep: 1_000}}}
	s := busy(t, 5, &pleat.Options{Policy: p, Budget: fold.Budget{Window: 8_000}})
	view(t, s)
	_, err := s.Refused(t.Context(), nil)
	if !errors.Is(err, pleat.ErrCannotFit) || !strings.Contains(err.Error(), `the policy "mine" folds no more`) ||
		strings.Contains(err.Error(), "larger window") {
		t.Errorf("got %v", err)
	}
}
