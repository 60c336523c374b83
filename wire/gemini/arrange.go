package gemini

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/transcript"
)

// turn is a message to be written: bytes as they came, or blocks.
type turn struct {
	role   string
	raw    string
	blocks []transcript.Block
}

func collect(msgs []transcript.Message) []turn {
	turns := make([]turn, len(msgs))
	for i, m := range msgs {
		t := turn{role: "user"}
		if m.Role() == transcript.RoleAssistant {
			t.role = "model"
		}
		for _, b := range m.Blocks().All() {
			t.blocks = append(t.blocks, b)
		}
		if m.Format() == transcript.FormatGemini {
			t.raw = m.Raw()
		}
		turns[i] = t
	}
	return turns
}

// merge joins neighbours of one role. The user's that have their own bytes stay apart, unless
// both have results: those of one answer belong into one content.
func merge(turns []turn) []turn {
	var out []turn
	for _, t := range turns {
		n := len(out)
		if n == 0 || out[n-1].role != t.role ||
			t.role == "user" && (t.raw != "" || out[n-1].raw != "") && (len(out[n-1].results()) == 0 || len(t.results()) == 0) {
			out = append(out, t)
			continue
		}
		last := &out[n-1]
		last.raw, last.blocks = "", slices.Concat(last.blocks, t.blocks)
	}
	return out
}

func (t turn) results() (ids []string) {
	for _, b := range t.blocks {
		if r, ok := b.(transcript.ToolResult); ok {
			ids = append(ids, r.CallID)
		}
	}
	return ids
}

func (t turn) calls() (ids []string) {
	for _, b := range t.blocks {
		if c, ok := b.(transcript.ToolCall); ok && t.role == "model" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// pair makes sure that the content behind an answer with calls has a response to each.
func pair(turns []turn) ([]turn, error) {
	var out []turn
	var open []string // calls of the turn before
	for _, t := range turns {
		for _, id := range t.results() {
			at := slices.Index(open, id)
			if at < 0 {
				return nil, fmt.Errorf("result of call %q answers no call before it", id)
			}
			open = slices.Delete(open, at, at+1)
		}
		if len(open) > 0 {
			missing := turn{role: "user", blocks: excuses(open)}
			if t.role == "user" && len(t.results()) > 0 {
				t = turn{role: "user", blocks: append(missing.blocks, t.blocks...)}
			} else {
				out = append(out, missing)
			}
		}
		out = append(out, t)
		open = t.calls()
	}
	if len(open) > 0 {
		out = append(out, turn{role: "user", blocks: excuses(open)})
	}
	return out, nil
}

func excuses(ids []string) []transcript.Block {
	out := make([]transcript.Block, len(ids))
	for i, id := range ids {
		out[i] = transcript.ErrorResult(id, noResult)
	}
	return out
}
