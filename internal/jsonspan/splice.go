package jsonspan

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// A Span is the half open range [Start, End) of bytes in a text.
type Span struct{ Start, End int }

// Len returns the number of bytes in the span.
func (s Span) Len() int { return s.End - s.Start }

// IsZero reports whether s is the zero Span. No value has that span, since
// every value has at least one byte, so it serves for "not found".
func (s Span) IsZero() bool { return s == Span{} }

// Move returns the span n bytes further on. The zero Span stays what it is.
func (s Span) Move(n int) Span {
	if s.IsZero() {
		return s
	}
	return Span{s.Start + n, s.End + n}
}

// Of returns the span's bytes of data, without copying. The capacity ends with
// the span, so that appending to the result cannot overwrite data.
func (s Span) Of(data []byte) []byte { return data[s.Start:s.End:s.End] }

// An Edit replaces a span of a text. With an empty span it inserts before
// Span.Start, with an empty With it deletes.
type Edit struct {
	Span Span
	With []byte
}

// Splice returns data with the edits made, and every byte outside of them as
// it was. It does not look at the text: the caller answers for the result
// being JSON, which it is if edits replace whole values by whole values.
//
// Edits must lie within data and not overlap; they may touch. Splice sorts
// them in place if they are not in order. Several insertions at one offset
// stay in the order given, before a replacement that starts there.
//
// The result is one new allocation (beside a list of the parts, when there are
// more than 64 edits), except without edits: then Splice returns data itself.
func Splice(data []byte, edits []Edit) ([]byte, error) {
	if len(edits) == 0 {
		return data, nil
	}
	if !slices.IsSortedFunc(edits, compareEdits) {
		slices.SortStableFunc(edits, compareEdits)
	}
	last := 0
	for _, e := range edits {
		switch s := e.Span; {
		case s.Start < 0 || s.End < s.Start || s.End > len(data):
			return nil, fmt.Errorf("splice: edit [%d,%d) outside of %d bytes", s.Start, s.End, len(data))
		case s.Start < last:
			return nil, fmt.Errorf("splice: edit [%d,%d) overlaps one that ends at %d", s.Start, s.End, last)
		}
		last = e.Span.End
	}
	// bytes.Join gets its memory without zeroing it first, which saves a pass
	// over the result. The list of parts stays on the stack for usual sizes.
	parts := slices.Grow(make([][]byte, 0, 2*64+1), 2*len(edits)+1)
	last = 0
	for _, e := range edits {
		parts = append(parts, data[last:e.Span.Start], e.With)
		last = e.Span.End
	}
	parts = append(parts, data[last:])
	return bytes.Join(parts, nil), nil
}

func compareEdits(a, b Edit) int {
	return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Span.End, b.Span.End))
}

// AppendCompact appends the JSON value to dst without the space between its
// tokens. Strings and numbers keep their form. The value must be valid; of
// anything else it appends some bytes.
func AppendCompact(dst, value []byte) []byte {
	for i := 0; i < len(value); {
		start := i
		for i < len(value) && !isSpace(value[i]) {
			if value[i] == '"' {
				i, _ = scanString(value, i+1)
			} else {
				i++
			}
		}
		dst = append(dst, value[start:i]...)
		for i < len(value) && isSpace(value[i]) {
			i++
		}
	}
	return dst
}
