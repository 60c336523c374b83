package anthropic

import (
	"bytes"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// streamBlock is a block whose deltas are still coming.
//
// The pieces of a text are joined as the literals they came as. Decoding each by
// itself would break a surrogate pair that the provider's chunks cut in two.
type streamBlock struct {
	index   int
	stopped bool
	typ     string
	start   []byte   // content_block as it came
	texts   []growth // members that deltas add to
	input   []byte   // pieces of a call's input: a string literal without quotes
	cites   [][]byte
}

// growth is a member of a block with what deltas add to it, as the inside of a string
// literal.
type growth struct {
	name   string
	inside []byte
}

func (r *Recorder) blockStart(event []byte) {
	content := lookup(event, "content_block")
	if kindOf(content) != jsonspan.Object || !r.room(len(content)) {
		return
	}
	b := &streamBlock{
		index: number(lookup(event, "index")),
		typ:   text(lookup(content, "type")),
		start: bytes.Clone(content),
	}
	r.blocks = append(r.blocks, b)
	if r.OnDelta == nil {
		return
	}
	d := pleat.Delta{Index: b.index}
	switch b.typ {
	case "tool_use":
		d.Kind, d.CallID, d.Name = pleat.KindToolCall, text(lookup(content, "id")), text(lookup(content, "name"))
		r.OnDelta(d)
	case "text":
		d.Kind, d.Text = pleat.KindText, text(lookup(content, "text"))
	case "thinking":
		d.Kind, d.Text = pleat.KindThinking, text(lookup(content, "thinking"))
	}
	if d.Text != "" {
		r.OnDelta(d)
	}
}

// blockDelta adds a delta to its block: whatever the type of the delta, a string member
// adds to the block's member of the same name. So do text, thinking and signature, and
// what a compaction brings in one piece. Only inputs and citations are another matter.
func (r *Recorder) blockDelta(event []byte) {
	b, delta := r.open(event), lookup(event, "delta")
	if b == nil || !r.room(len(delta)) {
		return
	}
	typ := text(lookup(delta, "type"))
	for name, value := range members(delta) {
		switch {
		case name == "citation" && typ == "citations_delta":
			b.cites = append(b.cites, bytes.Clone(value))
		case name == "type" || kindOf(value) != jsonspan.String:
		case name == "partial_json" && typ == "input_json_delta":
			b.input = append(b.input, value[1:len(value)-1]...)
		default:
			b.grow(name, value[1:len(value)-1])
		}
	}
	if r.OnDelta != nil {
		r.tell(b, typ, delta)
	}
}

func (r *Recorder) tell(b *streamBlock, typ string, delta []byte) {
	d := pleat.Delta{Index: b.index}
	switch {
	case typ == "text_delta":
		d.Kind, d.Text = pleat.KindText, text(lookup(delta, "text"))
	case typ == "thinking_delta":
		d.Kind, d.Text = pleat.KindThinking, text(lookup(delta, "thinking"))
	case typ == "input_json_delta" && b.typ == "tool_use":
		d.Kind, d.Text = pleat.KindToolCall, text(lookup(delta, "partial_json"))
	}
	if d.Text != "" {
		r.OnDelta(d)
	}
}

func (b *streamBlock) grow(name string, inside []byte) {
	for i := range b.texts {
		if b.texts[i].name == name {
			b.texts[i].inside = append(b.texts[i].inside, inside...)
			return
		}
	}
	b.texts = append(b.texts, growth{name, bytes.Clone(inside)})
}

// finish returns the block as an element to send back, or nil if it cannot be: of what
// the stream cut off only text is of use, and half a signature is worse than none.
func (b *streamBlock) finish() []byte {
	if !b.stopped && b.typ != "text" {
		return nil
	}
	out := []byte{'{'}
	var have []string
	for name, value := range members(b.start) {
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
func (b *streamBlock) member(dst []byte, name string, start []byte) []byte {
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
			if kindOf(start) == jsonspan.String {
				dst = append(dst, start[1:len(start)-1]...)
			}
			return append(append(dst, g.inside...), '"')
		}
	}
	return append(dst, start...)
}

func (b *streamBlock) citations(dst, start []byte) []byte {
	dst = append(dst, '[')
	n := 0
	for _, c := range elements(start) {
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, c...)
	}
	for _, c := range b.cites {
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, c...)
	}
	return append(dst, ']')
}

// inputValue is the input that the pieces make. Input that is not a JSON object is put
// into one, in the form the provider recommends for sending it back.
func (b *streamBlock) inputValue() []byte {
	lit := append(append([]byte{'"'}, b.input...), '"')
	input := []byte(text(lit))
	if valid(input, jsonspan.Object) {
		return bytes.TrimSpace(input)
	}
	if len(bytes.TrimSpace(input)) == 0 {
		return []byte("{}")
	}
	return append(append([]byte(`{"INVALID_JSON":`), lit...), '}')
}
