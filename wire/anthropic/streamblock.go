package anthropic

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// streamBlock is a block whose deltas are still coming.
//
// The pieces of a text are joined as the literals they came as. Decoding each by
// itself would break a surrogate pair that the provider's chunks cut in two.
type streamBlock struct {
	index   int
	stopped bool
	typ     string
	start   jsonspan.Value // content_block as it came
	texts   []growth       // members that deltas add to
	input   []byte         // pieces of a call's input: a string literal without quotes
	cites   [][]byte
}

// growth is a member of a block with what deltas add to it, as the inside of a string
// literal.
type growth struct {
	name   string
	inside []byte
}

func (r *recorder) blockStart(event jsonspan.Value) {
	content := event.Get("content_block")
	if content.Kind() != jsonspan.Object || !r.Room(len(content)) {
		return
	}
	b := &streamBlock{
		index: event.Get("index").Int(),
		typ:   content.Get("type").Text(),
		start: bytes.Clone(content),
	}
	r.blocks = append(r.blocks, b)
	if r.OnDelta != nil && b.typ == "tool_use" {
		r.OnDelta(model.Delta{
			Index: b.index, Kind: transcript.KindToolCall,
			CallID: content.Get("id").Text(), Name: content.Get("name").Text(),
		})
	}
	r.tell(b, b.typ+"_delta", content)
}

// blockDelta adds a delta to its block. Whatever the delta's type, a string member adds to
// the block's member of the same name, as with text, thinking, signature and the content of
// a compaction. Only inputs and citations are different.
func (r *recorder) blockDelta(event jsonspan.Value) {
	b, delta := r.open(event), event.Get("delta")
	if b == nil || !r.Room(len(delta)) {
		return
	}
	typ := delta.Get("type").Text()
	for name, value := range delta.Fields() {
		switch {
		case name == "citation" && typ == "citations_delta":
			b.cites = append(b.cites, bytes.Clone(value))
		case name == "type" || value.Kind() != jsonspan.String:
		case name == "partial_json" && typ == "input_json_delta":
			b.input = append(b.input, value[1:len(value)-1]...)
		default:
			b.grow(name, value[1:len(value)-1])
		}
	}
	r.tell(b, typ, delta)
}

// tell hands what a delta says to the sink.
func (r *recorder) tell(b *streamBlock, typ string, delta jsonspan.Value) {
	if r.OnDelta == nil {
		return
	}
	d := model.Delta{Index: b.index}
	switch {
	case typ == "text_delta":
		d.Kind, d.Text = transcript.KindText, delta.Get("text").Text()
	case typ == "thinking_delta":
		d.Kind, d.Text = transcript.KindThinking, delta.Get("thinking").Text()
	case typ == "input_json_delta" && b.typ == "tool_use":
		d.Kind, d.Text = transcript.KindToolCall, delta.Get("partial_json").Text()
	}
	if d.Text != "" {
		r.OnDelta(d)
	}
}

func (b *streamBlock) grow(name string, inside []byte) {
	if i := slices.IndexFunc(b.texts, func(g growth) bool { return g.name == name }); i >= 0 {
		b.texts[i].inside = append(b.texts[i].inside, inside...)
		return
	}
	b.texts = append(b.texts, growth{strings.Clone(name), bytes.Clone(inside)})
}

// finish returns the block as an element to send back: what it began with, and what deltas added. Of
// blocks that the stream cut off only text is of use; for others it returns nil.
func (b *streamBlock) finish() []byte {
	if !b.stopped && b.typ != "text" {
		return nil
	}
	out := b.start
	for _, g := range b.texts {
		lit := []byte{'"'}
		if start := b.start.Get(g.name); start.Kind() == jsonspan.String {
			lit = append(lit, start[1:len(start)-1]...)
		}
		out = out.Set(append(append(lit, g.inside...), '"'), g.name)
	}
	if len(b.cites) > 0 {
		var all [][]byte
		start := b.start.Get("citations")
		for c := range start.Elements() {
			all = append(all, c.Of(start))
		}
		list := bytes.Join(append(all, b.cites...), []byte{','})
		out = out.Set(slices.Concat([]byte{'['}, list, []byte{']'}), "citations")
	}
	if len(b.input) > 0 {
		out = out.Set(b.inputValue(), "input")
	}
	return out
}

// inputValue is the input that the pieces make. Input that is not a JSON object is put
// into one, in the form the provider recommends for sending it back.
func (b *streamBlock) inputValue() []byte {
	lit := append(append([]byte{'"'}, b.input...), '"')
	input := []byte(jsonspan.Value(lit).Text())
	if jsonspan.Value(input).Valid(jsonspan.Object) == nil {
		return bytes.TrimSpace(input)
	}
	if len(bytes.TrimSpace(input)) == 0 {
		return []byte("{}")
	}
	return append(append([]byte(`{"INVALID_JSON":`), lit...), '}')
}
