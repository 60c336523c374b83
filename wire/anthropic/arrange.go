package anthropic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

// arrange turns the messages into elements of the array and repairs what it can.
func arrange(msgs []transcript.Message) ([][]byte, error) {
	turns, err := pair(merge(lateSystem(collect(msgs))))
	if err != nil {
		return nil, err
	}
	if len(turns) > 0 && turns[0].Role == "assistant" && turns[0].Raw == "" {
		return nil, errors.New("the first message is the assistant's, not the user's")
	}
	return encodeTurns(turns)
}

// encodeTurns writes each turn as an element of the array, without those that leave
// nothing.
func encodeTurns(turns []wire.Turn) ([][]byte, error) {
	var out [][]byte
	for i, t := range turns {
		if t.Raw != "" {
			out = append(out, []byte(t.Raw))
			continue
		}
		list, err := appendContent(nil, t.Blocks)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if len(list) > 0 {
			out = append(out, element(t.Role, list))
		}
	}
	if len(out) == 0 {
		return nil, errNothing
	}
	return out, nil
}

func collect(msgs []transcript.Message) []wire.Turn {
	return wire.Turns(msgs, transcript.FormatAnthropic, wireRole)
}

// lateSystem moves system messages after the user message that follows them: the wire wants
// them last before the model's answer, never between a call and its result.
func lateSystem(turns []wire.Turn) []wire.Turn {
	for i := range len(turns) - 1 {
		if turns[i].Role == "system" && turns[i+1].Role == "user" {
			turns[i], turns[i+1] = turns[i+1], turns[i]
		}
	}
	return turns
}

// merge joins neighbours of one role, apart from those that have their own bytes.
func merge(turns []wire.Turn) []wire.Turn {
	var out []wire.Turn
	for _, t := range turns {
		if n := len(out); n > 0 && t.Raw == "" && out[n-1].Raw == "" && out[n-1].Role == t.Role {
			out[n-1].Blocks = append(out[n-1].Blocks, t.Blocks...)
			continue
		}
		out = append(out, t)
	}
	return out
}

// pair makes sure that every call is answered at the beginning of the user messages after it.
func pair(turns []wire.Turn) ([]wire.Turn, error) {
	var out []wire.Turn
	var open []string // calls of the run before this one that wait for their results
	for i := 0; i < len(turns); {
		end := i + 1
		for end < len(turns) && turns[end].Role == turns[i].Role {
			end++
		}
		run := turns[i:end]
		if run[0].Role == "user" {
			var err error
			if open, err = answer(run, open); err != nil {
				return nil, err
			}
		}
		if len(open) > 0 {
			missing := wire.Excuses(open)
			if run[0].Role == "user" && run[0].Raw == "" {
				run[0].Blocks = append(missing.Blocks, run[0].Blocks...)
			} else {
				out = append(out, missing)
			}
		}
		out = append(out, run...)
		open, i = calls(run), end
	}
	if len(open) > 0 {
		out = append(out, wire.Excuses(open))
	}
	return out, nil
}

// answer takes the calls that the run answers out of the open ones.
func answer(run []wire.Turn, open []string) ([]string, error) {
	for _, t := range run {
		for _, id := range t.Results() {
			at := slices.Index(open, id)
			if at < 0 {
				return nil, fmt.Errorf("result of call %q answers no call before it", id)
			}
			open = slices.Delete(open, at, at+1)
		}
	}
	return open, nil
}

func calls(run []wire.Turn) (ids []string) {
	for _, t := range run {
		if t.Role == "assistant" {
			ids = append(ids, t.Calls()...)
		}
	}
	return ids
}
