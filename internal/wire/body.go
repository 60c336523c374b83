package wire

import (
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

// Body is a request's bytes with the places of its messages and blocks.
type Body struct {
	Data     []byte
	Array    jsonspan.Span // the message array, brackets included; zero: there is none
	Elements []Element     // in the order of the array
}

// Element is one message of the array.
type Element struct {
	Span   jsonspan.Span
	Places []Place // one for each block of the decoded message, in its order
}

// Place is where a block lies.
type Place struct {
	// Whole is the block as an element of a list inside the message. It is zero when
	// the block is not in a list, such as content that is a plain string; such a block
	// cannot be dropped on its own.
	Whole jsonspan.Span
	// List tells blocks of different lists apart, such as content parts and tool calls.
	List uint8
	// Content is the value that an edit replaces: a text, a result's content, a call's
	// input. It is zero when the block may only be kept or dropped.
	Content jsonspan.Span
	// JSON says that Content is JSON itself rather than text in a JSON string.
	JSON bool
}

// Splice applies a view to the body. Everything that the view does not change stays
// byte for byte. made encodes pleat's own messages for the format; more are edits outside
// of the message array.
func (b *Body) Splice(v transcript.View, made func(transcript.Message) ([]byte, error), more ...jsonspan.Edit) ([]byte, error) {
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

func (b *Body) edits(v transcript.View, made func(transcript.Message) ([]byte, error)) ([]jsonspan.Edit, error) {
	var edits []jsonspan.Edit
	var pending [][]byte // pleat's own messages since the last kept element
	last := -1           // last kept element
	for i, m := range v.Messages {
		if m.Source < 0 {
			raw, err := made(m.Made)
			if err != nil {
				return nil, fmt.Errorf("encode view message %d: %w", i, err)
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
		if edits, err = b.Elements[m.Source].edits(edits, m.Edits); err != nil {
			return nil, fmt.Errorf("message %d: %w", m.Source, err)
		}
	}
	return b.between(edits, last, len(b.Elements), pending), nil
}

// between edits what lies between two kept elements (-1 and len stand for the ends): the
// dropped ones go, the made ones come. The separator that stood before the next kept
// element is used again, so that a pretty-printed body stays one.
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

func (e *Element) edits(edits []jsonspan.Edit, changes []transcript.BlockEdit) ([]jsonspan.Edit, error) {
	dropped := false
	last := -1
	for _, c := range changes {
		if c.Block <= last || c.Block >= len(e.Places) {
			return nil, fmt.Errorf("block %d: %w", c.Block, transcript.ErrNoSuchBlock)
		}
		last = c.Block
		p := e.Places[c.Block]
		if c.Drop {
			if p.Whole.IsZero() {
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
			with = jsonspan.AppendQuote(make([]byte, 0, len(c.Text)+len(c.Text)/16+2), c.Text)
		}
		edits = append(edits, jsonspan.Edit{Span: p.Content, With: with})
	}
	if !dropped {
		return edits, nil
	}
	return e.drops(edits, changes)
}

// drops removes elements from their lists, each with one of the commas beside it.
func (e *Element) drops(edits []jsonspan.Edit, changes []transcript.BlockEdit) ([]jsonspan.Edit, error) {
	drop := make([]bool, len(e.Places))
	for _, c := range changes {
		drop[c.Block] = c.Drop
	}
	kept := make(map[uint8]jsonspan.Span) // last kept element of each list
	for i, p := range e.Places {
		if p.Whole.IsZero() {
			continue
		}
		before, any := kept[p.List]
		switch {
		case !drop[i]:
			if !any { // first survivor: what stood before it goes, with its comma
				if first := e.first(p.List); first.Start < p.Whole.Start {
					edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: first.Start, End: p.Whole.Start}})
				}
			}
			kept[p.List] = p.Whole
		case any:
			edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: before.End, End: p.Whole.End}})
			kept[p.List] = jsonspan.Span{Start: before.Start, End: p.Whole.End}
		}
	}
	for i, p := range e.Places {
		if _, any := kept[p.List]; drop[i] && !any {
			return nil, fmt.Errorf("drop block %d, the last of its list: %w", i, transcript.ErrBadView)
		}
	}
	return edits, nil
}

func (e *Element) first(list uint8) jsonspan.Span {
	for _, p := range e.Places {
		if p.List == list && !p.Whole.IsZero() {
			return p.Whole
		}
	}
	return jsonspan.Span{}
}

// Insert adds elements, already joined by commas, at the end of the array at a span.
func Insert(data []byte, array jsonspan.Span, elements []byte) jsonspan.Edit {
	var c jsonspan.Cursor
	c.Reset(array.Of(data), jsonspan.Limits{})
	with := elements
	if c.Array(); c.NextElem() {
		with = append([]byte{','}, elements...)
	}
	return jsonspan.Edit{Span: jsonspan.Span{Start: array.End - 1, End: array.End - 1}, With: with}
}
