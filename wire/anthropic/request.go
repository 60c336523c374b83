package anthropic

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Request is a decoded request body: what it says, and where in its bytes it says it.
// Everything in it shares the body's memory.
//
// A Request is not changed after [Decode]; any number of goroutines may use it.
type Request struct {
	Model    string
	System   []transcript.Block
	Tools    []model.Tool
	Messages []transcript.Message

	body   wire.Body
	top    topLevel
	shapes []shape // one a message
	marks  [sections][]mark
}

// topLevel has the spans of members that are read or changed later.
type topLevel struct{ tools, thinking, compaction jsonspan.Span }

// shape is what a message looked like apart from its blocks.
type shape struct {
	content      jsonspan.Kind // kind of the content value, Invalid when there is none
	outputConfig bool          // a message-level output_config: an effort change
}

// Earlier returns what [DecodeAfter] needs of the request, without its body.
func (r *Request) Earlier() *Request {
	return &Request{
		Messages: r.Messages, body: r.body.Earlier(), shapes: r.shapes,
		marks: [sections][]mark{sectionMessages: r.marks[sectionMessages]},
	}
}

// Matches returns how many of the request's messages a body begins with, at the same places.
func (r *Request) Matches(body []byte) int { return r.body.Matches(r.Messages, body) }

// Splice applies a view of r.Messages to the body. Everything that the view leaves
// alone stays byte for byte, and the whole view returns the body itself.
//
// A tool result's edited content becomes a string, whatever it was before. Blocks with
// signatures and opaque blocks can be dropped but not edited. Results that hold tool
// references can be neither, because later turns depend on the tools they load. The error
// is [transcript.ErrNotEditable].
//
// If the view has DropThinking, the request asks the provider to drop thinking that does not
// verify, unless its mode of thinking has no place for that; it then needs the header
// [BindingBeta]. If the view has a Marker, the request gets one more cache marker, unless it has none in its
// messages or already four; the lifetime is that of its own.
//
// The tools are added after the request's own. A request without a list of tools gets none.
func (r *Request) Splice(v transcript.View, tools ...model.Tool) ([]byte, error) {
	var more []jsonspan.Edit
	if len(tools) > 0 && !r.top.tools.IsZero() {
		more = append(more, wire.Insert(r.body.Data, r.top.tools, encodeTools(tools)))
	}
	made := wire.Made{Encode: EncodeMessage, Join: r.join}
	if v.Marker > 0 {
		at, with := r.marker(v)
		switch {
		case with == "":
		case v.Messages[at].Source < 0:
			m := v.Messages[at].Made
			raw, err := EncodeMessage(m)
			if err != nil {
				return nil, fmt.Errorf("splice request: %w", err)
			}
			v.Messages = slices.Clone(v.Messages)
			v.Messages[at].Made = transcript.WireMessage(
				m.Role(), transcript.FormatAnthropic, string(marking(raw, with)), m.Blocks().List()...)
		default:
			end := r.markPlace(v.Messages[at])
			more = append(more, jsonspan.Edit{Span: jsonspan.Span{Start: end, End: end}, With: []byte(with)})
		}
	}
	out, err := r.body.Splice(v, made, more...)
	if err != nil {
		return nil, fmt.Errorf("splice request: %w", err)
	}
	if v.DropThinking {
		out = r.askDrop(out)
	}
	return out, nil
}

// join puts results that a view adds in front of those that follow them in a message of the
// request: the results of one answer stand in one message.
func (r *Request) join(m transcript.Message, raw []byte, next int) (edit jsonspan.Edit, ok bool) {
	if next < 0 || next >= len(r.Messages) || !m.Blocks().Has(transcript.KindToolResult) ||
		!r.Messages[next].Blocks().Has(transcript.KindToolResult) {
		return edit, false
	}
	e := r.body.Elements[next]
	list := jsonspan.Value(raw).Get("content")
	if first := e.Places[0].Whole; !first.IsZero() && list.Valid(jsonspan.Array) == nil {
		at := e.Span.Start + first.Start
		with := append(bytes.Clone(list[1:len(list)-1]), ',')
		return jsonspan.Edit{Span: jsonspan.Span{Start: at, End: at}, With: with}, true
	}
	return edit, false
}

// askDrop asks the provider to drop thinking that was made after a different prefix. Where the
// model thinks although the request does not say so, it says so now: that is what it means.
func (r *Request) askDrop(body jsonspan.Value) []byte {
	thinks := func(m transcript.Message) bool { return m.Blocks().Has(transcript.KindThinking) }
	switch {
	case takesBinding(r.ThinkingMode()):
		return addBinding(body)
	case r.top.thinking.IsZero() && slices.ContainsFunc(r.Messages, thinks):
		return addBinding(body.Set([]byte(`{"type":"adaptive"}`), "thinking"))
	}
	return body
}

// takesBinding reports whether a mode of thinking has a place for block_binding.
func takesBinding(mode string) bool { return mode == "adaptive" || mode == "enabled" }

func addBinding(body jsonspan.Value) []byte {
	return body.Set([]byte(`{"prefix_mismatch_behavior":"drop_block"}`), "thinking", "block_binding")
}

func (r *Request) thinking() jsonspan.Value { return r.top.thinking.Of(r.body.Data) }

// ThinkingMode returns how the request wants the model to think; empty: it does not say. With
// "enabled" a turn with open tool calls must begin with thinking; see [model.ThinkingRule].First.
func (r *Request) ThinkingMode() string { return r.thinking().Get("type").Text() }

// MessageHash returns the hash of an element of a messages array in its normal form: without
// space between tokens, without cache markers, and with string content as one text block. A
// client that sends a conversation again sends messages with the same hashes. The element
// must be valid JSON.
func MessageHash(raw []byte) transcript.Hash { return wire.Hash(raw) }
