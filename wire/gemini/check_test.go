package gemini

import (
	"errors"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

type rule struct{ rule, bad, good string }

var rules = []rule{
	{"contents-empty", contents(), contents(asks)},
	{"parts-empty", contents(asks, `{"role":"model","parts":[]}`, asks), contents(asks, says, asks)},
	{"parts-empty", contents(asks, `{"role":"model"}`, asks), contents(asks, says, asks)},
	{
		"text-empty", contents(`{"role":"user","parts":[{"text":""}]}`),
		contents(asks, `{"role":"model","parts":[{"text":"ok"},{"text":"","thoughtSignature":"cw=="}]}`, asks),
	},
	{"call-place", contents(calls, answer), contents(asks, calls, answer, calls, answer)},
	{"call-place", contents(asks, says, calls, answer), contents(asks, says, asks, calls, answer)},
	{
		"response-place", contents(asks, answer),
		contents(asks, calls, `{"role":"function","parts":[{"functionResponse":{"name":"run","response":{}}}]}`),
	},
	{"response-place", contents(asks, calls, asks, answer), contents(asks, calls, answer, asks)},
	{"response-count", contents(asks, calls, asks), contents(asks, calls, answer)},
	{
		"response-count",
		contents(asks, `{"role":"model","parts":[{"functionCall":{"name":"run"}},{"functionCall":{"name":"run"}}]}`,
			answer, answer),
		contents(asks, calls,
			`{"role":"user","parts":[{"functionResponse":{"name":"run","response":{}}},{"text":"and"}]}`),
	},
	{
		"response-unknown",
		contents(asks, calls, `{"role":"user","parts":[{"functionResponse":{"name":"walk","response":{}}}]}`),
		contents(asks, calls, answer),
	},
	{"last-role", contents(asks, says), contents(asks, says, asks)},
	{
		"signature-missing", contents(asks, `{"role":"model","parts":[{"functionCall":{"name":"run"}}]}`, answer),
		contents(asks, calls, answer),
	},
	{
		"signature-missing",
		contents(asks, calls, answer, `{"role":"model","parts":[{"functionCall":{"name":"run"}}]}`, answer),
		// Of parallel calls only the first has one, and of older turns none is asked for.
		contents(asks, `{"role":"model","parts":[{"functionCall":{"name":"run"}}]}`, answer, asks,
			`{"role":"model","parts":[{"text":"so"},{"function_call":{"name":"run"},"thought_signature":"skip_thought_signature_validator"},{"functionCall":{"name":"run"}}]}`,
			`{"role":"user","parts":[{"functionResponse":{"name":"run","response":{}}},{"functionResponse":{"name":"run","response":{}}}]}`),
	},
}

func TestRules(t *testing.T) {
	m, _ := model.DefaultModels().Lookup("gemini-3.1-pro-preview")
	for _, tt := range rules {
		if vs := decode(t, tt.bad).Check(m); !slices.ContainsFunc(vs,
			func(v transcript.Violation) bool { return v.Rule == tt.rule }) {
			t.Errorf("%s: not found in %s: %v", tt.rule, tt.bad, vs)
		}
		if vs := decode(t, tt.good).Check(m); len(vs) > 0 {
			t.Errorf("%s: %v in %s", tt.rule, vs, tt.good)
		}
	}
	old, _ := model.DefaultModels().Lookup("gemini-2.5-flash")
	if vs := decode(t, rules[len(rules)-1].bad).Check(old); len(vs) > 0 {
		t.Errorf("a model without signatures: %v", vs)
	}
}

// A view that leaves a call without its response, or takes the user's words from before it,
// is refused; one that folds is not.
func TestChecker(t *testing.T) {
	m, _ := model.DefaultModels().Lookup("gemini-3.8-flash")
	tr := transcript.NewTranscript(decode(t, contents(asks, calls, answer, calls, answer)).Messages...)
	view := func(sources ...int) transcript.View {
		var v transcript.View
		for _, s := range sources {
			v.Messages = append(v.Messages, transcript.ViewMessage{Source: s, Made: transcript.User("page")})
		}
		return v
	}
	edited := view(0, 1, 2, 3, 4)
	edited.Messages[1].Edits = []transcript.BlockEdit{{Block: 0, Text: `{"folded":true}`}}
	edited.Messages[2].Edits = []transcript.BlockEdit{{Block: 0, Text: "[s]"}}
	for _, tt := range []struct {
		v     transcript.View
		legal bool
	}{
		{view(0, 1, 2, 3, 4), true},
		{edited, true},
		{view(-1, 3, 4), true},
		{view(0, -1, 3, 4), true},
		{view(1, 2, 3, 4), false},
		{view(0, 1, 3, 4), false},
		{view(0, 1, -1, 2), false},
		{view(0, 1, 2, 3), false},
	} {
		if err := Checker(m)(tt.v, tr); (err == nil) != tt.legal ||
			err != nil && !errors.Is(err, transcript.ErrIllegal) {
			t.Errorf("%v: %v", tt.v.Messages, err)
		}
	}
	if w := GenerateContent(m); w.Check(view(0, 1), tr) == nil || w.Format != transcript.FormatGemini ||
		w.Model.ID != m.ID {
		t.Errorf("%+v", w)
	}
}
