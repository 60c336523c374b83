package anthropic

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

func (c *checker) roles() {
	if len(c.turns) == 0 {
		c.Add("messages-empty", "messages", "at least one message is required")
		return
	}
	for i, m := range c.r.Messages {
		if m.Role() == transcript.RoleSystem && c.m.ID != "" && !c.m.Accepts.SystemMessages {
			c.Add("system-role-refused", messagePath(i), "role 'system' is not supported on this model")
		}
	}
	if first := c.turns[0]; first.role == transcript.RoleAssistant && !c.startsWithCompaction() {
		c.Add("first-role", "messages", `first message must use the "user" role`)
	}
	for k, t := range c.turns {
		if t.role == transcript.RoleSystem {
			c.systemPlace(k)
		}
	}
	if last := c.turns[len(c.turns)-1]; last.role == transcript.RoleAssistant {
		c.lastAssistant(last)
	}
}

func (c *checker) startsWithCompaction() bool {
	b := c.r.Messages[0].Blocks()
	return b.Len() > 0 && opaqueType(b.At(0)) == "compaction"
}

// systemPlace checks a system turn: it follows a user turn and comes last or before an
// answer.
func (c *checker) systemPlace(k int) {
	turns, path := c.turns, messagePath(c.turns[k].first)
	if k == 0 {
		c.Add("system-role-place", path, "a message with role 'system' cannot be the first message")
		return
	}
	if before := turns[k-1]; before.role == transcript.RoleAssistant && !before.endsInServerResult() {
		c.Add("system-role-place", path, "a message with role 'system' must follow a user message")
	}
	if k+1 < len(turns) && turns[k+1].role != transcript.RoleAssistant {
		c.Add("system-role-place", path,
			"a message with role 'system' must be last or be followed by an assistant message")
	}
}

func (t *wireTurn) endsInServerResult() bool {
	n := len(t.blocks)
	return n > 0 && strings.HasSuffix(opaqueType(t.blocks[n-1].block), "_tool_result")
}

// lastAssistant checks a conversation that ends with a message of the model. Turns that the
// provider paused, or that hold its compaction, may end a request so that they go on.
func (c *checker) lastAssistant(t wireTurn) {
	for _, p := range t.blocks {
		if typ := opaqueType(p.block); typ == "compaction" || serverTool(typ) {
			return
		}
	}
	if !c.r.top.compaction.IsZero() {
		return
	}
	if c.m.Refuses.Prefill {
		c.Add("prefill-refused", messagePath(t.last),
			"This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	if len(t.blocks) == 0 {
		return
	}
	if last, ok := t.blocks[len(t.blocks)-1].block.(transcript.Text); ok {
		if s := last.Text.String(); !blank(s) && strings.TrimRight(s, " \t\r\n") != s {
			c.Add("prefill-whitespace", "messages", "final assistant content cannot end with trailing whitespace")
		}
	}
}

// serverTool reports whether a block is part of a tool that the provider runs.
func serverTool(typ string) bool {
	return typ == "server_tool_use" || typ == "mcp_tool_use" || strings.HasSuffix(typ, "_tool_result")
}

func (c *checker) message(i int) {
	m, last := c.r.Messages[i], i == len(c.r.Messages)-1
	empty := m.Blocks().Len() == 0
	switch shape := c.r.shapes[i]; {
	case shape.content == jsonspan.String:
		t, _ := m.Blocks().At(0).(transcript.Text)
		if empty = t.Text.IsEmpty(); !empty && blank(t.Text.String()) {
			c.Add("text-whitespace", "messages", "text content blocks must contain non-whitespace text")
		}
	case shape.content != jsonspan.Array:
		return
	}
	if empty {
		if !c.effortOnly(i) && !(last && m.Role() == transcript.RoleAssistant) {
			c.Add("message-empty", messagePath(i),
				"all messages must have non-empty content except for the optional final assistant message")
		}
		return
	}
	if c.r.shapes[i].content == jsonspan.Array {
		for j, b := range m.Blocks().All() {
			c.block(blockPath(i, j), b)
		}
	}
}

func (c *checker) block(path string, b transcript.Block) {
	switch b := b.(type) {
	case transcript.Text:
		c.words(b)
	case transcript.ToolCall:
		if input := b.Input.String(); input != "" && input[0] != '{' {
			c.Add("tool-use-input", path+".tool_use.input", "Input should be a valid dictionary")
		}
	case transcript.ToolResult:
		for _, p := range b.Parts.All() {
			if t, ok := p.(transcript.Text); ok && t.Raw != "" && t.Text.IsEmpty() {
				c.Add("text-empty", "messages", "text content blocks must be non-empty")
			}
		}
	}
}

func (c *checker) words(b transcript.Text) {
	switch {
	case b.Text.IsEmpty():
		c.Add("text-empty", "messages", "text content blocks must be non-empty")
	case blank(b.Text.String()):
		c.Add("text-whitespace", "messages", "text content blocks must contain non-whitespace text")
	}
}
