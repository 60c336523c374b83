package bench_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/bench"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
)

// Arms that fold need fewer tokens than none, ask a model only if there is one, and what is left is counted.
func TestCompare(t *testing.T) {
	sessions := bench.SynthSessions(20_000)[:2]
	byModel := &bench.Summarizer{Asked: bench.Asked{
		Dir:       t.TempDir(),
		Generator: pleattest.Always("<summary>Work went on.</summary>"), Name: "scripted",
		Model: model.Model{ID: "scripted"},
	}}
	for _, summarizer := range []*bench.Summarizer{nil, byModel} {
		rows, err := bench.Compare(t.Context(), sessions, bench.Options{Budgets: []int{8_000}, Summarizer: summarizer})
		difftest.Must(t, err)
		none, asked := rows[len(rows)-1], false
		for _, r := range rows[:len(rows)-1] {
			if r.Requests != none.Requests || r.Tokens >= none.Tokens || r.Families[bench.Constraints].Targets == 0 {
				t.Errorf("%+v", r)
			}
			if (r.Asked > 0) != strings.HasSuffix(r.Policy, " by scripted") || r.Asked > 0 && r.Summaries == 0 {
				t.Errorf("%s: %d summaries, %d asked for", r.Policy, r.Summaries, r.Asked)
			}
			asked = asked || r.Asked > 0
		}
		if asked != (summarizer != nil) {
			t.Errorf("a model was asked: %t", asked)
		}
		var b strings.Builder
		if err := (&term.Console{Stdout: &b, Getenv: os.Getenv}).Output(false, rows); err != nil ||
			!strings.Contains(b.String(), "three-layer") {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}

// Below the rows by code stand those by a model: one that smooths rules away, which a page by code keeps.
func TestBeside(t *testing.T) {
	arms, err := bench.ArmsByName("three-layer", "none")
	difftest.Must(t, err)
	smooth := func(_ context.Context, r *model.Request, _ func(model.Delta)) (model.Reply, error) {
		files := regexp.MustCompile(`/[\w/]+\.\w+`).FindAllString(r.Messages[0].Text(), -1)
		return pleattest.Say("Work on " + strings.Join(files, " ")).Reply, nil
	}
	rows, err := bench.Compare(t.Context(), bench.SynthSessions(20_000)[:2], bench.Options{
		Arms: arms, Budgets: []int{8_000}, Summarizer: &bench.Summarizer{Asked: bench.Asked{
			Dir: t.TempDir(), Generator: model.GeneratorFunc(smooth), Name: "scripted",
		}},
	})
	if err != nil || len(rows) != 3 || rows[1].Policy != "three-layer by scripted" || rows[2].Policy != "none" ||
		rows[1].Families[bench.Constraints].InContext() >= rows[0].Families[bench.Constraints].InContext() {
		t.Errorf("%+v, %v", rows, err)
	}
}
