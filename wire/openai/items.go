package openai

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

// form says how text is put into an item whose wire form is more than a string.
type form uint8

const (
	formString      form = iota // a string, or nothing can be put there
	formList                    // a list of one string: a shell's commands
	formShellOutput             // a list of one output: stdout, stderr and outcome
)

// wrap puts text into the item's form.
func (n itemNote) wrap(text string) string {
	var w writer
	switch n.form {
	case formList:
		w.raw("[").str(text).end("]")
	case formShellOutput:
		w.raw("[{").key("stdout").str(text).key("stderr").str("")
		w.key("outcome").raw(n.outcome).end("}]")
	default:
		return text
	}
	return string(w.b)
}

// itemKind is how this package treats an item.
type itemKind uint8

const (
	itemOpaque itemKind = iota
	itemMessage
	itemReasoning
	itemCall
	itemOutput
)

// itemTypes are the types that are not opaque. An output's type is its call's with _output
// appended.
var itemTypes = map[string]itemKind{
	"message":                 itemMessage,
	"reasoning":               itemReasoning,
	"function_call":           itemCall,
	"custom_tool_call":        itemCall,
	"local_shell_call":        itemCall,
	"shell_call":              itemCall,
	"apply_patch_call":        itemCall,
	"computer_call":           itemCall,
	"function_call_output":    itemOutput,
	"custom_tool_call_output": itemOutput,
	"local_shell_call_output": itemOutput,
	"shell_call_output":       itemOutput,
	"apply_patch_call_output": itemOutput,
	"computer_call_output":    itemOutput,
}

// opaqueRole says who speaks in an opaque item. Most are the model's: searches, server-side
// tools, compactions, references.
func opaqueRole(typ string) transcript.Role {
	switch typ {
	case "mcp_approval_response", "compaction_trigger":
		return transcript.RoleUser
	case typeAdditionalTools, "configuration_update":
		return transcript.RoleDeveloper
	case "program_output": // runs at the provider
		return transcript.RoleAssistant
	}
	if strings.HasSuffix(typ, "_output") {
		return transcript.RoleTool
	}
	return transcript.RoleAssistant
}

// itemType returns the item's type. An item with a role and no type is a message.
func (s *scanner) itemType(it object) string {
	if !it.Get("type").Given() && it.Get("role").IsString() {
		return "message"
	}
	return s.Text(it.Get("type"))
}

func (b builder) item(it object) itemNote {
	b.Clear()
	note := itemNote{typ: b.itemType(it), id: b.Text(it.Get("id"))}
	role := transcript.RoleAssistant
	switch itemTypes[note.typ] {
	case itemMessage:
		role = transcript.Role(b.Text(it.Get("role")))
		b.content(it.Get("content"))
	case itemReasoning:
		b.reasoning(it)
	case itemCall:
		note.form = b.call(note.typ, it)
	case itemOutput:
		role = transcript.RoleTool
		b.output(it, &note)
	default:
		role = opaqueRole(note.typ)
		// Changes of the tools and settings, and the provider's own memory of what came before.
		stands := role == transcript.RoleDeveloper || note.typ == "compaction"
		o := transcript.Opaque{
			Type: note.typ, Stands: stands, Refers: note.typ == "item_reference", Raw: b.Raw(it.Value),
			Bound: role == transcript.RoleAssistant && note.id != "" && !stands && needsID(note.typ),
		}
		o.Opens, o.Closes = b.pair(note.typ, it)
		b.Add(o, wire.Place{})
	}
	b.Message(role, transcript.FormatResponses, it.Value)
	return note
}

// needsID reports whether items of a type, if they are the model's, may not be sent without their ids.
func needsID(typ string) bool {
	switch typ {
	case "reasoning", "message", "function_call", "custom_tool_call", "local_shell_call", "shell_call",
		"apply_patch_call", "web_search_call", "tool_search_call":
		return false
	}
	return true
}

