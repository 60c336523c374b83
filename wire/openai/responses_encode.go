package openai

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// EncodeResponses makes the body of a Responses request. The same request always gives
// the same bytes. The provider is asked not to store the response and to return its
// reasoning encrypted, so that the conversation is whole with the caller.
//
// Items of this format go as they came, with their ids. A caller that leaves out a reasoning item without
// [transcript.View.Resolve] writes the items that followed it [transcript.Message.Unnamed]. Other messages become
// items: text becomes message items, each call and each result an item of its own. Thinking
// that is not of this wire is left out. A block that has no form on this wire becomes a short note.
func EncodeResponses(req *model.Request) ([]byte, error) {
	return encodeResponses(req, true)
}

// encodeResponses is [EncodeResponses] for a model that reasons or does not: models that do
// not reason refuse a request for encrypted reasoning.
func encodeResponses(req *model.Request, reasons bool) ([]byte, error) {
	var w writer
	w.raw("{").key("model").str(req.Model)
	if req.System != "" {
		w.key("instructions").str(req.System)
	}
	w.key("input").raw("[")
	e := itemEncoder{calls: make(map[string]string)}
	for _, m := range req.Messages {
		e.message(m)
	}
	for _, el := range e.out {
		w.raw(string(el))
	}
	w.end("]")
	w.options(req, "max_output_tokens", (*writer).responsesTool)
	w.key("store").raw("false")
	if reasons {
		w.key("include").raw(`["reasoning.encrypted_content"]`)
	}
	return w.end("}").b, nil
}

// EncodeItems makes the items that stand for a message.
func EncodeItems(m transcript.Message) [][]byte {
	e := itemEncoder{calls: make(map[string]string)}
	e.message(m)
	return e.out
}

// responsesTool writes a tool definition: as it came if it came off this wire.
func (w *writer) responsesTool(t model.Tool) {
	own := jsonspan.Value(t.Raw)
	typ, foreign := own.Get("type").Text(), isOfChat(t.Raw) || own.Get("input_schema") != nil
	if !foreign && typ != "" &&
		(t.Name == typ || t.Schema != "" || typ == "custom" || own.Get("server_label") != nil) &&
		own.Valid(jsonspan.Object) == nil {
		w.raw(t.Raw)
		return
	}
	w.raw("{").key("type").str("function").key("name").str(t.Name)
	if t.Description != "" {
		w.key("description").str(t.Description)
	}
	// Without strict the provider makes every property required.
	w.key("parameters").raw(schema(t)).key("strict").raw("false").end("}")
}

// itemEncoder turns messages into items. An output's type has to be its call's, so it
// remembers the types of the calls that were not functions, or are functions only here.
type itemEncoder struct {
	out   [][]byte
	calls map[string]string // call id → type
}

// sawCall remembers the type of a call that goes out as it came.
func (e *itemEncoder) sawCall(id, typ string) {
	if typ == "function_call" {
		delete(e.calls, id)
	} else {
		e.calls[id] = typ
	}
}

func (e *itemEncoder) message(m transcript.Message) {
	if m.Format() == transcript.FormatResponses && m.Raw() != "" && e.fits(m) {
		e.raw(m)
		return
	}
	var said []transcript.Block
	for _, b := range m.Blocks().All() {
		switch b.(type) {
		case transcript.Text, transcript.Image, transcript.Opaque:
			said = append(said, b)
		default:
			e.said(m.Role(), said)
			said = said[:0]
			e.block(b)
		}
	}
	e.said(m.Role(), said)
}

// fits reports whether a message's results are of the type that their calls were written
// as. A custom tool's call that was edited has become a function's.
func (e *itemEncoder) fits(m transcript.Message) bool {
	for _, b := range m.Blocks().All() {
		if r, ok := b.(transcript.ToolResult); ok && !e.answers(r) {
			return false
		}
	}
	return true
}

// answers reports whether a result, as it came, is one for its call as it was written.
func (e *itemEncoder) answers(r transcript.ToolResult) bool {
	call, typ := e.calls[r.CallID], rawItemType(r.Raw)
	return itemTypes[typ] == itemOutput && (call == "" || typ == call+"_output")
}

// raw adds a message of this wire as it came.
func (e *itemEncoder) raw(m transcript.Message) {
	raw := []byte(m.Raw())
	if strings.HasPrefix(m.Raw(), `"`) { // input that was a string
		var w writer
		w.raw("{").key("type").str("message").key("role").str("user").key("content").raw(m.Raw()).end("}")
		raw = w.b
	}
	e.out = append(e.out, raw)
	for _, b := range m.Blocks().All() {
		if c, ok := b.(transcript.ToolCall); ok {
			e.sawCall(c.ID, rawItemType(c.Raw))
		}
	}
}

// rawItemType returns the type of an item of this wire that has a call id or is reasoning, ""
// for anything else.
func rawItemType(raw string) string {
	item := jsonspan.Value(raw)
	typ := item.Get("type").Text()
	isItem := itemTypes[typ] != itemOpaque && (item.Get("call_id") != nil || typ == "reasoning")
	if !isItem || item.Valid(jsonspan.Object) != nil {
		return ""
	}
	return typ
}

// said adds a message item for text and images.
func (e *itemEncoder) said(role transcript.Role, blocks []transcript.Block) {
	if len(blocks) == 0 {
		return
	}
	names := inputParts
	switch role {
	case transcript.RoleAssistant:
		names = outputParts
	case transcript.RoleTool:
		role = transcript.RoleUser
	}
	var w writer
	w.raw("{").key("type").str("message").key("role").str(string(role)).key("content").content(blocks, names)
	e.out = append(e.out, w.end("}").b)
}

// block adds an item for a block that is one by itself.
func (e *itemEncoder) block(b transcript.Block) {
	var w writer
	switch b := b.(type) {
	case transcript.Thinking:
		if rawItemType(b.Raw) != "reasoning" {
			return // another provider's, which this one cannot read
		}
		w.raw(b.Raw)
	case transcript.ToolCall:
		if typ := rawItemType(b.Raw); itemTypes[typ] == itemCall {
			e.sawCall(b.ID, typ)
			w.raw(b.Raw)
			break
		}
		e.calls[b.ID] = "function_call"
		w.raw("{").key("type").str("function_call").key("call_id").str(b.ID)
		w.key("name").str(b.Name).key("arguments").text(arguments(b)).end("}")
	case transcript.ToolResult:
		e.result(&w, b)
	}
	e.out = append(e.out, w.b)
}

func (e *itemEncoder) result(w *writer, r transcript.ToolResult) {
	if e.answers(r) {
		w.raw(r.Raw)
		return
	}
	typ := "function_call"
	if t := e.calls[r.CallID]; t != "" {
		typ = t
	}
	w.raw("{").key("type").str(typ + "_output").key("call_id").str(r.CallID).key("output")
	if typ == "shell_call" {
		note := itemNote{form: formShellOutput, outcome: `{"type":"exit","exit_code":0}`}
		w.raw(note.wrap(r.Text()))
	} else if r.Parts.Len() == 0 {
		w.str("")
	} else {
		w.content(r.Parts.List(), inputParts)
	}
	w.end("}")
}
