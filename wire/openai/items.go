package openai

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

// item is what the scanner notes about an item.
type item struct {
	whole, typ, role, id, callID, name value
	content, output, summary           value
	arguments, input                   value // of function and custom tool calls
	action, operation                  value // of shell and patch calls
	command                            value // inside action: what to run
	diff                               value // inside operation
	encrypted                          value
	parts, outputs, summaries          []part
}

var itemNotes = []string{"type", "role", "id", "call_id", "name", "arguments", "input", "encrypted_content"}

func (s *scanner) item(it *item) {
	*it = item{parts: it.parts[:0], outputs: it.outputs[:0], summaries: it.summaries[:0]}
	it.whole = s.fields(func(key string) {
		switch key {
		case "content":
			it.content, it.parts = s.parts(it.parts[:0])
		case "output":
			it.output, it.outputs = s.parts(it.outputs[:0])
		case "summary":
			it.summary, it.summaries = s.parts(it.summaries[:0])
		case "action":
			it.command = value{}
			it.action = s.inside(&it.command, "command", "commands")
		case "operation":
			it.diff = value{}
			it.operation = s.inside(&it.diff, "diff")
		default:
			s.note(key, itemNotes, &it.typ, &it.role, &it.id, &it.callID, &it.name, &it.arguments,
				&it.input, &it.encrypted)
		}
	})
}

// inside passes over an object and notes the member that has one of the names.
func (s *scanner) inside(member *value, names ...string) value {
	return s.fields(func(key string) {
		if v := s.value(); slices.Contains(names, key) {
			*member = v
		}
	})
}

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
func (s *scanner) itemType(it *item) string {
	if !it.typ.given() && it.role.isString() {
		return "message"
	}
	return s.text(it.typ)
}

func (b *builder) item(it *item) itemNote {
	b.Clear()
	note := itemNote{typ: b.itemType(it), id: b.text(it.id)}
	role := transcript.RoleAssistant
	switch itemTypes[note.typ] {
	case itemMessage:
		role = transcript.Role(b.text(it.role))
		b.content(it.content, it.parts)
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
		b.Add(transcript.Opaque{Type: note.typ, Stands: stands, Raw: b.raw(it.whole)}, wire.Place{})
	}
	b.Message(role, transcript.FormatResponses, it.whole.Span)
	return note
}

// reasoning decodes a reasoning item. Its text is the summary and, where a server shows it,
// the reasoning itself.
func (b *builder) reasoning(it *item) {
	th := transcript.Thinking{Signature: b.text(it.encrypted), Raw: b.raw(it.whole)}
	var texts []value
	for _, list := range [][]part{it.summaries, it.parts} {
		for i := range list {
			if v := b.said(&list[i]); v.isString() {
				texts = append(texts, v)
			}
		}
	}
	switch len(texts) {
	case 0:
		th.Redacted = th.Signature != ""
	case 1:
		th.Text = b.scanner.content(texts[0])
	default:
		joined := b.text(texts[0])
		for _, v := range texts[1:] {
			joined += "\n" + b.text(v)
		}
		th.Text = transcript.Plain(joined)
	}
	b.Add(th, wire.Place{})
}

// call decodes a call. Only function and custom tools have names; the others get their type
// without _call.
func (b *builder) call(typ string, it *item) form {
	name := cmp.Or(b.text(it.name), strings.TrimSuffix(typ, "_call"))
	c := transcript.ToolCall{ID: b.text(it.callID), Name: name, Raw: b.raw(it.whole)}
	var place wire.Place
	f := formString
	switch typ {
	case "function_call":
		c.Input, place = b.scanner.content(it.arguments), stringPlace(it.arguments)
	case "custom_tool_call":
		c.Input, place = b.scanner.content(it.input), stringPlace(it.input)
	case "apply_patch_call":
		c.Input, place = b.scanner.content(it.operation), stringPlace(it.diff)
	default:
		c.Input = b.scanner.content(it.action)
		if it.command.kind == jsonspan.Array {
			place, f = wire.Place{Content: it.command.Span, JSON: true}, formList
		}
	}
	b.Add(c, place)
	return f
}

func (b *builder) output(it *item, note *itemNote) {
	id := it.callID
	if note.typ == "local_shell_call_output" && !id.given() {
		id = it.id // the only output that names its call this way
	}
	r := b.result(b.text(id), it.output, it.outputs, it.whole)
	place := wire.Place{Content: contentSpan(it.output)}
	switch note.typ {
	case "shell_call_output":
		r.Parts = b.shellOutput(it.outputs)
		if !place.Content.IsZero() {
			place.JSON, note.form, note.outcome = true, formShellOutput, b.outcome(it.outputs)
		}
	case "computer_call_output": // a screenshot and nothing else
		place = wire.Place{}
	}
	b.Add(r, place)
}

// outcome is how the last of the commands ended, which a stub must not change.
func (b *builder) outcome(outputs []part) string {
	if n := len(outputs); n > 0 && outputs[n-1].outcome.kind == jsonspan.Object {
		return b.raw(outputs[n-1].outcome)
	}
	return `{"type":"exit","exit_code":0}`
}

// shellOutput decodes what commands printed as text.
func (b *builder) shellOutput(outputs []part) transcript.Blocks {
	var list []transcript.Block
	for i := range outputs {
		for _, v := range [...]value{outputs[i].stdout, outputs[i].stderr} {
			if v.isString() && v.Len() > len(`""`) {
				list = append(list, transcript.Text{Text: b.scanner.content(v), Raw: b.raw(v)})
			}
		}
	}
	return transcript.BlocksOf(list...)
}
