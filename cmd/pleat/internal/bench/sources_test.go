package bench_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/bench"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
)

// Policies that fold need fewer tokens than none, ask a model only if there is one, and what is
// left is counted.
func TestCompare(t *testing.T) {
	sessions := bench.SynthSessions(20_000)[:2]
	byModel := &bench.Summarizer{Asked: bench.Asked{
		Dir:       t.TempDir(),
		Generator: pleattest.Always("<summary>Work went on.</summary>"), Name: "scripted",
		Model: model.Model{ID: "scripted"},
	}}
	for _, summarizer := range []*bench.Summarizer{nil, byModel} {
		rows, err := bench.Compare(t.Context(), sessions,
			bench.LiveOptions{Policies: policy.All(), Window: 8_000, Summarizer: summarizer})
		difftest.Must(t, err)
		none := rows[len(rows)-1]
		for _, r := range rows[:len(rows)-1] {
			if r.Requests != none.Requests || r.Tokens >= none.Tokens || r.Families[bench.Constraints].Targets == 0 {
				t.Errorf("%+v", r)
			}
			if (r.Asked > 0) != (summarizer != nil && r.Summaries > 0) {
				t.Errorf("%s: %d summaries, %d asked for", r.Policy, r.Summaries, r.Asked)
			}
		}
		var b strings.Builder
		if err := bench.WriteLive(&b, rows); err != nil || !strings.Contains(b.String(), "three-layer") {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}

// Below the rows by code stand those by a model: one that smooths rules away, which a page by code keeps.
func TestBeside(t *testing.T) {
	three, err := policy.ByName("three-layer")
	difftest.Must(t, err)
	sessions, o := bench.SynthSessions(20_000)[:2], bench.LiveOptions{Policies: []fold.Policy{three, policy.None()}, Window: 8_000}
	rows, err := bench.Compare(t.Context(), sessions, o)
	smooth := func(_ context.Context, r *model.Request, _ func(model.Delta)) (model.Reply, error) {
		file := regexp.MustCompile(`/[\w/]+\.\w+`).FindString(r.Messages[0].Text())
		return pleattest.Say("Work went on in " + file + ".").Reply, nil
	}
	o.Summarizer = &bench.Summarizer{Asked: bench.Asked{
		Dir: t.TempDir(), Generator: model.GeneratorFunc(smooth), Name: "scripted",
	}}
	if err == nil {
		rows, err = bench.Beside(t.Context(), sessions, o, rows)
	}
	if err != nil || len(rows) != 3 || rows[1].Policy != "three-layer by scripted" || rows[2].Policy != "none" ||
		rows[1].Families[bench.Constraints].InContext() >= rows[0].Families[bench.Constraints].InContext() {
		t.Errorf("%+v, %v", rows, err)
	}
}
