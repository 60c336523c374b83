package anthropic

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

const (
	textMissing = "`tool_use` ids were found without `tool_result` blocks immediately after: %s. " +
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message."
	textUnexpected = "unexpected `tool_use_id` found in `tool_result` blocks: %s. " +
		"Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
	textDuplicate  = "each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s"
	textServerPair = "unexpected `tool_use_id` found in `%s` blocks: %s. " +
		"Each `%s` block must have a corresponding `%s` block before it."
	textServerOpen = "`%s` tool use with id `%s` was found without a corresponding `%s_tool_result` block"
)

// pairs checks calls and results. The provider takes neighbouring messages of one role
// for one turn, so a turn's calls are answered by the turn behind it.
func (c *checker) pairs() {
	seen := make(map[string]bool)
	for k, t := range c.turns {
		switch t.role {
		case transcript.RoleAssistant:
			var next wireTurn
			if k+1 < len(c.turns) {
				next = c.turns[k+1]
			}
			c.calls(t, next, seen)
		case transcript.RoleUser:
			var before wireTurn
			if k > 0 && c.turns[k-1].role == transcript.RoleAssistant {
				before = c.turns[k-1]
			}
			c.results(t, before)
		}
	}
}

// calls checks that the calls of t are new, and that the next turn answers them, also at the very
// end of a conversation. The provider lists all ids in one error; here each call is one, so that
// a view which leaves one more unanswered is found out.
func (c *checker) calls(t, next wireTurn, seen map[string]bool) {
	for _, p := range t.blocks {
		if call, ok := p.block.(transcript.ToolCall); ok {
			if seen[call.ID] {
				c.Add("tool-use-id-duplicate", p.path(), "`tool_use` ids must be unique")
			}
			seen[call.ID] = true
		}
	}
	results := make(map[string]bool)
	if next.role == transcript.RoleUser {
		for _, p := range next.blocks {
			if r, ok := p.block.(transcript.ToolResult); ok {
				results[r.CallID] = true
			}
		}
	}
	for _, p := range t.blocks {
		if call, ok := p.block.(transcript.ToolCall); ok && !results[call.ID] {
			c.Add("tool-result-missing", messagePath(p.Message), textMissing, call.ID)
		}
	}
}

// results checks the results of a user's turn against the calls of the turn before.
func (c *checker) results(t, before wireTurn) {
	calls, answered, other := make(map[string]bool), make(map[string]bool), false
	for _, p := range before.blocks {
		if call, ok := p.block.(transcript.ToolCall); ok {
			calls[call.ID] = true
		}
	}
	for _, p := range t.blocks {
		r, ok := p.block.(transcript.ToolResult)
		if !ok {
			other = true
			continue
		}
		switch {
		case !calls[r.CallID]:
			c.Add("tool-result-unexpected", p.path(), textUnexpected, r.CallID)
		case answered[r.CallID]:
			c.Add("tool-result-duplicate", p.path(), textDuplicate, r.CallID)
		case other: // the provider sees the call unanswered
			c.Add("tool-results-first", messagePath(before.blocks[len(before.blocks)-1].Message), textMissing, r.CallID)
		}
		answered[r.CallID] = true
	}
}

// serverCall is a call of a tool that the provider runs itself.
type serverCall struct{ id, name string }

// servers checks tools that the provider runs: their results stand in the same turn
// behind their calls. A turn goes on as long as the user answers with nothing but
// results of its own tools.
func (c *checker) servers() {
	var open []serverCall
	used := make(map[string]bool) // by type and id
	for _, t := range c.turns {
		for _, p := range t.blocks {
			if b, ok := p.block.(transcript.Opaque); ok {
				open = c.serverBlock(p, b, open, used)
			}
			if t.role == transcript.RoleUser && p.block.Kind() != transcript.KindToolResult {
				for _, call := range open { // the user says something, and they are not answered
					c.Add("server-tool-open", messagePath(p.Message), textServerOpen, call.name, call.id, call.name)
				}
				open = nil
			}
		}
		if t.role == transcript.RoleUser && len(open) == 0 {
			clear(used)
		}
	}
}

func (c *checker) serverBlock(
	p placed, b transcript.Opaque, open []serverCall, used map[string]bool,
) []serverCall {
	raw := jsonspan.Value(b.Raw)
	if b.Type == "server_tool_use" || b.Type == "mcp_tool_use" {
		call := serverCall{raw.Get("id").Text(), raw.Get("name").Text()}
		if used[b.Type+call.id] = true; b.Type == "server_tool_use" {
			open = append(open, call)
		}
	}
	if !strings.HasSuffix(b.Type, "_tool_result") {
		return open
	}
	want, id := "server_tool_use", raw.Get("tool_use_id").Text()
	if b.Type == "mcp_tool_result" {
		want = "mcp_tool_use"
	}
	if !used[want+id] {
		c.Add("server-tool-result-unexpected", p.path(), textServerPair, b.Type, id, b.Type, want)
	}
	return slices.DeleteFunc(open, func(call serverCall) bool { return call.id == id })
}
