package bench

import (
	"slices"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// illegal names what a view breaks that its session did not: by the rules that all wires
// share, by Anthropic's and by those of Chat Completions.
func illegal(v transcript.View, t *transcript.Transcript) []string {
	var out []string
	for _, bad := range v.Check(t) {
		out = append(out, bad.String())
	}
	for name, check := range map[string]func(transcript.View, *transcript.Transcript) error{
		"anthropic": anthropic.Checker(model.Model{}), "chat": openai.ChatChecker(model.Model{}),
	} {
		if err := check(v, t); err != nil {
			out = append(out, name+": "+err.Error())
		}
	}
	slices.Sort(out)
	return out
}
