package jsonspan

import (
	"bytes"
	"iter"
	"math"
	"slices"
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

// Set returns the text with another value at a path. A missing member is added at
// the end of its object; if anything else is missing, the text stays what it is.
func (v Value) Set(value []byte, path ...any) Value {
	if at, ok := v.Find(path...); ok {
		return v.with(at, value)
	}
	name, isMember := path[len(path)-1].(string)
	object, ok := v.Find(path[:len(path)-1]...)
	if !isMember || !ok || v[object.Start] != '{' {
		return v
	}
	member := append(append(AppendQuote(nil, name), ':'), value...)
	if len(bytes.TrimSpace(v[object.Start+1:object.End-1])) > 0 {
		member = append([]byte{','}, member...)
	}
	return v.with(Span{object.End - 1, object.End - 1}, member)
}

// Without returns the text without a member of the object at a path.
func (v Value) Without(name string, path ...any) Value {
	object, ok := v.Find(path...)
	body := Value(object.Of(v))
	if !ok || body.Kind() != Object {
		return v
	}
	var kept [][]byte
	for key, value := range body.Members() {
		if !KeyIs(body, key, name) {
			kept = append(kept, body[key.Start:value.End])
		}
	}
	return v.with(object, slices.Concat([]byte{'{'}, bytes.Join(kept, []byte{','}), []byte{'}'}))
}

func (v Value) with(at Span, value []byte) Value {
	return slices.Concat(v[:at.Start], value, v[at.End:])
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
