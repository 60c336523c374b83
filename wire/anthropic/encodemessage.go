package anthropic

import (
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/transcript"
)

var (
	errNoForm  = errors.New("no form on the Anthropic wire")
	errNothing = errors.New("nothing to send")
)

// EncodeMessage returns a message as an element of the messages array. A message that
// came off this wire is returned as it came. Of others the blocks are mapped: results
// go first in a user message, images of failed tools behind them, reasoning of other
// providers is left out, and blocks that have no form here become a short note.
func EncodeMessage(m transcript.Message) ([]byte, error) {
	if m.Format() == transcript.FormatAnthropic && m.Raw() != "" {
		return []byte(m.Raw()), nil
	}
	role := wireRole(m.Role())
	list, err := appendContent(nil, blocksOf(m))
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("encode message: %w", errNothing)
	}
	return element(role, list), nil
}

func element(role string, list []byte) []byte {
	out := make([]byte, 0, len(role)+len(list)+28)
	out = append(append(append(out, `{"role":"`...), role...), `","content":[`...)
	return append(append(out, list...), "]}"...)
}

// wireRole maps a role to one of this wire. Results stand in user messages here.
func wireRole(r transcript.Role) string {
	switch r {
	case transcript.RoleAssistant:
		return "assistant"
	case transcript.RoleSystem, transcript.RoleDeveloper:
		return "system"
	}
	return "user"
}

func blocksOf(m transcript.Message) []transcript.Block {
	out := make([]transcript.Block, 0, m.Blocks().Len())
	for _, b := range m.Blocks().All() {
		out = append(out, b)
	}
	return out
}

// appendContent appends the blocks of one message: results first, as the wire demands,
// then what failed results could not hold, then the rest in order.
func appendContent(dst []byte, blocks []transcript.Block) ([]byte, error) {
	var hoisted, rest []transcript.Block
	for _, b := range blocks {
		r, ok := b.(transcript.ToolResult)
		if !ok {
			rest = append(rest, b)
			continue
		}
		if len(dst) > 0 {
			dst = append(dst, ',')
		}
		if raw, typ := blockRaw(r); typ == "tool_result" {
			dst = append(dst, raw...)
			continue
		}
		var more []transcript.Block
		var err error
		if dst, more, err = appendResult(dst, r); err != nil {
			return dst, err
		}
		hoisted = append(hoisted, more...)
	}
	return appendList(dst, append(hoisted, rest...))
}
