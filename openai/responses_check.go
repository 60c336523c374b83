package openai

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// maxItemID is the longest id of an item or call.
const maxItemID = 64

// idPrefixes is how the ids of item types begin.
var idPrefixes = map[string]string{
	"message":          "msg",
	"reasoning":        "rs",
	"function_call":    "fc",
	"custom_tool_call": "ctc",
	"web_search_call":  "ws",
}

// Check returns the rules of the Responses wire that the request breaks, in the
// provider's words. The zero model gives the rules that hold for all of them.
//
// Where part of the conversation lies with the provider, rules about what must have come
// before are left to it.
func (r *ResponsesRequest) Check(m pleat.Model) []pleat.Violation {
	c := itemChecker{r: r, calls: make(map[string]*callNote), ids: make(map[string]bool)}
	if !r.isString {
		var it item
		for i, e := range r.body.Elements {
			// Spans are relative to the element, which is all that is looked at.
			c.scanner.reset(e.Span.Of(r.body.Data))
			c.scanner.item(&it)
			c.item(i, &it)
		}
		c.unanswered()
		c.reasoning()
	}
	c.reset(r.body.Data)
	c.params(m)
	return c.found
}

// CheckAgainst is Check for a request that was made from another one by leaving out
// items. It also finds items that came behind a reasoning item in before and now stand
// without it, which the provider knows by their ids.
func (r *ResponsesRequest) CheckAgainst(before *ResponsesRequest, m pleat.Model) []pleat.Violation {
	c := checker{found: r.Check(m)}
	here := make(map[string]bool, len(r.items))
	for _, n := range r.items {
		here[n.id] = true
	}
	reasoned := before.reasonedBy()
	for i, n := range before.items {
		if n.id == "" || !here[n.id] {
			continue
		}
		for _, at := range reasoned[i] {
			if rs := before.items[at].id; rs != "" && !here[rs] {
				c.report("reasoning-missing", "input",
					"Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", n.id, n.typ, rs)
			}
		}
	}
	return c.found
}

type itemChecker struct {
	checker
	r     *ResponsesRequest
	calls map[string]*callNote // by call id
	order []*callNote
	ids   map[string]bool
}

type callNote struct {
	id, typ  string
	open     int // calls without output
	answered int
}

func (c *itemChecker) item(i int, it *item) {
	path := fmt.Sprintf("input[%d]", i)
	if it.whole.kind != jsonspan.Object {
		c.wrongType(path, "an object", it.whole)
		return
	}
	c.parts(it.parts)
	c.parts(it.outputs)
	typ := c.itemType(it)
	if typ == "" {
		c.missing(path + ".type")
		return
	}
	c.id(path, typ, it)
	switch itemTypes[typ] {
	case itemMessage:
		c.message(path, it)
	case itemReasoning:
		if !it.summary.given() {
			c.missing(path + ".summary")
		}
	case itemCall:
		c.call(path, typ, it)
	case itemOutput:
		c.output(path, typ, it)
	}
	if typ == "compaction_trigger" && i != len(c.r.items)-1 {
		c.report("compaction-trigger-last", path, "The 'compaction_trigger' item must be the final input item.")
	}
	c.stored(typ, it)
}

