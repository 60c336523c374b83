package openai

import (
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
		return nil, fmt.Errorf("splice responses request: input is a string: %w", transcript.ErrBadView)
	}
	if !v.IsWhole(len(r.Messages)) && !r.isString && r.body.Array.IsZero() {
		return nil, fmt.Errorf("splice responses request: there is no input: %w", transcript.ErrBadView)
	}
	body, view := r.prepare(v)
	enc := itemEncoder{}
	out, err := body.Splice(view, wire.Made{Encode: func(m transcript.Message) ([]byte, error) {
		if enc.calls == nil {
			r.callTypes(&enc)
		}
		enc.out = nil
		err := enc.message(m)
		return joined(enc.out, err)
	}}, r.moreTools(tools, (*writer).responsesTool)...)
	if err != nil {
		return nil, fmt.Errorf("splice responses request: %w", err)
	}
	inInput := slices.ContainsFunc(r.items, func(n itemNote) bool { return n.typ == typeAdditionalTools })
	if inInput && len(tools) > 0 && r.p.tools.Kind != jsonspan.Array {
		var w writer
		w.tools(tools, (*writer).responsesTool)
		out = jsonspan.Value(out).Set(w.b, "tools")
	}
	return out, nil
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

// prepare adapts a view: texts for items that want more than a string get their form,
// and items whose reasoning is left out lose their ids.
func (r *ResponsesRequest) prepare(v transcript.View) (*wire.Body, transcript.View) {
	lost := r.orphaned(v)
	body, copied := &r.body, false
	for i, m := range v.Messages {
		if m.Source < 0 || m.Source >= len(r.items) {
			continue
		}
		note := r.items[m.Source]
		wraps := note.form != formString && len(m.Edits) > 0
		drops := lost[m.Source] && note.id != "" && canLoseID(note.typ)
		if !wraps && !drops {
			continue
		}
		if !copied {
			copied = true
			v.Messages = slices.Clone(v.Messages)
		}
		edits := slices.Clone(m.Edits)
		if wraps {
			for k := range edits {
				edits[k].Text = note.wrap(edits[k].Text)
			}
		}
		if drops && fits(edits, body.Elements[m.Source]) {
			if body == &r.body {
				body = &wire.Body{Data: r.body.Data, Array: r.body.Array, Elements: slices.Clone(r.body.Elements)}
			}
			edits = anonymous(body, m.Source, edits)
		}
		v.Messages[i].Edits = edits
	}
	return body, v
}

// fits reports whether edits name existing blocks. The splice refuses those that do not, and
// they must not meet the places that anonymous adds.
func fits(edits []transcript.BlockEdit, e wire.Element) bool {
	return !slices.ContainsFunc(edits, func(ed transcript.BlockEdit) bool { return ed.Block >= len(e.Places) })
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

// anonymous extends edits so that an item loses its id members. To the splice, the members
// of the item look like blocks of another list, some of which are dropped.
func anonymous(body *wire.Body, i int, edits []transcript.BlockEdit) []transcript.BlockEdit {
	e := &body.Elements[i]
	e.Places = slices.Clone(e.Places)
	item := jsonspan.Value(e.Span.Of(body.Data))
	for key, v := range item.Members() {
		if jsonspan.KeyIs(item, key, "id") {
			edits = append(edits, transcript.BlockEdit{Block: len(e.Places), Drop: true})
		}
		member := jsonspan.Span{Start: key.Start, End: v.End}
		e.Places = append(e.Places, wire.Place{Whole: member, List: listMembers})
	}
	return edits
}
