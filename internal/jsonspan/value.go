package jsonspan

import (
	"bytes"
	"iter"
	"math"
	"strconv"
	"unsafe"
)

// A Value is the text of a JSON value, for callers that look for a few things
// in it rather than walk through it. An empty Value is no value. Asked for what
// it is not, a Value gives nothing; in a damaged text it finds what comes
// before the damage.
type Value []byte

// Kind returns the value's kind, told by its first byte.
func (v Value) Kind() Kind {
	for _, b := range v {
		if !isSpace(b) {
			return kinds[b]
		}
	}
	return Invalid
}

// Valid says why the text is not exactly one JSON value of the kind; nil means
// that it is. Invalid stands for any kind.
func (v Value) Valid(kind Kind) error {
	var c Cursor
	c.Reset(v)
	if kind == Invalid || c.expectKind(kind) {
		c.Skip()
	}
	return c.End()
}

// Members yields the spans of the names and values of an object's members.
func (v Value) Members() iter.Seq2[Span, Span] {
	return func(yield func(Span, Span) bool) {
		var c Cursor
		if c.Reset(v); c.Kind() != Object {
			return
		}
		c.Object()
		for key, ok := c.NextKey(); ok; key, ok = c.NextKey() {
			value := c.Skip()
			if c.Err() != nil || !yield(key, value) {
				return
			}
		}
	}
}

// Fields yields an object's members by their decoded names, which may share
// the memory of the text.
func (v Value) Fields() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for key, value := range v.Members() {
			if !yield(Text(v, key), value.Of(v)) {
				return
			}
		}
	}
}

// Elements yields the spans of an array's elements.
func (v Value) Elements() iter.Seq[Span] {
	return func(yield func(Span) bool) {
		var c Cursor
		if c.Reset(v); c.Kind() != Array {
			return
		}
		for c.Array(); c.NextElem(); {
			elem := c.Skip()
			if c.Err() != nil || !yield(elem) {
				return
			}
		}
	}
}

// Find returns the span of the value at a path of member names (strings) and
// places in arrays (ints). Of members that occur twice the last counts.
func (v Value) Find(path ...any) (Span, bool) {
	const space = " \t\r\n"
	start := len(v) - len(bytes.TrimLeft(v, space))
	at := Span{start, max(start, len(bytes.TrimRight(v, space)))} // there may be nothing but space
	for _, step := range path {
		in, found := Value(at.Of(v)), Span{}
		switch step := step.(type) {
		case string:
			for key, value := range in.Members() {
				if KeyIs(in, key, step) {
					found = value
				}
			}
		case int:
			for elem := range in.Elements() {
				if step--; step < 0 {
					found = elem
					break
				}
			}
		}
		if found.IsZero() {
			return Span{}, false
		}
		at = Span{at.Start + found.Start, at.Start + found.End}
	}
	return at, true
}

// Get returns the value that [Value.Find] finds. It is nil if there is none,
// or a null.
func (v Value) Get(path ...any) Value {
	at, ok := v.Find(path...)
	if found := Value(at.Of(v)); ok && found.Kind() != Null {
		return found
	}
	return nil
}

// Text decodes a string; anything else is empty.
func (v Value) Text() string {
	s, _ := Unquote(v)
	return s
}

// Int reads a whole number in any form: 1e3 and 1000.0 are a thousand too.
// Anything else, and a number above 2^53, is 0.
func (v Value) Int() int {
	if n, err := strconv.Atoi(string(v)); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !(math.Abs(f) <= 1<<53) || v.Kind() != Number {
		return 0
	}
	return int(f)
}

// View returns a span of a text as a string that shares its memory, so that the
// text must not be changed afterwards.
func View(data []byte, s Span) string {
	if s.Len() <= 0 {
		return ""
	}
	return unsafe.String(&data[s.Start], s.Len())
}

// Text returns the decoded string at a span of a string literal. It shares the
// text's memory unless there are escapes.
func Text(data []byte, s Span) string {
	if s.Len() < 2 {
		return ""
	}
	if lit := s.Of(data); NeedsUnquote(lit) {
		return Value(lit).Text()
	}
	return View(data, Span{s.Start + 1, s.End - 1})
}
