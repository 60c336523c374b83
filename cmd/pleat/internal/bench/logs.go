package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/openai"
)

// readTrajectories reads the sessions of a tau-bench result file or of a SWE-agent trajectory.
// Both are records of benchmarks that nobody but the bench reads. It returns nil if the data
// is neither.
func readTrajectories(data []byte) ([][]transcript.Message, error) {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		return readTau(data)
	}
	var doc sweTrajectory
	if json.Unmarshal(data, &doc) != nil || doc.Trajectory == nil {
		return nil, nil
	}
	msgs, err := doc.messages()
	return [][]transcript.Message{msgs}, err
}

// readTau reads dialogues: Chat Completions messages with a reward. A model plays the user, so
// nothing in them is typed.
func readTau(data []byte) (sessions [][]transcript.Message, err error) {
	var tasks []struct{ Traj []json.RawMessage }
	if json.Unmarshal(data, &tasks) != nil || len(tasks) == 0 || tasks[0].Traj == nil {
		return nil, nil
	}
	for _, task := range tasks {
		var msgs []transcript.Message
		for _, raw := range task.Traj {
			m, err := openai.DecodeChatMessage(raw)
			if err != nil {
				return nil, fmt.Errorf("read dialogue %d: %w", len(sessions)+1, err)
			}
			if m.Blocks().Len() > 0 {
				msgs = append(msgs, m)
			}
		}
		sessions = append(sessions, msgs)
	}
	return sessions, nil
}

// sweTrajectory is a file of SWE-agent. Its history is what the model saw; early files have
// only the steps. Commands that the agent wrote into its text stay text, for there was no call
// on the wire.
type sweTrajectory struct {
	History    []json.RawMessage
	Trajectory []struct{ Response, Observation string }
}

func (t sweTrajectory) messages() (msgs []transcript.Message, err error) {
	if t.History == nil {
		for _, step := range t.Trajectory {
			if step.Response != "" {
				msgs = append(msgs, transcript.Assistant(transcript.Say(step.Response)))
			}
			if step.Observation != "" {
				msgs = append(msgs, transcript.User(step.Observation).WithOrigin(transcript.OriginInjected))
			}
		}
		return msgs, nil
	}
	acted := false
	for i, raw := range t.History {
		m, err := openai.DecodeChatMessage(raw)
		if err != nil {
			return nil, fmt.Errorf("read history entry %d: %w", i+1, err)
		}
		var more struct {
			Calls []string `json:"tool_call_ids"`
			Demo  bool     `json:"is_demo"`
		}
		_ = json.Unmarshal(raw, &more) // what it lacks it does not say
		blocks := withoutRaw(m.Blocks().List())
		if res, ok := firstResult(blocks); ok && len(more.Calls) > 0 {
			res.CallID = cmp.Or(res.CallID, more.Calls[0])
			blocks[0] = res
		}
		if len(blocks) == 0 {
			continue
		}
		acted = acted || m.Role() == transcript.RoleAssistant
		out := transcript.NewMessage(m.Role(), blocks...)
		if m.Role() == transcript.RoleUser && (acted || more.Demo) { // what the environment answered
			out = out.WithOrigin(transcript.OriginInjected)
		}
		msgs = append(msgs, out)
	}
	return msgs, nil
}

func firstResult(blocks []transcript.Block) (res transcript.ToolResult, ok bool) {
	if len(blocks) > 0 {
		res, ok = blocks[0].(transcript.ToolResult)
	}
	return res, ok
}

// withoutRaw takes the raw bytes from blocks: a trajectory is on no wire.
func withoutRaw(blocks []transcript.Block) []transcript.Block {
	var out []transcript.Block
	for _, b := range blocks {
		switch b := b.(type) {
		case transcript.Text:
			if !b.Text.IsEmpty() {
				out = append(out, transcript.Text{Text: b.Text})
			}
		case transcript.ToolCall:
			b.Raw = ""
			out = append(out, b)
		case transcript.ToolResult:
			b.Raw, b.Parts = "", transcript.BlocksOf(withoutRaw(b.Parts.List())...)
			out = append(out, b)
		case transcript.Image:
			b.Raw = ""
			out = append(out, b)
		default:
			out = append(out, b)
		}
	}
	return out
}