// pair returns the keys of opaque items that come in pairs.
func (b builder) pair(typ string, it object) (opens, closes string) {
	switch typ {
	case "mcp_approval_request":
		return "approval " + b.Text(it.Get("id")), ""
	case "mcp_approval_response":
		return "", "approval " + b.Text(it.Get("approval_request_id"))
	case "tool_search_call":
		return "search " + b.Text(it.Get("call_id")), ""
	case "tool_search_output":
		return "", "search " + b.Text(it.Get("call_id"))
	case "program":
		return "program " + b.Text(it.Get("call_id")), ""
	case "program_output":
		return "", "program " + b.Text(it.Get("call_id"))
	}
	return "", ""
}

// reasoning decodes a reasoning item. Its text is the summary and, where a server shows it,
// the reasoning itself.
func (b *builder) reasoning(it object) {
	th := transcript.Thinking{Signature: b.Text(it.Get("encrypted_content")), Raw: b.Raw(it.Value)}
	var texts []value
	for _, p := range slices.Concat(b.List(it.Get("summary")), b.List(it.Get("content"))) {
		if v := b.said(p); v.IsString() {
			texts = append(texts, v)
		}
	}
	switch len(texts) {
	case 0:
		th.Redacted = th.Signature != ""
	case 1:
		th.Text = b.Content(texts[0])
	default:
		joined := b.Text(texts[0])
		for _, v := range texts[1:] {
			joined += "\n" + b.Text(v)
		}
		th.Text = transcript.Plain(joined)
	}
	b.Add(th, wire.Place{})
}

// call decodes a call. Only function and custom tools have names; the others get their type
// without _call.
func (b *builder) call(typ string, it object) form {
	name := cmp.Or(b.Text(it.Get("name")), strings.TrimSuffix(typ, "_call"))
	c := transcript.ToolCall{ID: b.Text(it.Get("call_id")), Name: name, Bound: needsID(typ), Raw: b.Raw(it.Value)}
	var input, edited value
	var place wire.Place
	f := formString
	switch typ {
	case "function_call":
		input = it.Get("arguments")
		edited = input
	case "custom_tool_call":
		input = it.Get("input")
		edited = input
	case "apply_patch_call":
		input = it.Get("operation")
		edited = b.Object(input).Get("diff")
	default:
		input = it.Get("action")
		action := b.Object(input)
		command := action.Get("command")
		if !command.Given() {
			command = action.Get("commands")
		}
		if command.Kind == jsonspan.Array {
			place, f = wire.Place{Content: command.Span, JSON: true}, formList
		}
	}
	if edited.IsString() {
		place.Content = edited.Span
	}
	c.Input = b.Content(input)
	b.Add(c, place)
	return f
}

func (b *builder) output(it object, note *itemNote) {
	id, output := it.Get("call_id"), it.Get("output")
	if note.typ == "local_shell_call_output" && !id.Given() {
		id = it.Get("id") // the only output that names its call this way
	}
	r := b.result(b.Text(id), output, it.Value)
	place := wire.Place{Content: contentSpan(output)}
	switch note.typ {
	case "shell_call_output":
		r.Parts = b.shellOutput(b.List(output))
		if !place.Content.IsZero() {
			place.JSON, note.form, note.outcome = true, formShellOutput, b.outcome(b.List(output))
		}
	case "computer_call_output": // a screenshot and nothing else
		place = wire.Place{}
	}
	b.Add(r, place)
}

// outcome is how the last of the commands ended, which a stub must not change.
func (b *builder) outcome(outputs []object) string {
	if n := len(outputs); n > 0 && outputs[n-1].Get("outcome").Kind == jsonspan.Object {
		return b.Raw(outputs[n-1].Get("outcome"))
	}
	return `{"type":"exit","exit_code":0}`
}

// shellOutput decodes what commands printed as text.
func (b *builder) shellOutput(outputs []object) transcript.Blocks {
	var list []transcript.Block
	for _, o := range outputs {
		for _, v := range [...]value{o.Get("stdout"), o.Get("stderr")} {
			if v.IsString() && v.Len() > len(`""`) {
				list = append(list, transcript.Text{Text: b.Content(v), Raw: b.Raw(v)})
			}
		}
	}
	return transcript.BlocksOf(list...)
}
