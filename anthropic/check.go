package anthropic

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// maxBody is the largest request that the provider's front door lets in.
const maxBody = 32 << 20

// Check returns every rule of the wire that the request breaks and that can be told
// from its bytes alone, in no particular order of weight. With the zero Model only the
// rules that hold for all models are looked at; so with the row for unknown models,
// whose caution is for those who write requests and not for those who judge them.
//
// Each violation has the provider's own words where they are known. The names of the
// rules are listed in the package documentation.
func (r *Request) Check(m pleat.Model) []pleat.Violation {
	if m.ID == pleat.UnknownModel {
		m = pleat.Model{}
	}
	c := &checker{r: r, data: r.body.Data, m: m}
	c.params()
	c.tools()
	c.caching()
	c.management()
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
	r    *Request
	data []byte
	m    pleat.Model
	out  []pleat.Violation
}

func (c *checker) add(rule, path, format string, args ...any) {
	c.out = append(c.out, pleat.Violation{Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)})
}

// at returns a member of the top level, nil if it is absent or null.
func (c *checker) at(s jsonspan.Span) []byte {
	if s.IsZero() {
		return nil
	}
	return s.Of(c.data)
}

func messagePath(i int) string  { return fmt.Sprintf("messages.%d", i) }
func blockPath(i, j int) string { return fmt.Sprintf("messages.%d.content.%d", i, j) }

// known reports whether the model's own rules are known.
func (c *checker) known() bool { return c.m.ID != "" }

// effortOnly reports whether a message does nothing but change the effort. Such a
// message may stand anywhere and be empty.
func (c *checker) effortOnly(i int) bool {
	return c.r.Messages[i].Role() == pleat.RoleSystem && c.r.shapes[i].outputConfig &&
		c.r.Messages[i].Blocks().Len() == 0
}

// wireTurn is a run of messages of one role, which the provider takes for one.
type wireTurn struct {
	role       pleat.Role
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
	pleat.BlockRef
	block pleat.Block
}

func (p placed) path() string { return blockPath(p.Message, p.Block) }

func (c *checker) blocks(t wireTurn) []placed {
	var out []placed
	for i := t.start; i < t.end; i++ {
		for j, b := range c.r.Messages[i].Blocks().All() {
			out = append(out, placed{pleat.BlockRef{Message: i, Block: j}, b})
		}
	}
	return out
}

// params checks the members of the top level.
func (c *checker) params() {
	top := &c.r.top
	if len(c.data) > maxBody {
		c.add("request-too-large", "", "Request exceeds the maximum size")
	}
	if c.at(top.model) == nil {
		c.add("model-missing", "model", "Field required")
	}
	if c.at(top.maxTokens) == nil {
		c.add("max-tokens-missing", "max_tokens", "Field required")
	}
	choice, thinking := text(lookup(c.at(top.toolChoice), "type")), text(lookup(c.at(top.thinking), "type"))
	c.toolChoice(choice, thinking)
	c.thinkingMode(thinking)
	c.sampling(thinking)
}

func (c *checker) toolChoice(choice, thinking string) {
	if choice == "" {
		return
	}
	forced := choice == "any" || choice == "tool"
	if len(c.r.Tools) == 0 {
		c.add("tool-choice-without-tools", "tool_choice", "tool_choice may only be specified while providing tools.")
	}
	if name := text(lookup(c.at(c.r.top.toolChoice), "name")); choice == "tool" && len(c.r.Tools) > 0 &&
		!slices.ContainsFunc(c.r.Tools, func(t pleat.Tool) bool { return t.Name == name }) {
		c.add("tool-choice-unknown", "tool_choice", "Tool '%s' not found in provided tools", name)
	}
	if forced && (thinking == "enabled" || thinking == "adaptive") {
		c.add("thinking-forced-tool", "tool_choice", "Thinking may not be enabled when tool_choice forces tool use.")
	}
	if forced && c.m.Refuses.ForcedToolChoice {
		c.add("tool-choice-refused", "tool_choice", `type "tool" and "any" are not supported for this model.`)
	}
}

func (c *checker) thinkingMode(mode string) {
	if mode == "" {
		return
	}
	if len(c.m.Thinking.Modes) > 0 && !slices.Contains(c.m.Thinking.Modes, mode) {
		hint := ""
		if mode == "enabled" {
			hint = ` Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
		}
		c.add("thinking-mode-refused", "thinking", `"thinking.type.%s" is not supported for this model.%s`, mode, hint)
	}
	if mode != "enabled" {
		return
	}
	switch budget := lookup(c.at(c.r.top.thinking), "budget_tokens"); {
	case budget == nil:
		c.add("thinking-budget", "thinking.enabled.budget_tokens", "Field required")
	case number(budget) < 1024:
		c.add("thinking-budget", "thinking.enabled.budget_tokens", "Input should be greater than or equal to 1024")
	}
}

// sampling checks temperature, top_p and top_k. The defaults are always taken.
func (c *checker) sampling(thinking string) {
	top := &c.r.top
	on := thinking == "enabled" || thinking == "adaptive"
	for _, p := range []struct {
		name  string
		value []byte
		with  string // what the provider says to it together with thinking; empty: nothing
	}{
		{"temperature", c.at(top.temperature), "may only be set to 1 when thinking is enabled."},
		{"top_p", c.at(top.topP), "must be greater than or equal to 0.95 or unset when thinking is enabled."},
		{"top_k", c.at(top.topK), "must be unset when thinking is enabled."},
	} {
		value, ok := float(p.value)
		switch {
		case !ok || p.name != "top_k" && value == 1:
		case c.m.Refuses.Temperature:
			c.add("sampling-refused", p.name, "`%s` is deprecated for this model.", p.name)
		case on && (p.name != "top_p" || value < 0.95):
			c.add("thinking-sampling", p.name, "`%s` %s", p.name, p.with)
		}
	}
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
