package openai

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Check returns the rules of the Responses wire that the request breaks, in the
// provider's words: those that folding could break, and those about the names and ids of its
// calls. They are the same for all models.
//
// Where the provider holds part of the conversation, the rules about what must have come
// before are left to it.
func (r *ResponsesRequest) Check(model.Model) []transcript.Violation {
	c := itemChecker{r: r, calls: make(map[string]*callNote), ids: make(map[string]bool)}
	if !r.isString {
		for i, e := range r.body.Elements {
			// Spans are relative to the element, which is all that is looked at.
			c.Begin(e.Span.Of(r.body.Data))
			c.item(i, c.Object(c.Value()))
		}
		c.unanswered()
		c.reasoning()
	}
	if len(r.items) == 0 && !r.Partial() && !r.p.template.Given() {
		c.Violations.Add("input-empty", "input",
			`One of "input" or "previous_response_id" or 'prompt' or 'conversation_id' must be provided.`)
	}
	return c.Violations
}

type itemChecker struct {
	checker
	r     *ResponsesRequest
	calls map[string]*callNote // by call id
	order []*callNote
	ids   map[string]bool
}

type callNote struct {
	id, typ string
	open    int // calls without output
}

func (c *itemChecker) item(i int, it object) {
	path, typ := fmt.Sprintf("input[%d]", i), c.itemType(it)
	c.id(typ, it)
	switch itemTypes[typ] {
	case itemCall:
		c.call(path, typ, it)
	case itemOutput:
		c.output(typ, it)
	}
	if typ == "compaction_trigger" && i != len(c.r.items)-1 {
		c.Violations.Add("compaction-trigger-last", path, "The 'compaction_trigger' item must be the final input item.")
	}
	c.stored(typ, it)
}

func (c *itemChecker) id(typ string, it object) {
	id := c.Text(it.Get("id"))
	if id == "" || typ == "local_shell_call_output" && !it.Get("call_id").Given() { // then it is the id of its call
		return
	}
	if c.ids[id] {
		c.Violations.Add("item-duplicate", "input",
			"Duplicate item found with id %s. Remove duplicate items from your input and try again.", id)
	}
	c.ids[id] = true
}

func (c *itemChecker) call(path, typ string, it object) {
	c.atMost(path+".call_id", it.Get("call_id"))
	if typ == "function_call" {
		c.name(path+".name", it.Get("name"))
	}
	id := c.Text(it.Get("call_id"))
	if id == "" {
		return
	}
	n := c.calls[id]
	if n == nil {
		n = &callNote{id: id}
		c.calls[id], c.order = n, append(c.order, n)
	}
	n.typ = typ
	n.open++
}

// spoken is a type as the provider's messages write it.
func spoken(typ string) string { return strings.ReplaceAll(typ, "_", " ") }

func (c *itemChecker) output(typ string, it object) {
	idValue := it.Get("call_id")
	if typ == "local_shell_call_output" && !idValue.Given() {
		idValue = it.Get("id")
	}
	id := c.Text(idValue)
	n := c.calls[id]
	switch {
	case id == "":
	case n == nil && c.r.Partial():
	case n == nil || n.typ+"_output" != typ:
		c.Violations.Add("tool-result-orphan", "input", "No tool call found for %s with call_id %s.", spoken(typ), id)
	case n.open == 0:
		c.Violations.Add("tool-result-duplicate", "input",
			"Duplicate %s for call_id '%s'. Each %s must have exactly one matching %[1]s", typ, id, n.typ)
	default:
		n.open--
	}
}

// unanswered reports calls without output.
func (c *itemChecker) unanswered() {
	for _, n := range c.order {
		if n.open > 0 {
			c.Violations.Add("tool-result-missing", "input", "No tool output found for %s %s.", spoken(n.typ), n.id)
		}
	}
}

// stored checks that nothing refers to an item that the provider has not stored.
func (c *itemChecker) stored(typ string, it object) {
	id := c.Text(it.Get("id"))
	if c.r.p.store.Kind != jsonspan.False || id == "" {
		return
	}
	sealed := it.Get("encrypted_content").IsString() && it.Get("encrypted_content").Len() > len(`""`)
	bare := typ == "reasoning" && !sealed && strings.HasPrefix(id, "rs_")
	if bare || typ == "item_reference" {
		c.Violations.Add("item-not-stored", "input", "Item with id '%s' not found. "+
			"Items are not persisted when `store` is set to false. "+
			"Try again with `store` set to true, or remove this item from your input.", id)
	}
}

// reasoning checks that an item of the model follows each reasoning item.
func (c *itemChecker) reasoning() {
	for i, n := range c.r.items {
		if n.typ != "reasoning" || n.id == "" {
			continue
		}
		if i+1 == len(c.r.items) || c.r.Messages[i+1].Role() != transcript.RoleAssistant {
			c.Violations.Add("reasoning-unfollowed", "input",
				"Item '%s' of type 'reasoning' was provided without its required following item.", n.id)
		}
	}
}
