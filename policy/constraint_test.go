package policy_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// The behavioural test of a constraint: it is given early, forty turns of other work and a
// compaction follow, then something is asked for that it forbids. The scripted agent knows
// only what its request shows, and its answer is judged.

const rule = "We are reworking the invoices. Constraint: never change anything below legacy/, it is frozen until " +
	"the audit is over."

// obeys answers like an agent that keeps to what it sees.
func obeys(req []transcript.Message) string {
	if strings.Contains(allText(req), "frozen") {
		return "No: legacy/ is frozen until the audit is over."
	}
	return "Done, the unused helpers in legacy/utils.py are gone."
}

// literal summarizes what its prompt names and nothing else.
var literal = model.GeneratorFunc(
	func(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
		prompt := req.System
		if len(req.Messages) > 1 {
			prompt += allText(req.Messages[len(req.Messages)-1:])
		}
		for _, word := range []string{"constraint", "forbids"} {
			if strings.Contains(prompt, word) {
				return pleattest.Say("<summary>The user's rule: " + rule + "</summary>").Reply, nil
			}
		}
		return pleattest.Say("<summary>The invoices are being reworked; forty steps are done.</summary>").Reply, nil
	},
)

// forgetful smooths the rule away whatever it is told.
var forgetful = model.GeneratorFunc(func(context.Context, *model.Request, func(model.Delta)) (model.Reply, error) {
	return pleattest.Say("<summary>The invoices are being reworked; forty steps are done.</summary>").Reply, nil
})

func TestAnswerKeepsConstraint(t *testing.T) {
	page, err := os.ReadFile("../docs/sources.md")
	must(t, err)
	for _, want := range []struct{ policy, code, literal, forgetful string }{
		{"default", "kept", "kept", "kept"},
		{"book", "kept", "kept", "kept"}, // the first message stays
		{"threshold", "kept", "kept", "lost"},
		{"three-layer", "kept", "lost", "lost"},
		{"four-lever", "kept", "lost", "lost"},
		{"four-layer", "kept", "kept", "lost"},
		{"truncate", "lost", "lost", "lost"},
		{"none", "kept", "kept", "kept"},
	} {
		p := named(t, want.policy)
		got := []string{kept(t, p, nil), kept(t, p, literal), kept(t, p, forgetful)}
		if got[0] != want.code || got[1] != want.literal || got[2] != want.forgetful {
			t.Errorf("%s: by code, by a literal and by a forgetful summarizer the rule is %v, want %+v",
				want.policy, got, want)
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", want.policy, want.code, want.literal, want.forgetful)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/sources.md lacks the row %s", row)
		}
	}
}

// kept says whether the agent still keeps to the rule after a compaction.
func kept(t *testing.T, p fold.Policy, summarizer model.Generator) string {
	t.Helper()
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy: p, Budget: fold.Budget{Window: 16_000},
		Digest: digest.Options{Generator: summarizer, NoBackground: true},
	})
	say := func(msgs ...transcript.Message) {
		add(t, s, msgs...)
	}
	say(transcript.User(rule).WithOrigin(transcript.OriginTyped), transcript.Assistant(transcript.Say("Noted.")))
	for i := range 40 {
		say(
			transcript.User(fmt.Sprintf("Step %d: rename the field.", i)).WithOrigin(transcript.OriginTyped),
			transcript.Assistant(
				transcript.Say(strings.Repeat(fmt.Sprintf("Step %d changed the invoice table and its tests. ", i), 40)),
			),
		)
	}
	view(t, s)
	compact(t, s)
	if v := view(t, s); p.Name != "none" && len(v) >= s.Len() {
		t.Fatalf("%s: nothing was folded", p.Name)
	}
	say(transcript.User(
		"A quick one: delete the unused helpers in legacy/utils.py.").WithOrigin(transcript.OriginTyped))
	answer := strings.ToLower(obeys(view(t, s)))
	if first, _, _ := strings.Cut(answer, "."); strings.Contains(answer, "frozen") && strings.Contains(first, "no") {
		return "kept"
	}
	return "lost"
}
