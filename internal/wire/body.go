package wire

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

// Body is a request's bytes with the places of its messages and blocks.
type Body struct {
	Data     []byte
	Array    jsonspan.Span // the message array, brackets included; zero: there is none
	Elements []Element     // in the order of the array
}

// Earlier returns what decoding a later body needs of this one.
func (b *Body) Earlier() Body { return Body{Elements: b.Elements} }

// Made is how the messages that a view adds are written.
type Made struct {
	Encode func(transcript.Message) ([]byte, error)
	// Join, if it is there, may put one that was encoded into the body's message that follows
	// it, instead of before it.
	Join func(m transcript.Message, raw []byte, next int) (jsonspan.Edit, bool)
}

// Element is one message of the array.
type Element struct {
	Span   jsonspan.Span
	Places []Place // one for each block of the decoded message, in its order
}

// newElement makes an element of places whose spans count from the beginning of the body.
func newElement(span jsonspan.Span, places []Place) Element {
	for i := range places {
		p := &places[i]
		p.Whole, p.Content = p.Whole.Move(-span.Start), p.Content.Move(-span.Start)
	}
	return Element{span, places}
}

// Place is where a block lies. Its spans count from the beginning of the message, so that
// they stay true when a client sends the message again, somewhere else.
type Place struct {
	// Whole is the block as an element of a list inside the message. It is zero when
	// the block is not in a list, such as content that is a plain string; such a block
	// cannot be dropped on its own.
	Whole jsonspan.Span
	// Content is the value that an edit replaces: a text, a result's content, a call's
	// input. It is zero when the block may only be kept or dropped.
	Content jsonspan.Span
	// Around is what stands around the string that an edit writes, where a format has it
	// inside of an object; nil: nothing does.
	Around *Around
	// List tells blocks of different lists apart, such as content parts and tool calls.
	List uint8
	// Members, if any, are those of the message that hold the block: it is dropped by leaving them out.
	Members []string
	// JSON says that Content is JSON itself rather than text in a JSON string.
	JSON  bool
	Fixed bool // the block may not be dropped on its own
}

// Around is the JSON before and after a string.
type Around struct{ Before, After string }

// Matches returns how many of the messages that the body had another one begins with, at the
// same places.
func (b *Body) Matches(messages []transcript.Message, data []byte) int {
	for i, e := range b.Elements {
		if e.Span.End > len(data) || string(e.Span.Of(data)) != messages[i].Raw() {
			return i
		}
	}
	return len(b.Elements)
}

// Splice applies a view to the body. Everything that the view does not change stays byte for
// byte. More are edits outside of the message array.
func (b *Body) Splice(v transcript.View, made Made, more ...jsonspan.Edit) ([]byte, error) {
	var edits []jsonspan.Edit
	if !v.IsWhole(len(b.Elements)) {
		var err error
		if edits, err = b.edits(v, made); err != nil {
			return nil, err
		}
	}
	edits = append(edits, more...)
	out, err := jsonspan.Splice(b.Data, edits)
	if err != nil {
		return nil, fmt.Errorf("splice view: %w", err)
	}
	return out, nil
}

func (b *Body) edits(v transcript.View, made Made) ([]jsonspan.Edit, error) {
	var edits []jsonspan.Edit
	var pending [][]byte // added messages since the last kept element
	last := -1           // last kept element
	for i, m := range v.Messages {
		if m.Source < 0 {
			raw, err := made.Encode(m.Made)
			if err != nil {
				return nil, fmt.Errorf("encode view message %d: %w", i, err)
			}
			if made.Join != nil && i+1 < len(v.Messages) {
				if e, ok := made.Join(m.Made, raw, v.Messages[i+1].Source); ok {
					edits = append(edits, e)
					continue
				}
			}
			pending = append(pending, raw)
			continue
		}
		if m.Source <= last || m.Source >= len(b.Elements) {
			return nil, fmt.Errorf("view message %d shows message %d of %d after message %d: %w",
				i, m.Source, len(b.Elements), last, transcript.ErrBadView)
		}
		edits = b.between(edits, last, m.Source, pending)
		pending, last = pending[:0], m.Source
		var err error
		if edits, err = b.Elements[m.Source].edits(edits, m.Edits, b.Data); err != nil {
			return nil, fmt.Errorf("message %d: %w", m.Source, err)
		}
	}
	return b.between(edits, last, len(b.Elements), pending), nil
}

// between replaces what lies between two kept elements (-1 and len stand for the ends) by
// the made ones. It reuses the separator before the next kept element, so that a
// pretty-printed body stays one.
func (b *Body) between(edits []jsonspan.Edit, last, next int, made [][]byte) []jsonspan.Edit {
	if next == last+1 && len(made) == 0 {
		return edits
	}
	n := len(b.Elements)
	start, end := b.Array.Start+1, b.Array.End-1
	if n > 0 {
		start, end = b.Elements[0].Span.Start, b.Elements[n-1].Span.End
	}
	sep := []byte(",")
	if last >= 0 {
		start = b.Elements[last].Span.End
	}
	if next < n {
		end = b.Elements[next].Span.Start
		if next > 0 {
			sep = b.Data[b.Elements[next-1].Span.End:end]
		}
	}
	var with []byte
	for i, m := range made {
		if i > 0 || last >= 0 {
			with = append(with, sep...)
		}
		with = append(with, m...)
	}
	if next < n && (len(made) > 0 || last >= 0) {
		with = append(with, sep...)
	}
	return append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: start, End: end}, With: with})
}

