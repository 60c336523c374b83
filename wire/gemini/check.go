package gemini

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Check returns the rules of the wire that the request breaks, of those that a change to its
// messages can break, in the provider's words where they are known. Parameters, schemas and
// sizes are left to the provider. With the zero Model, or the row for unknown models, it has
// only the rules that hold for all models.
func (r *Request) Check(m model.Model) []transcript.Violation {
	c := checker{r: r}
	if len(r.Messages) == 0 {
		c.Add("contents-empty", "contents", "* GenerateContentRequest.contents: contents is not specified")
		return c.Violations
	}
	for i := range r.Messages {
		c.content(i)
		c.pairs(i)
	}
	if last := len(r.Messages) - 1; r.Messages[last].Role() == transcript.RoleAssistant {
		c.Add("last-role", path(last),
			"Please ensure that multiturn requests end with a user role or a function response.")
	}
	if m.Thinking.Signed && m.ID != model.UnknownModel {
		c.signatures()
	}
	return c.Violations
}

type checker struct {
	wire.Violations
	r *Request
}

func path(i int) string        { return fmt.Sprintf("contents[%d]", i) }
func partPath(i, j int) string { return fmt.Sprintf("contents[%d].parts[%d]", i, j) }

func (c *checker) content(i int) {
	m := c.r.Messages[i]
	if m.Blocks().Len() == 0 {
		c.Add("parts-empty", path(i),
			"* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
	}
	for j, b := range m.Blocks().All() {
		if t, ok := b.(transcript.Text); ok && t.Text.IsEmpty() {
			c.Add("text-empty", partPath(i, j), "Unable to submit request because it has an empty text parameter. "+
				"Add a value to the parameter and try again.")
		}
	}
}

func (c *checker) ids(i int) (calls, results []string) {
	if i < 0 || i >= len(c.r.Messages) {
		return nil, nil
	}
	for _, b := range c.r.Messages[i].Blocks().All() {
		switch b := b.(type) {
		case transcript.ToolCall:
			calls = append(calls, b.ID)
		case transcript.ToolResult:
			results = append(results, b.CallID)
		}
	}
	return calls, results
}

// pairs checks what stands before and behind the calls and responses of content i.
func (c *checker) pairs(i int) {
	calls, results := c.ids(i)
	before, _ := c.ids(i - 1)
	if len(calls) > 0 {
		if i == 0 || c.r.Messages[i-1].Role() == transcript.RoleAssistant {
			c.Add("call-place", path(i), "Please ensure that function call turn comes immediately after a user turn "+
				"or after a function response turn.")
		}
		if _, next := c.ids(i + 1); i+1 < len(c.r.Messages) && len(next) != len(calls) {
			c.Add("response-count", path(i), "Please ensure that the number of function response parts is equal to "+
				"the number of function call parts of the function call turn.")
		}
	}
	if len(results) == 0 {
		return
	}
	if len(before) == 0 {
		c.Add("response-place", path(i),
			"Please ensure that function response turn comes immediately after a function call turn.")
		return
	}
	for _, id := range results {
		at := slices.Index(before, id)
		if at < 0 {
			c.Add("response-unknown", path(i),
				"The function response %q answers no function call of the turn before it.", id)
			continue
		}
		before = slices.Delete(before, at, at+1)
	}
}

// signatures checks the current turn: behind what the user said last, the first call of each
// answer has its signature.
func (c *checker) signatures() {
	start := len(c.r.Messages)
	for ; start > 0; start-- {
		m := c.r.Messages[start-1]
		if m.Role() != transcript.RoleAssistant && !m.Blocks().Has(transcript.KindToolResult) {
			break
		}
	}
	for i := start; i < len(c.r.Messages); i++ {
		for j, b := range c.r.Messages[i].Blocks().All() {
			call, ok := b.(transcript.ToolCall)
			if !ok {
				continue
			}
			raw := jsonspan.Value(call.Raw)
			if raw.Get("thoughtSignature").Text() == "" && raw.Get("thought_signature").Text() == "" {
				c.Add("signature-missing", partPath(i, j), "Function call is missing a thought_signature in "+
					"functionCall parts. This is required for tools to work correctly, and missing "+
					"thought_signature may lead to degraded model performance. Additional data, function call "+
					"`default_api:%s`, position %d.", call.Name, i+1)
			}
			break
		}
	}
}
