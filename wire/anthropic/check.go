package anthropic

import (
	"fmt"

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
		m = model.Model{}
	}
	c := &checker{r: r, m: m}
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
	return c.out
}

type checker struct {
	r   *Request
	m   model.Model
	out []transcript.Violation
}

func (c *checker) add(rule, path, format string, args ...any) {
	c.out = append(c.out, transcript.Violation{Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)})
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
	role       transcript.Role
	start, end int // messages start ≤ i < end
}

func (c *checker) turns() []wireTurn {
	var out []wireTurn
	for i, m := range c.r.Messages {
		if c.effortOnly(i) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].role == m.Role() {
			out[n-1].end = i + 1
			continue
		}
		out = append(out, wireTurn{m.Role(), i, i + 1})
	}
	return out
}

// placed is a block with its place.
type placed struct {
	transcript.BlockRef
	block transcript.Block
}

func (p placed) path() string { return blockPath(p.Message, p.Block) }

func (c *checker) blocks(t wireTurn) []placed {
	var out []placed
	for i := t.start; i < t.end; i++ {
		for j, b := range c.r.Messages[i].Blocks().All() {
			out = append(out, placed{transcript.BlockRef{Message: i, Block: j}, b})
		}
	}
	return out
}

// tools checks the definitions.
func (c *checker) tools() {
	seen := make(map[string]bool, len(c.r.Tools))
	for _, t := range c.r.Tools {
		if t.Name != "" && seen[t.Name] {
			c.add("tool-name-duplicate", "tools", "Tool names must be unique.")
		}
		seen[t.Name] = true
	}
}
