package anthropic

import (
	"errors"
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

// arrange turns the messages into elements of the array and repairs what it can.
func arrange(msgs []transcript.Message) ([][]byte, error) {
	turns, err := pair(merge(lateSystem(collect(msgs))))
	if err != nil {
		return nil, err
	}
	if len(turns) > 0 && turns[0].role == "assistant" && turns[0].raw == "" {
		return nil, errors.New("the first message is the assistant's, not the user's")
	}
	return encodeTurns(turns)
}

// encodeTurns writes each turn as an element of the array, without those that leave
// nothing.
func encodeTurns(turns []turn) ([][]byte, error) {
	var out [][]byte
	for i, t := range turns {
		if t.raw != "" {
			out = append(out, []byte(t.raw))
			continue
		}
		list, err := appendContent(nil, t.blocks)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if len(list) > 0 {
			out = append(out, element(t.role, list))
		}
	}
	if len(out) == 0 {
		return nil, errNothing
	}
	return out, nil
}

func collect(msgs []transcript.Message) []turn {
	turns := make([]turn, len(msgs))
	for i, m := range msgs {
		turns[i] = turn{role: wireRole(m.Role()), blocks: blocksOf(m)}
		if m.Format() == transcript.FormatAnthropic {
			turns[i].raw = m.Raw()
		}
	}
	return turns
}

// lateSystem moves system messages after the user message that follows them: the wire wants
// them last before the model's answer, never between a call and its result.
func lateSystem(turns []turn) []turn {
	for i := range len(turns) - 1 {
		if turns[i].role == "system" && turns[i+1].role == "user" {
			turns[i], turns[i+1] = turns[i+1], turns[i]
		}
	}
	return turns
}

// merge joins neighbours of one role, apart from those that have their own bytes.
func merge(turns []turn) []turn {
	var out []turn
	for _, t := range turns {
		if n := len(out); n > 0 && t.raw == "" && out[n-1].raw == "" && out[n-1].role == t.role {
			out[n-1].blocks = append(out[n-1].blocks, t.blocks...)
			continue
		}
		out = append(out, t)
	}
	return out
}

// pair makes sure that every call is answered at the beginning of the user messages after it.
func pair(turns []turn) ([]turn, error) {
	var out []turn
	var open []string // calls of the run before this one that wait for their results
	for i := 0; i < len(turns); {
		end := i + 1
		for end < len(turns) && turns[end].role == turns[i].role {
			end++
		}
		run := turns[i:end]
		if run[0].role == "user" {
			var err error
			if open, err = answer(run, open); err != nil {
				return nil, err
			}
		}
		if len(open) > 0 {
			missing := turn{role: "user", blocks: excuses(open)}
			if run[0].role == "user" && run[0].raw == "" {
				run[0].blocks = append(missing.blocks, run[0].blocks...)
			} else {
				out = append(out, missing)
			}
		}
		out = append(out, run...)
		open, i = calls(run), end
	}
	if len(open) > 0 {
		out = append(out, turn{role: "user", blocks: excuses(open)})
	}
	return out, nil
}

// answer takes the calls that the run answers out of the open ones.
func answer(run []turn, open []string) ([]string, error) {
	for _, t := range run {
		for _, b := range t.blocks {
			r, ok := b.(transcript.ToolResult)
			if !ok {
				continue
			}
			at := slices.Index(open, r.CallID)
			if at < 0 {
				return nil, fmt.Errorf("result of call %q answers no call before it", r.CallID)
			}
			open = slices.Delete(open, at, at+1)
		}
	}
	return open, nil
}

func calls(run []turn) []string {
	var ids []string
	for _, t := range run {
		for _, b := range t.blocks {
			if c, ok := b.(transcript.ToolCall); ok && t.role == "assistant" {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids
}

func excuses(ids []string) []transcript.Block {
	out := make([]transcript.Block, len(ids))
	for i, id := range ids {
		out[i] = transcript.ErrorResult(id, noResult)
	}
	return out
}
