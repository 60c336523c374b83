package gemini

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

func collect(msgs []transcript.Message) []wire.Turn {
	return wire.Turns(msgs, transcript.FormatGemini, func(r transcript.Role) string {
		if r == transcript.RoleAssistant {
			return "model"
		}
		return "user"
	})
}

// merge joins neighbours of one role. The user's that have their own bytes stay apart, unless
// both have results: those of one answer belong into one content.
func merge(turns []wire.Turn) []wire.Turn {
	var out []wire.Turn
	for _, t := range turns {
		n := len(out)
		if n == 0 || out[n-1].Role != t.Role ||
			t.Role == "user" && (t.Raw != "" || out[n-1].Raw != "") && (len(out[n-1].Results()) == 0 || len(t.Results()) == 0) {
			out = append(out, t)
			continue
		}
		last := &out[n-1]
		last.Raw, last.Blocks = "", slices.Concat(last.Blocks, t.Blocks)
	}
	return out
}

// pair makes sure that the content behind an answer with calls has a response to each.
func pair(turns []wire.Turn) ([]wire.Turn, error) {
	var out []wire.Turn
	var open []string // calls of the turn before
	for _, t := range turns {
		for _, id := range t.Results() {
			at := slices.Index(open, id)
			if at < 0 {
				return nil, fmt.Errorf("result of call %q answers no call before it", id)
			}
			open = slices.Delete(open, at, at+1)
		}
		if len(open) > 0 {
			missing := wire.Excuses(open)
			if t.Role == "user" && len(t.Results()) > 0 {
				t = wire.Turn{Role: "user", Blocks: append(missing.Blocks, t.Blocks...)}
			} else {
				out = append(out, missing)
			}
		}
		out = append(out, t)
		if open = nil; t.Role == "model" {
			open = t.Calls()
		}
	}
	if len(open) > 0 {
		out = append(out, wire.Excuses(open))
	}
	return out, nil
}
