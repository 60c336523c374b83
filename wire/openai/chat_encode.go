package openai

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// EncodeChat makes the body of a Chat Completions request. The same request always
// gives the same bytes.
//
// Messages of this format go as they came. All others are put into a form that the provider
// takes: assistant messages that follow each other become one; each tool result becomes a
// tool message of its own, right after its call; images in results, which tool messages
// cannot hold, follow in a user message; thinking is sent as reasoning_content if it is
// plain text, and signed thinking of other providers is left out. A block that has no form
// on this wire becomes a short note.
//
// A streaming request asks for its usage.
func EncodeChat(req *model.Request) ([]byte, error) {
	return encodeChat(req, "max_completion_tokens")
}

// encodeChat is [EncodeChat] with the server's name for the limit of the answer: the provider
// has renamed it, most others have not.
func encodeChat(req *model.Request, maxTokens string) ([]byte, error) {
	var w writer
	w.raw("{").key("model").str(req.Model).key("messages").raw("[")
	if req.System != "" {
		w.raw("{").key("role").str("system").key("content").str(req.System).end("}")
	}
	e := chatEncoder{}
	for _, m := range arrange(req.Messages) {
		e.message(m)
	}
	e.flush()
	for _, el := range e.out {
		w.raw(string(el))
	}
	w.end("]")
	w.options(req, maxTokens, (*writer).chatTool)
	if req.Stream {
		w.key("stream_options").raw(`{"include_usage":true}`)
	}
	return w.end("}").b, nil
}

// EncodeChatMessage makes the elements of the message array that stand for a message.
// Most are one element; a message with several tool results is one for each.
func EncodeChatMessage(m transcript.Message) [][]byte {
	e := chatEncoder{}
	e.message(m)
	e.flush()
	return e.out
}

// isOfChat reports whether the bytes of a call or a tool are of the Chat wire.
func isOfChat(raw string) bool {
	v := jsonspan.Value(raw)
	return (v.Get("function") != nil || v.Get("custom") != nil) && v.Valid(jsonspan.Object) == nil
}

// chatTool writes a tool definition: as it came if it came off this wire.
func (w *writer) chatTool(t model.Tool) {
	if isOfChat(t.Raw) {
		w.raw(t.Raw)
		return
	}
	w.raw("{").key("type").str("function").key("function").raw("{").key("name").str(t.Name)
	if t.Description != "" {
		w.key("description").str(t.Description)
	}
	w.key("parameters").raw(schema(t)).end("}}")
}

// chatEncoder turns messages into elements. Nothing may come between a call and its results,
// so other blocks of the results' messages wait until the results are over.
type chatEncoder struct {
	out     [][]byte
	waiting []transcript.Block
}

func (e *chatEncoder) flush() {
	if len(e.waiting) > 0 {
		e.says(transcript.RoleUser, e.waiting)
	}
	e.waiting = nil
}

// says adds a message that says something.
func (e *chatEncoder) says(role transcript.Role, blocks []transcript.Block) {
	var w writer
	w.raw("{").key("role").str(string(role)).key("content").content(blocks, chatParts)
	e.out = append(e.out, w.end("}").b)
}

func (e *chatEncoder) message(m transcript.Message) {
	s := sortBlocks(m)
	if len(s.results) == 0 || m.Role() == transcript.RoleAssistant {
		e.flush()
	}
	if isChat(m) {
		e.out = append(e.out, []byte(m.Raw()))
		return
	}
	for _, r := range s.results {
		e.result(r)
	}
	role := m.Role()
	if role == transcript.RoleTool {
		role = transcript.RoleUser
	}
	switch {
	case role == transcript.RoleAssistant || len(s.calls) > 0:
		e.assistant(s)
	case len(s.results) > 0:
		e.waiting = append(e.waiting, s.said...)
	case len(s.said) > 0:
		e.says(role, s.said)
	}
}

// result writes a tool message; its images wait.
func (e *chatEncoder) result(r transcript.ToolResult) {
	var texts []transcript.Block
	pictures := false
	for _, b := range r.Parts.All() {
		if b.Kind() == transcript.KindText {
			texts = append(texts, b)
			continue
		}
		if !pictures {
			pictures = true
			e.waiting = append(e.waiting, transcript.Say("Attached to the result of tool call "+r.CallID+":"))
		}
		e.waiting = append(e.waiting, b)
	}
	if len(texts) == 0 {
		text := ""
		if pictures {
			text = "(see attachment)"
		}
		texts = []transcript.Block{transcript.Say(text)}
	}
	var w writer
	if name, older := strings.CutPrefix(r.CallID, olderID); older {
		w.raw("{").key("role").str("function").key("name").str(name)
	} else {
		w.raw("{").key("role").str("tool").key("tool_call_id").str(r.CallID)
	}
	w.key("content").content(texts, chatParts)
	e.out = append(e.out, w.end("}").b)
}

func (e *chatEncoder) assistant(s sorted) {
	if len(s.said) == 0 && len(s.calls) == 0 {
		return // nothing but thinking: the provider wants words or calls
	}
	var w writer
	w.raw("{").key("role").str("assistant").key("content")
	if len(s.said) == 0 {
		w.raw("null")
	} else {
		w.content(s.said, chatParts)
	}
	if text := plainThinking(s.thinking); text != "" {
		w.key("reasoning_content").str(text)
	}
	if len(s.calls) == 1 && strings.HasPrefix(s.calls[0].ID, olderID) {
		w.key("function_call").raw("{").key("name").str(s.calls[0].Name)
		w.key("arguments").text(arguments(s.calls[0])).end("}")
	} else if len(s.calls) > 0 {
		w.key("tool_calls").raw("[")
		for _, c := range s.calls {
			w.chatCall(c)
		}
		w.end("]")
	}
	e.out = append(e.out, w.end("}").b)
}

// plainThinking joins the thinking that nobody signed: that of servers which want it
// back as reasoning_content.
func plainThinking(list []transcript.Thinking) string {
	var texts []string
	for _, th := range list {
		if th.Signature == "" && !th.Redacted && !th.Text.IsEmpty() {
			texts = append(texts, th.Text.String())
		}
	}
	return strings.Join(texts, "\n")
}

// chatCall writes a tool call: as it came if it came off this wire, which keeps custom
// tools and the members of other servers.
func (w *writer) chatCall(c transcript.ToolCall) {
	if isOfChat(c.Raw) {
		w.raw(c.Raw)
		return
	}
	w.raw("{").key("id").str(c.ID).key("type").str("function").key("function").raw("{")
	w.key("name").str(c.Name).key("arguments").text(arguments(c)).end("}}")
}
