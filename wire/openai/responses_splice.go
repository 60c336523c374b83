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
// shows of the same answer lose their ids, as if the client had written them.
//
// A reasoning item whose following item is left out is not repaired, nor one that is left out although an
// item that needs its id is shown: [ResponsesRequest.Check] and [transcript.View.Check] find these.
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
	view, more, err := r.prepare(v)
	if err != nil {
		return nil, fmt.Errorf("splice responses request: %w", err)
	}
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
func (r *ResponsesRequest) prepare(v transcript.View) (_ transcript.View, more []jsonspan.Edit, err error) {
	plain := transcript.View{Messages: slices.Clone(v.Messages)}
	v.Messages = slices.Clone(v.Messages)
	for i, m := range v.Messages {
		plain.Messages[i].Edits = nil
		if m.Source < 0 || m.Source >= len(r.items) {
			continue
		}
		if note := r.items[m.Source]; note.form != formString {
			v.Messages[i].Edits = slices.Clone(m.Edits)
			for k, e := range m.Edits {
				v.Messages[i].Edits[k].Text = note.wrap(e.Text)
			}
		}
	}
	shown, err := plain.Resolve(transcript.NewTranscript(r.Messages...))
	for i, m := range shown {
		if at := v.Messages[i].Source; at >= 0 && m.Raw() != r.Messages[at].Raw() {
			more = append(more, wire.Without(r.body.Data, r.body.Elements[at].Span, "id")...)
		}
	}
	return v, more, err
}