func (c *itemChecker) id(path, typ string, it *item) {
	id := c.text(it.id)
	if id == "" {
		return
	}
	c.atMost(path+".id", id, maxItemID)
	if prefix := idPrefixes[typ]; prefix != "" && !strings.HasPrefix(id, prefix) {
		c.report("id-prefix", path+".id", "Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", path, id, prefix)
	}
	if typ == "local_shell_call_output" && !it.callID.given() {
		return // the id of its call
	}
	if c.ids[id] {
		c.report("item-duplicate", "input", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", id)
	}
	c.ids[id] = true
}

func (c *itemChecker) message(path string, it *item) {
	c.required(path+".role", it.role)
	role := c.text(it.role)
	switch role {
	case "user", "assistant", "system", "developer", "":
	default:
		c.report("role-invalid", path+".role",
			"Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", role)
	}
	switch it.content.kind {
	case jsonspan.String, jsonspan.Array:
	case jsonspan.Invalid:
		c.missing(path + ".content")
	default:
		c.wrongType(path+".content", "one of an array of objects or string", it.content)
	}
	for k := range it.parts {
		c.part(fmt.Sprintf("%s.content[%d]", path, k), role, c.text(it.parts[k].typ))
	}
}

func (c *itemChecker) part(path, role, typ string) {
	switch {
	case role == "assistant" && strings.HasPrefix(typ, "input_"):
		c.report("part-type", path, "Invalid value: '%s'. Supported values are: 'output_text' and 'refusal'.", typ)
	case typ == "text" || typ == "image_url":
		c.report("part-type", path, "Invalid value: '%s'. Supported values are: 'input_text', 'input_image', 'output_text', "+
			"'refusal', 'input_file', 'computer_screenshot', and 'summary_text'.", typ)
	}
}

func (c *itemChecker) call(path, typ string, it *item) {
	c.callID(path, it.callID)
	switch typ {
	case "function_call":
		c.name(path+".name", it.name, 0)
		c.required(path+".arguments", it.arguments)
	case "custom_tool_call":
		c.required(path+".name", it.name)
		c.required(path+".input", it.input)
	}
	id := c.text(it.callID)
	if id == "" {
		return
	}
	n := c.calls[id]
	if n == nil {
		n = &callNote{id: id}
		c.calls[id] = n
		c.order = append(c.order, n)
	}
	n.typ = typ
	n.open++
}

func (c *itemChecker) callID(path string, v value) {
	if c.required(path+".call_id", v); v.isString() {
		c.atMost(path+".call_id", c.text(v), maxItemID)
	}
}

// words is a type as the provider's messages say it.
func words(typ string) string { return strings.ReplaceAll(typ, "_", " ") }

func (c *itemChecker) output(path, typ string, it *item) {
	idValue := it.callID
	if typ == "local_shell_call_output" && !idValue.given() {
		idValue = it.id
	} else {
		c.callID(path, it.callID)
	}
	if it.output.kind == jsonspan.Invalid {
		c.missing(path + ".output")
	}
	id := c.text(idValue)
	n := c.calls[id]
	switch {
	case id == "":
	case n == nil && c.r.Partial():
	case n == nil || n.typ+"_output" != typ:
		c.report("tool-result-orphan", "input", "No tool call found for %s with call_id %s.", words(typ), id)
	case n.open == 0:
		c.report("tool-result-duplicate", "input",
			"Duplicate %s for call_id '%s'. Each %s must have exactly one matching %[1]s", typ, id, n.typ)
	default:
		n.open--
		n.answered++
	}
}

// unanswered reports calls without output.
func (c *itemChecker) unanswered() {
	for _, n := range c.order {
		if n.open > 0 {
			c.report("tool-result-missing", "input", "No tool output found for %s %s.", words(n.typ), n.id)
		}
	}
}

// stored checks that what is only referred to is there to be referred to.
func (c *itemChecker) stored(typ string, it *item) {
	id := c.text(it.id)
	if c.r.Store || id == "" {
		return
	}
	bare := typ == "reasoning" && (!it.encrypted.isString() || it.encrypted.Len() <= len(`""`)) && strings.HasPrefix(id, "rs_")
	if bare || typ == "item_reference" {
		c.report("item-not-stored", "input", "Item with id '%s' not found. Items are not persisted when `store` is set to false. "+
			"Try again with `store` set to true, or remove this item from your input.", id)
	}
}

// reasoning checks that behind each reasoning item comes what it was reasoned for.
func (c *itemChecker) reasoning() {
	for i, n := range c.r.items {
		if n.typ != "reasoning" || n.id == "" {
			continue
		}
		if i+1 == len(c.r.items) || c.r.Messages[i+1].Role() != pleat.RoleAssistant {
			c.report("reasoning-unfollowed", "input", "Item '%s' of type 'reasoning' was provided without its required following item.", n.id)
		}
	}
}

// minOutput is the least that max_output_tokens may be.
const minOutput = 16

func (c *itemChecker) params(m pleat.Model) {
	r, p := c.r, &c.r.p
	c.common(&r.Request)
	c.tools(r.Tools, false)
	if p.previous.given() && p.conversation.given() {
		c.report("history-twice", "previous_response_id",
			"Mutually exclusive parameters: ''. Ensure you are only providing one of: 'pre..._id' or 'conversation'.")
	}
	if len(r.items) == 0 && !r.Partial() && !p.template.given() {
		c.report("input-empty", "input", "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.")
	}
	if p.maxOutput.kind == jsonspan.Number && r.MaxTokens < minOutput {
		c.report("max-tokens-small", "max_output_tokens",
			"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= %d, but got %d instead.", minOutput, r.MaxTokens)
	}
	if m.Refuses.Temperature {
		c.refused("temperature", p.temperature)
		c.refused("top_p", p.topP)
	}
}

func (c *itemChecker) refused(name string, v value) {
	if v.given() && !c.isOne(v) {
		c.report(strings.ReplaceAll(name, "_", "-")+"-refused", name, "Unsupported parameter: '%s' is not supported with this model.", name)
	}
}
