package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Turn is a message to be written: bytes as they came, or blocks.
type Turn struct {
	Role   string
	Raw    string
	Blocks []transcript.Block
}

// Turns makes turns of messages. Those of the format keep their bytes.
func Turns(msgs []transcript.Message, format transcript.Format, role func(transcript.Role) string) []Turn {
	turns := make([]Turn, len(msgs))
	for i, m := range msgs {
		turns[i] = Turn{Role: role(m.Role()), Blocks: m.Blocks().List()}
		if m.Format() == format {
			turns[i].Raw = m.Raw()
		}
	}
	return turns
}

// Calls are the ids of the calls in a turn.
func (t Turn) Calls() (ids []string) {
	for _, b := range t.Blocks {
		if c, ok := b.(transcript.ToolCall); ok {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Results are the ids of the calls that a turn answers.
func (t Turn) Results() (ids []string) {
	for _, b := range t.Blocks {
		if r, ok := b.(transcript.ToolResult); ok {
			ids = append(ids, r.CallID)
		}
	}
	return ids
}

// NoResult answers a call that nothing else answers. The wires demand an answer to every
// call, and the model should know that the tool did not run to its end.
const NoResult = "No result: the call was interrupted before it finished."

// Merge joins neighbours of one role, apart from those that have their own bytes, unless the
// role is the one that is joined in any case.
func Merge(turns []Turn, always string) (out []Turn) {
	for _, t := range turns {
		n := len(out)
		if n == 0 || out[n-1].Role != t.Role || t.Role != always && t.Raw+out[n-1].Raw != "" {
			out = append(out, t)
			continue
		}
		out[n-1].Raw, out[n-1].Blocks = "", slices.Concat(out[n-1].Blocks, t.Blocks)
	}
	return out
}

// Pair makes sure that every call of the model is answered at the beginning of what follows it: a
// turn before that answers those that nothing else does. The role is the model's.
func Pair(turns []Turn, model string) (out []Turn, err error) {
	var open []string // calls of the run before this one that wait for their results
	for len(turns) > 0 {
		n := 1
		for n < len(turns) && turns[n].Role == turns[0].Role {
			n++
		}
		run := turns[:n]
		turns = turns[n:]
		if run[0].Role == "user" {
			if open, err = unanswered(open, run); err != nil {
				return nil, err
			}
		}
		out = append(appendExcuses(out, open), run...)
		if open = nil; run[0].Role == model {
			for _, t := range run {
				open = append(open, t.Calls()...)
			}
		}
	}
	return appendExcuses(out, open), nil
}

// unanswered takes the calls that turns answer out of those that wait for their results.
func unanswered(open []string, run []Turn) ([]string, error) {
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

// appendExcuses appends the user's turn that answers calls which nothing else answers.
func appendExcuses(turns []Turn, calls []string) []Turn {
	if len(calls) == 0 {
		return turns
	}
	t := Turn{Role: "user"}
	for _, id := range calls {
		t.Blocks = append(t.Blocks, transcript.ErrorResult(id, NoResult))
	}
	return append(turns, t)
}

// SplitSystem takes the system messages at the beginning out of the messages, into the system
// prompt.
func SplitSystem(req *model.Request) (string, []transcript.Message) {
	var parts []string
	add := func(text string) {
		if strings.TrimSpace(text) != "" {
			parts = append(parts, text)
		}
	}
	add(req.System)
	msgs := req.Messages
	for len(msgs) > 0 && (msgs[0].Role() == transcript.RoleSystem || msgs[0].Role() == transcript.RoleDeveloper) {
		add(msgs[0].Text())
		msgs = msgs[1:]
	}
	return strings.Join(parts, "\n\n"), msgs
}

// Input is a call's input as a JSON object; empty: it has none. Free text, the input of a
// custom tool, becomes the member input. Bytes that are not UTF-8 become U+FFFD.
func Input(c transcript.ToolCall) string {
	text := c.Input.String()
	switch {
	case jsonspan.Value(text).Valid(jsonspan.Object) == nil:
		return strings.ToValidUTF8(text, "\uFFFD")
	case strings.TrimSpace(text) == "":
		return ""
	}
	return `{"input":` + c.Input.Literal() + `}`
}

// Tools writes tool definitions with commas between them. One whose bytes are of the format
// goes in as it came. The schema's member has the given name; a tool without a schema gets
// the one given, if any.
func Tools(tools []model.Tool, isOwn func(raw string) bool, schemaName, noSchema string) (out []byte) {
	for i, t := range tools {
		if i > 0 {
			out = append(out, ',')
		}
		if isOwn(t.Raw) {
			out = append(out, t.Raw...)
			continue
		}
		out = jsonspan.AppendQuote(append(out, `{"name":`...), t.Name)
		if t.Description != "" {
			out = jsonspan.AppendQuote(append(out, `,"description":`...), t.Description)
		}
		schema := t.Schema
		if strings.TrimSpace(schema) == "" {
			schema = noSchema
		}
		if schema != "" {
			out = append(append(out, `,"`+schemaName+`":`...), schema...)
		}
		out = append(out, '}')
	}
	return out
}
