package openai

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Splice returns the body with the view's messages in place of its own: the sources of
// the view are indices into Messages. The whole view returns the body itself. Messages
// that the view adds are encoded as by [EncodeItems].
//
// Everything that the view does not change stays byte for byte, with one repair. The
// provider knows items by their id, and refuses one that followed a reasoning item if that
// reasoning item is missing. So where a view leaves out a reasoning item, the items that it
// shows of the same answer lose their ids, as if the client had written them. Types that
// need their id keep it, which the provider may refuse.
//
// The reverse, a reasoning item whose following item is left out, is not repaired;
// [ResponsesRequest.Check] finds it.
//
// The tools are added after the request's own. A request without a list of tools gets one if
// its tools are in its input (see [ResponsesRequest.InputTools]), else none.
func (r *ResponsesRequest) Splice(v transcript.View, tools ...model.Tool) ([]byte, error) {
	if r.isString && (len(v.Messages) != 1 || v.Messages[0].Source != 0) {
		list, err := r.listed()
		if err != nil {
			return nil, err
		}
		return list.Splice(v, tools...)
	}
	if !v.IsWhole(len(r.Messages)) && !r.isString && r.body.Array.IsZero() {
		return nil, fmt.Errorf("splice responses request: there is no input: %w", transcript.ErrBadView)
	}
	view, more := r.prepare(v)
	enc := itemEncoder{}
	out, err := r.body.Splice(view, wire.Made{Encode: func(m transcript.Message) ([]byte, error) {
		if enc.calls == nil {
			r.callTypes(&enc)
		}
		enc.out = nil
		enc.message(m)
		return joined(enc.out)
	}}, append(more, r.moreTools(tools, (*writer).responsesTool)...)...)
	if err != nil {
		return nil, fmt.Errorf("splice responses request: %w", err)
	}
	inInput := slices.ContainsFunc(r.items, func(n itemNote) bool { return n.typ == typeAdditionalTools })
	if inInput && len(tools) > 0 && r.p.tools.Kind != jsonspan.Array {
		var w writer
		w.tools(tools, (*writer).responsesTool)
		if r.p.tools.Len() > 0 { // null
			return jsonspan.Value(out).Set(w.b, "tools"), nil
		}
		begin := bytes.IndexByte(out, '{') + 1
		out = slices.Concat(out[:begin], []byte(`"tools":`), w.b, []byte{','}, out[begin:]) // the input stands behind
	}
	return out, nil
}

// listed is the request with the message that its input stands for in a list.
func (r *ResponsesRequest) listed() (*ResponsesRequest, error) {
	at, data := r.body.Elements[0].Span, r.body.Data
	return DecodeResponses(slices.Concat(
		data[:at.Start], []byte(`[{"role":"user","content":`), at.Of(data), []byte("}]"), data[at.End:]))
}

// callTypes tells an encoder which calls of the request are not function calls.
func (r *ResponsesRequest) callTypes(e *itemEncoder) {
	e.calls = make(map[string]string)
	for i, m := range r.Messages {
		if itemTypes[r.items[i].typ] != itemCall {
			continue
		}
		if c, ok := m.Blocks().At(0).(transcript.ToolCall); ok {
			e.sawCall(c.ID, r.items[i].typ)
		}
	}
}

// prepare adapts a view: texts for items that want more than a string get their form. The edits take
// away the ids of items whose reasoning is left out.
func (r *ResponsesRequest) prepare(v transcript.View) (_ transcript.View, more []jsonspan.Edit) {
	lost := r.orphaned(v)
	v.Messages = slices.Clone(v.Messages)
	for i, m := range v.Messages {
		if m.Source < 0 || m.Source >= len(r.items) {
			continue
		}
		note := r.items[m.Source]
		if note.form != formString {
			v.Messages[i].Edits = slices.Clone(m.Edits)
			for k, e := range m.Edits {
				v.Messages[i].Edits[k].Text = note.wrap(e.Text)
			}
		}
		if lost[m.Source] && note.id != "" && canLoseID(note.typ) {
			more = append(more, wire.Without(r.body.Data, r.body.Elements[m.Source].Span, "id")...)
		}
	}
	return v, more
}

// orphaned says which of the model's items followed a reasoning item that the view leaves out: one of the
// nearest run of them, unless somebody else spoke in between. Tool outputs do not end an answer, because
// clients put them right after their calls.
func (r *ResponsesRequest) orphaned(v transcript.View) []bool {
	shown, lost := make([]bool, len(r.items)), make([]bool, len(r.items))
	for _, m := range v.Messages {
		if m.Source >= 0 && m.Source < len(shown) {
			shown[m.Source] = true
		}
	}
	inRun, hidden := false, false // hidden: one of the newest run is
	for i, n := range r.items {
		switch role := r.Messages[i].Role(); {
		case n.typ == "reasoning":
			hidden = !shown[i] || hidden && inRun
		case n.typ == "compaction": // it replaces everything before it
			hidden = false
		case role == transcript.RoleAssistant:
			lost[i] = hidden
		case role != transcript.RoleTool:
			hidden = false
		}
		inRun = n.typ == "reasoning"
	}
	return lost
}

// Unnamed returns an item without its id, where its type allows that. The provider then takes
// it whether or not the reasoning that it followed is shown.
func Unnamed(item transcript.Message) (transcript.Message, error) {
	raw := jsonspan.Value(item.Raw())
	typ := raw.Get("type").Text()
	if typ == "" && raw.Get("role").Kind() == jsonspan.String {
		typ = "message"
	}
	if raw.Get("id").Text() == "" || !canLoseID(typ) {
		return item, nil
	}
	return DecodeItem(raw.Without("id"))
}

// canLoseID reports whether items of a type may be sent without an id.
func canLoseID(typ string) bool {
	switch typ {
	case "message", "function_call", "custom_tool_call", "local_shell_call", "shell_call",
		"apply_patch_call", "web_search_call", "tool_search_call":
		return true
	}
	return false
}
