package wire

import (
	"strings"

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

// Excuses makes the user's turn that answers calls which nothing else answers.
func Excuses(calls []string) Turn {
	t := Turn{Role: "user"}
	for _, id := range calls {
		t.Blocks = append(t.Blocks, transcript.ErrorResult(id, NoResult))
	}
	return t
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
