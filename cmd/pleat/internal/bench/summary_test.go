package bench

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/tokens"
)

// TestSummarizer has a script write the summaries of every arm that makes any. A second
// run asks nothing and gives the same bytes; a model that fails ends the run.
func TestSummarizer(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	file := regexp.MustCompile(`[\w.]+\.ts\b`)
	mdl := &pleattest.Script{Then: func(_ int, req *model.Request) (model.Reply, error) {
		files := file.FindAllString(pleattest.Text(req.Messages), -1) // what the turns are about
		slices.Sort(files)
		files = slices.Compact(files)
		files = files[:min(len(files), 5)]
		return pleattest.Say(
			"<digest>\n### Findings\n- The build takes long because a jar of marmalade is in the way of " +
				strings.Join(files, ", ") + ".\n</digest>",
		).Reply, nil
	}}
	arms, err := ArmsByName("default", "four-layer", "three-layer", "tail")
	must(t, err)
	sessions := []Session{made(0, 40_000)} // in which four-layer and three-layer must summarize
	dir := t.TempDir()
	sum := &Summarizer{Asked: Asked{Generator: mdl, Name: "script", Dir: dir}, Rules: "Mention the jam."}
	o := Options{Arms: arms, Budgets: []int{4_000}, Chains: []int{1}, NoMoney: true, Summarizer: sum}
	if e := sum.Estimate(sessions, o); e.Requests < 3 || e.Input == 0 || e.Known {
		t.Errorf("got estimate %+v: want requests, tokens, and no price for a model without one", e)
	}
	var first string
	asked := 0
	for i := range 2 {
		r, err := Run(t.Context(), sessions, o)
		must(t, err)
		out, err := json.Marshal(r)
		must(t, err)
		if i == 0 {
			first, asked = string(out), len(mdl.Requests())
			continue
		}
		if string(out) != first {
			t.Error("the second run gives another report")
		}
		if n := len(mdl.Requests()); asked == 0 || n != asked {
			t.Errorf("asked %d times, then %d times more", asked, n-asked)
		}
	}
	if !strings.Contains(pleattest.Text(mdl.Requests()[0].Messages)+mdl.Requests()[0].System, "Mention the jam.") {
		t.Error("the model was not told the rules")
	}
	if !strings.Contains(first, `"summaries":"script"`) {
		t.Error("the report does not say who summarized")
	}
	c := (&worker{
		s: &sessions[0], tokens: tokens.NewTokenizer(model.Model{}, nil), o: o,
	}).newCut(sessions[0].futureSpan())
	for k, arm := range arms {
		_, v, err := c.compact(t.Context(), arm, key{k, 4_000, 1})
		must(t, err)
		msgs, err := v.Resolve(c.whole)
		must(t, err)
		if got := strings.Contains(plainText(msgs), "marmalade"); got != arm.Summarizes {
			t.Errorf("%s: shows the model's summary: %v, want %v", arm.Name, got, arm.Summarizes)
		}
	}

	broken := errors.New("no credit")
	o.Summarizer = &Summarizer{
		Asked: Asked{Generator: &pleattest.Script{Then: func(int, *model.Request) (model.Reply, error) {
			return model.Reply{}, broken
		}}, Name: "broken", Dir: dir},
	}
	if _, err := Run(t.Context(), sessions, o); !errors.Is(err, broken) {
		t.Errorf("a model that fails: got %v", err)
	}
}
