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
	if content.Kind() != jsonspan.Object || !r.stream.Room(len(content)) {
		return
	}
	b := &streamBlock{
		index: event.Get("index").Int(),
		typ:   content.Get("type").Text(),
		start: bytes.Clone(content),
	}
	r.blocks = append(r.blocks, b)
	if r.stream.OnDelta != nil && b.typ == "tool_use" {
		r.stream.OnDelta(model.Delta{
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
	if b == nil || !r.stream.Room(len(delta)) {
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
	if r.stream.OnDelta == nil {
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
		r.stream.OnDelta(d)
	}
}

func (b *streamBlock) grow(name string, inside []byte) {
	if i := slices.IndexFunc(b.texts, func(g growth) bool { return g.name == name }); i >= 0 {
		b.texts[i].inside = append(b.texts[i].inside, inside...)
		return
	}
	b.texts = append(b.texts, growth{strings.Clone(name), bytes.Clone(inside)})
}

// finish returns the block as an element to send back. Of blocks that the stream cut off only
// text is of use; for others it returns nil.
func (b *streamBlock) finish() []byte {
	switch {
	case !b.stopped && b.typ != "text":
		return nil
	case len(b.added()) == 0: // it came whole
		return b.start
	}
	out := []byte{'{'}
	var have []string
	for name, value := range b.start.Fields() {
		have, out = append(have, name), b.member(out, name, value)
	}
	for _, name := range b.added() { // deltas may bring members that the start did not have
		if !slices.Contains(have, name) {
			out = b.member(out, name, nil)
		}
	}
	return append(out, '}')
}

// added names the members that deltas brought something for.
func (b *streamBlock) added() []string {
	var out []string
	for _, g := range b.texts {
		out = append(out, g.name)
	}
	if len(b.cites) > 0 {
		out = append(out, "citations")
	}
	if len(b.input) > 0 {
		out = append(out, "input")
	}
	return out
}

// member appends a member with its final value; start is the one it began with.
func (b *streamBlock) member(dst []byte, name string, start jsonspan.Value) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	dst = append(jsonspan.AppendQuote(dst, name), ':')
	switch {
	case name == "input" && len(b.input) > 0:
		return append(dst, b.inputValue()...)
	case name == "citations" && len(b.cites) > 0:
		return b.citations(dst, start)
	}
	for _, g := range b.texts {
		if g.name == name {
			dst = append(dst, '"')
			if start.Kind() == jsonspan.String {
				dst = append(dst, start[1:len(start)-1]...)
			}
			return append(append(dst, g.inside...), '"')
		}
	}
	return append(dst, start...)
}

func (b *streamBlock) citations(dst []byte, start jsonspan.Value) []byte {
	var all [][]byte
	for c := range start.Elements() {
		all = append(all, c.Of(start))
	}
	all = append(all, b.cites...)
	return append(append(append(dst, '['), bytes.Join(all, []byte{','})...), ']')
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
