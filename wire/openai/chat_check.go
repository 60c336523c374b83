package openai

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// checker collects violations. It scans the messages again, so that decoding need not keep
// what only rules look at.
//
// The rules are those that a change to the messages can break, and those about the names and
// ids of calls, which messages of other wires bring along. Parameters, schemas and the
// members of items are left to the provider.
type checker struct {
	scanner
	wire.Violations
}

func (c *checker) emptyArray(path string) {
	c.Violations.Add("array-empty", path, "Invalid '%s': empty array. Expected an array with minimum length 1, "+
		"but got an empty array instead.", path)
}

// maxCall is how many characters the id of a call may have, and on the Chat wire its name.
const maxCall = 64

func (c *checker) atMost(path string, v value) {
	if n := utf8.RuneCountInString(c.Text(v)); n > maxCall {
		c.Violations.Add(
			"string-too-long", path, "Invalid '%s': string too long. Expected a string with maximum length %d, "+
				"but got a string with length %d instead.", path, maxCall, n)
	}
}

func (c *checker) name(path string, v value) {
	if v.IsString() && !wire.IsName(c.Text(v)) {
		c.Violations.Add("name-pattern", path,
			"Invalid '%s': string does not match pattern. Expected a string that matches the pattern "+
				"'^[a-zA-Z0-9_-]+$'.", path)
	}
}

// Check returns the rules of the Chat Completions wire that the request breaks, in the
// provider's words: those that folding could break, and those about the names and ids of its
// calls. They are the same for all models.
func (r *ChatRequest) Check(model.Model) []transcript.Violation {
	c := chatChecker{waiting: make(map[string]int), since: make(map[string]int)}
	if len(r.body.Elements) == 0 {
		c.emptyArray("messages")
	}
	for i, e := range r.body.Elements {
		// Spans are relative to the element, which is all that is looked at.
		c.Begin(e.Span.Of(r.body.Data))
		m := c.Object(c.Value())
		c.message(i, m)
		c.pairing(i, m)
	}
	c.unanswered(len(r.body.Elements) - 1)
	return c.Violations
}

type chatChecker struct {
	checker
	// The calls that wait for results, while nothing but results has come since.
	waiting map[string]int // id → how many calls have it
	order   []string       // the ids, in order
	since   map[string]int // id → message that answered it
}

func (c *chatChecker) message(i int, m object) {
	switch c.Text(m.Get("role")) {
	case "user", "system", "developer", "tool":
		c.content(i, m.Get("content"), true)
	case "assistant":
		c.assistant(i, m)
	}
}

// content checks that there is content: a string or a list of parts.
func (c *chatChecker) content(i int, v value, needed bool) {
	switch {
	case v.Kind == jsonspan.Array && len(c.List(v)) == 0:
		c.emptyArray(fmt.Sprintf("messages[%d].content", i))
	case !v.Given() && needed: // a missing member reads as null
		c.Violations.Add("content-null", fmt.Sprintf("messages.[%d].content", i),
			"Invalid value for 'content': expected a string, got null.")
	}
}

func (c *chatChecker) assistant(i int, m object) {
	calls := c.List(m.Get("tool_calls"))
	if m.Get("tool_calls").Kind == jsonspan.Array && len(calls) == 0 {
		c.emptyArray(fmt.Sprintf("messages[%d].tool_calls", i))
	}
	speaks := len(calls) > 0 || m.Get("function_call").Given() || m.Get("refusal").Given() || m.Get("audio").Given()
	c.content(i, m.Get("content"), !speaks)
	for k, t := range calls {
		path := fmt.Sprintf("messages[%d].tool_calls[%d]", i, k)
		c.atMost(path+".id", t.Get("id"))
		if t.Get("function").Given() {
			name, _ := c.inside(t)
			c.name(path+".function.name", name)
			c.atMost(path+".function.name", name)
		}
	}
}

// pairing checks that calls and results stand together: behind an assistant message
// with calls come the results of all of them, and nothing else.
func (c *chatChecker) pairing(i int, m object) {
	role, answers := c.Text(m.Get("role")), m.Get("tool_call_id")
	if role != "tool" {
		c.unanswered(i)
		for _, call := range c.List(m.Get("tool_calls")) {
			if role == "assistant" && call.Get("id").IsString() {
				id := c.Text(call.Get("id"))
				c.waiting[id]++
				c.order = append(c.order, id)
			}
		}
		return
	}
	id := c.Text(answers)
	if len(c.order) == 0 {
		c.Violations.Add("tool-result-orphan", fmt.Sprintf("messages.[%d].role", i),
			"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "+
				"'tool_calls'.")
		return
	}
	left, called := c.waiting[id]
	path := fmt.Sprintf("messages.[%d].tool_call_id", i)
	switch {
	case !answers.IsString(): // the provider says so
	case !called:
		c.Violations.Add("tool-result-unknown", path,
			"Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", id)
	case left == 0:
		c.Violations.Add("tool-result-duplicate", path,
			"Invalid parameter: Duplicate value for 'tool_call_id' of '%s', in messages[%d] and messages[%d].",
			id, c.since[id], i)
	default:
		c.waiting[id], c.since[id] = left-1, i
	}
}

// unanswered ends the wait for results at message i.
func (c *chatChecker) unanswered(i int) {
	var ids []string
	for _, id := range c.order {
		if c.waiting[id] > 0 && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		c.Violations.Add("tool-result-missing", fmt.Sprintf("messages.[%d].role", i),
			"An assistant message with 'tool_calls' must be followed by tool messages responding to each "+
				"'tool_call_id'. "+
				"The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
	}
	clear(c.waiting)
	clear(c.since)
	c.order = c.order[:0]
}
