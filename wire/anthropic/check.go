package anthropic

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Check returns the rules of the wire that the request breaks, of those that a change to
// its messages, cache markers or tools can break. Parameters, tool schemas and sizes are
// left to the provider. With the zero Model, or the row for unknown models, it has only the
// rules that hold for all models.
//
// Each violation has the provider's own words where they are known. The names of the
// rules are listed in the package documentation.
func (r *Request) Check(m model.Model) []transcript.Violation {
	if m.ID == model.UnknownModel {
		m = model.Model{Thinking: model.ThinkingRule{First: m.Thinking.First}}
	}
	c := &checker{r: r, m: m}
	c.findTurns()
	c.tools()
	c.caching()
	for i := range r.Messages {
		c.message(i)
	}
	c.roles()
	c.pairs()
	c.servers()
	c.compactions()
	c.openThinking()
	return c.Violations
}

type checker struct {
	wire.Violations
	r     *Request
	m     model.Model
	turns []wireTurn
}

func messagePath(i int) string  { return fmt.Sprintf("messages.%d", i) }
func blockPath(i, j int) string { return fmt.Sprintf("messages.%d.content.%d", i, j) }

// effortOnly reports whether a message does nothing but change the effort. Such a
// message may stand anywhere and be empty.
func (c *checker) effortOnly(i int) bool {
	return c.r.Messages[i].Role() == transcript.RoleSystem && c.r.shapes[i].outputConfig &&
		c.r.Messages[i].Blocks().Len() == 0
}

// wireTurn is a run of messages of one role, which the provider takes for one.
type wireTurn struct {
	role        transcript.Role
	first, last int // messages
	blocks      []placed
}

func (t *wireTurn) hasResults() bool {
	return slices.ContainsFunc(t.blocks, func(p placed) bool { return p.block.Kind() == transcript.KindToolResult })
}

func (c *checker) findTurns() {
	for i, m := range c.r.Messages {
		if c.effortOnly(i) {
			continue
		}
		if n := len(c.turns); n == 0 || c.turns[n-1].role != m.Role() {
			c.turns = append(c.turns, wireTurn{role: m.Role(), first: i})
		}
		t := &c.turns[len(c.turns)-1]
		t.last = i
		for j, b := range m.Blocks().All() {
			t.blocks = append(t.blocks, placed{transcript.BlockRef{Message: i, Block: j}, b})
		}
	}
}

type placed struct {
	transcript.BlockRef
	block transcript.Block
}

func (p placed) path() string { return blockPath(p.Message, p.Block) }

func (c *checker) tools() {
	seen := make(map[string]bool, len(c.r.Tools))
	for _, t := range c.r.Tools {
		if t.Name != "" && seen[t.Name] {
			c.Add("tool-name-duplicate", "tools", "Tool names must be unique.")
		}
		seen[t.Name] = true
	}
}

func (c *checker) caching() {
	markers := c.r.Markers()
	if len(markers) > maxMarkers {
		c.Add("cache-markers", "cache_control",
			"A maximum of %d blocks with cache_control may be provided. Found %d.", maxMarkers, len(markers))
	}
	short := false
	for _, m := range markers {
		path := m.Path + ".cache_control"
		if m.Path == "" {
			path = "cache_control"
		}
		switch m.TTL {
		case "5m":
			short = short || m.Path != "" // the automatic marker comes last whatever it says
		case "1h":
			if short && m.Path != "" {
				c.Add("cache-ttl-order", path+".ttl", "a ttl='1h' cache_control block must not come after a ttl='5m' "+
					"cache_control block. Note that blocks are processed in the following order: `tools`, "+
					"`system`, `messages`.")
			}
		}
	}
	for _, m := range c.r.marks[sectionMessages] {
		if m.block >= 0 && m.part < 0 && m.block < c.r.Messages[m.message].Blocks().Len() {
			c.marked(blockPath(m.message, m.block), c.r.Messages[m.message].Blocks().At(m.block))
		}
	}
}

// marked checks that a block may carry a marker.
func (c *checker) marked(path string, b transcript.Block) {
	switch b := b.(type) {
	case transcript.Text:
		if b.Text.IsEmpty() {
			c.Add("cache-empty-text", path+".text", "cache_control cannot be set for empty text blocks")
		}
	case transcript.Thinking:
		typ := "thinking"
		if b.Redacted {
			typ = "redacted_thinking"
		}
		c.Add("cache-thinking", path+"."+typ+".cache_control", "Extra inputs are not permitted")
	}
}

// signed reports whether a block is a compaction that the provider made by request.
func signed(b transcript.Block) bool {
	return opaqueType(b) == "compaction" && jsonspan.Value(transcript.RawOf(b)).Get("signature") != nil
}

// opaqueType is the type of an opaque block, empty if the block is none.
func opaqueType(b transcript.Block) string {
	o, _ := b.(transcript.Opaque)
	return o.Type
}

// compactions checks where signed compaction blocks stand: there is one, and nothing
// stands before it.
func (c *checker) compactions() {
	n := 0
	for i, m := range c.r.Messages {
		for j, b := range m.Blocks().All() {
			if !signed(b) {
				continue
			}
			if n++; n > 1 {
				c.Add("compaction-duplicate", blockPath(i, j), "only one `compaction` block may be provided")
			} else if i > 0 || j > 0 {
				c.Add("compaction-misplaced", blockPath(i, j),
					"compaction_block_misplaced: `compaction` must be the first block of the first message")
			}
		}
	}
}

// openThinking checks a conversation that stands in the middle of a tool round under
// manual thinking: the answer that began the round starts with its thinking.
func (c *checker) openThinking() {
	turns := c.turns
	if !c.m.Thinking.First && c.r.ThinkingMode() != "enabled" || len(turns) == 0 ||
		turns[len(turns)-1].role == transcript.RoleAssistant {
		return
	}
	var blocks []placed // of the answer that began the round: the user has sent results ever since
	for _, t := range slices.Backward(turns) {
		if t.role == transcript.RoleAssistant {
			blocks = t.blocks
		} else if t.role != transcript.RoleUser || !t.hasResults() {
			break
		}
	}
	if len(blocks) == 0 || opaqueType(blocks[0].block) == "compaction" {
		return
	}
	if blocks[0].block.Kind() != transcript.KindThinking {
		c.Add(
			"thinking-first", blocks[0].path()+".type", "Expected `thinking` or `redacted_thinking`, but found `%s`. "+
				"When `thinking` is enabled, a final `assistant` message must start with a thinking block "+
				"(preceeding the lastmost set of `tool_use` and `tool_result` blocks). "+
				"We recommend you include thinking blocks from previous turns. To avoid this requirement, disable "+
				"`thinking`.",
			wireType(blocks[0].block))
	}
}

// wireType is a block's type as the wire calls it.
func wireType(b transcript.Block) string {
	switch b := b.(type) {
	case transcript.Text:
		return "text"
	case transcript.ToolCall:
		return "tool_use"
	case transcript.ToolResult:
		return "tool_result"
	case transcript.Image:
		return "image"
	case transcript.Opaque:
		return b.Type
	}
	return "thinking"
}
