package sessionfile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pleat-dev/pleat/internal/order"
	"github.com/pleat-dev/pleat/transcript"
)

// sendable makes messages that every provider accepts. Sessions of other agents have calls
// whose ids are too long, not unique or have characters that a provider refuses; calls
// without a result; texts of white space only; and text between a call and its result.
// Other messages stay as they are.
func sendable(msgs []transcript.Message) []transcript.Message {
	s := sender{used: make(map[string]bool), open: make(map[string][]string)}
	msgs = order.Results(msgs)
	out := make([]transcript.Message, 0, len(msgs))
	for i, m := range msgs {
		if m.Role() == transcript.RoleAssistant && i > 0 && msgs[i-1].Role() != transcript.RoleAssistant {
			clear(s.open) // results belong to the answer before them
		}
		if m = s.message(m); m.Blocks().Len() > 0 {
			out = append(out, m)
		}
	}
	return transcript.Repair(out,
		func(transcript.ToolCall) string { return "There is no result: the call was broken off." })
}

type sender struct {
	used map[string]bool     // ids that were sent
	open map[string][]string // by the session's id: the ids that were sent for its unanswered calls
	made int                 // ids
}

func (s *sender) message(m transcript.Message) transcript.Message {
	blocks := make([]transcript.Block, 0, m.Blocks().Len())
	changed := false
	for _, blk := range m.Blocks().All() {
		switch b := blk.(type) {
		case transcript.Text:
			if strings.TrimSpace(b.Text.String()) == "" { // providers refuse it
				changed = true
				continue
			}
		case transcript.ToolCall:
			if id := s.call(b.ID); id != b.ID {
				blk, changed = transcript.ToolCall{ID: id, Name: b.Name, Input: b.Input}, true
			}
		case transcript.ToolResult:
			id, known := s.result(b.CallID)
			if !known { // the call it answers is not sent
				changed = true
				continue
			}
			if id != b.CallID {
				blk, changed = transcript.ToolResult{CallID: id, Error: b.Error, Parts: b.Parts}, true
			}
		}
		blocks = append(blocks, blk)
	}
	if !changed {
		return m
	}
	return transcript.NewMessage(m.Role(), blocks...).WithOrigin(m.Origin())
}

// call returns the id that a call is sent with.
func (s *sender) call(id string) string {
	sent := id
	for !goodID.MatchString(sent) || s.used[sent] {
		s.made++
		sent = fmt.Sprintf("call_p%d", s.made)
	}
	s.used[sent] = true
	s.open[id] = append(s.open[id], sent)
	return sent
}

func (s *sender) result(id string) (string, bool) {
	waiting := s.open[id]
	if len(waiting) == 0 {
		return "", false
	}
	s.open[id] = waiting[1:]
	return waiting[0], true
}

// goodID matches the ids that the strictest provider accepts.
var goodID = regexp.MustCompile(`\A[A-Za-z0-9_-]{1,64}\z`)