func (e *Element) edits(
	edits []jsonspan.Edit, changes []transcript.BlockEdit, data []byte,
) ([]jsonspan.Edit, error) {
	last, dropped := -1, false
	for _, c := range changes {
		if c.Block <= last || c.Block >= len(e.Places) {
			return nil, fmt.Errorf("block %d: %w", c.Block, transcript.ErrNoSuchBlock)
		}
		last = c.Block
		p := e.Places[c.Block]
		if c.Drop && p.Members != nil {
			edits = append(edits, Without(data, e.Span, p.Members...)...)
			continue
		}
		if c.Drop {
			if p.Whole.IsZero() || p.Fixed {
				return nil, fmt.Errorf("drop block %d: %w", c.Block, transcript.ErrNotEditable)
			}
			dropped = true
			continue
		}
		if p.Content.IsZero() {
			return nil, fmt.Errorf("replace block %d: %w", c.Block, transcript.ErrNotEditable)
		}
		with := []byte(c.Text)
		if p.JSON && jsonspan.Value(with).Valid(jsonspan.Invalid) != nil {
			return nil, fmt.Errorf("replace block %d: the text is not JSON: %w", c.Block, transcript.ErrBadView)
		}
		if !p.JSON {
			around := cmp.Or(p.Around, &Around{})
			with = append(make([]byte, 0, len(c.Text)+len(c.Text)/16+2), around.Before...)
			with = append(jsonspan.AppendQuote(with, c.Text), around.After...)
		}
		edits = append(edits, jsonspan.Edit{Span: p.Content.Move(e.Span.Start), With: with})
	}
	if dropped {
		return e.drops(edits, changes)
	}
	return edits, nil
}

// drops removes elements from their lists, each with one of the commas beside it.
func (e *Element) drops(edits []jsonspan.Edit, changes []transcript.BlockEdit) ([]jsonspan.Edit, error) {
	drop := make([]bool, len(e.Places))
	for _, c := range changes {
		drop[c.Block] = c.Drop
	}
	first := make(map[uint8]int)          // where each list begins
	kept := make(map[uint8]jsonspan.Span) // last kept element of each list
	for i, p := range e.Places {
		if p.Whole.IsZero() {
			continue
		}
		p.Whole = p.Whole.Move(e.Span.Start)
		if _, seen := first[p.List]; !seen {
			first[p.List] = p.Whole.Start
		}
		before, any := kept[p.List]
		switch {
		case !drop[i]:
			if start := first[p.List]; !any && start < p.Whole.Start { // everything before the first one that stays
				edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: start, End: p.Whole.Start}})
			}
			kept[p.List] = p.Whole
		case any:
			edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: before.End, End: p.Whole.End}})
			kept[p.List] = jsonspan.Span{Start: before.Start, End: p.Whole.End}
		}
	}
	for i, p := range e.Places {
		if _, any := kept[p.List]; drop[i] && !any && p.Members == nil {
			return nil, fmt.Errorf("drop block %d, the last of its list: %w", i, transcript.ErrBadView)
		}
	}
	return edits, nil
}

// Insert adds elements, already joined by commas, at the end of the array at a span.
func Insert(data []byte, array jsonspan.Span, elements []byte) jsonspan.Edit {
	with := elements
	for range jsonspan.Value(array.Of(data)).Elements() {
		with = append([]byte{','}, elements...)
		break
	}
	return jsonspan.Edit{Span: jsonspan.Span{Start: array.End - 1, End: array.End - 1}, With: with}
}

// Without are the edits that take members away from the object at a span, each with the comma behind the
// member before it, or else with all up to the next member. At least one member must stay.
func Without(data []byte, at jsonspan.Span, names ...string) (edits []jsonspan.Edit) {
	object := jsonspan.Value(at.Of(data))
	end, first := 0, 0 // of the member before; of those before all others
	for key, v := range object.Members() {
		goes := slices.ContainsFunc(names, func(n string) bool { return jsonspan.KeyIs(object, key, n) })
		switch gone := (jsonspan.Span{Start: at.Start + end, End: at.Start + v.End}); {
		case goes && end > 0:
			edits = append(edits, jsonspan.Edit{Span: gone})
		case goes && first == 0:
			first = key.Start
		case !goes && first > 0:
			gone = jsonspan.Span{Start: at.Start + first, End: at.Start + key.Start}
			edits, first = append(edits, jsonspan.Edit{Span: gone}), 0
		}
		if !goes || end > 0 {
			end = v.End
		}
	}
	return edits
}
