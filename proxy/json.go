package proxy

import (
	"bytes"
	"strconv"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// get returns the value at a path of member names (strings) and places in arrays (ints),
// nil if there is none. Of members that occur twice the first counts.
func get(data []byte, path ...any) []byte {
	span, ok := find(data, path)
	if !ok {
		return nil
	}
	return span.Of(data)
}

// find walks to a value. It looks no further than it must.
func find(data []byte, path []any) (jsonspan.Span, bool) {
	var c jsonspan.Cursor
	c.Reset(data, jsonspan.Limits{})
	for _, step := range path {
		if !enter(&c, data, step) {
			return jsonspan.Span{}, false
		}
	}
	span := c.Skip()
	return span, c.Err() == nil
}

func enter(c *jsonspan.Cursor, data []byte, step any) bool {
	switch step := step.(type) {
	case string:
		if c.Kind() != jsonspan.Object {
			return false
		}
		c.Object()
		for key, ok := c.NextKey(); ok; key, ok = c.NextKey() {
			if jsonspan.KeyIs(data, key, step) {
				return true
			}
			c.Skip()
		}
	case int:
		if c.Kind() != jsonspan.Array {
			return false
		}
		c.Array()
		for i := 0; c.NextElem(); i++ {
			if i == step {
				return true
			}
			c.Skip()
		}
	}
	return false
}

// set returns data with another value at a path. A member that is not there is added at
// the end of its object; all else that is not there is left alone.
func set(data, value []byte, path ...any) []byte {
	if span, ok := find(data, path); ok {
		return splice(data, span, value)
	}
	name, isMember := path[len(path)-1].(string)
	object, ok := find(data, path[:len(path)-1])
	if !isMember || !ok || data[object.Start] != '{' {
		return data
	}
	with := append(append(jsonspan.AppendQuote(nil, name), ':'), value...)
	if len(bytes.TrimSpace(data[object.Start+1:object.End-1])) > 0 {
		with = append([]byte{','}, with...)
	}
	return splice(data, jsonspan.Span{Start: object.End - 1, End: object.End - 1}, with)
}

func splice(data []byte, span jsonspan.Span, with []byte) []byte {
	out, err := jsonspan.Splice(data, []jsonspan.Edit{{Span: span, With: with}})
	if err != nil {
		return data
	}
	return out
}

// text decodes a string literal; anything else is empty.
func text(value []byte) string {
	s, _ := jsonspan.Unquote(value)
	return s
}

// number reads a whole number; anything else is 0.
func number(value []byte) int {
	n, _ := strconv.Atoi(string(value))
	return n
}

func digits(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// elements are the elements of an array.
func elements(array []byte) [][]byte {
	var c jsonspan.Cursor
	c.Reset(array, jsonspan.Limits{})
	if c.Kind() != jsonspan.Array {
		return nil
	}
	var out [][]byte
	for c.Array(); c.NextElem(); {
		span := c.Skip()
		if c.Err() != nil {
			return out
		}
		out = append(out, span.Of(array))
	}
	return out
}

// arrayOf joins elements to an array.
func arrayOf(list [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
}

// without returns data without a member of the object at a path.
func without(data []byte, name string, path ...any) []byte {
	object, ok := find(data, path)
	if !ok || data[object.Start] != '{' {
		return data
	}
	var c jsonspan.Cursor
	body := object.Of(data)
	c.Reset(body, jsonspan.Limits{})
	var kept [][]byte
	c.Object()
	for key, ok := c.NextKey(); ok; key, ok = c.NextKey() {
		value := c.Skip()
		if c.Err() != nil {
			return data
		}
		if !jsonspan.KeyIs(body, key, name) {
			kept = append(kept, body[key.Start:value.End])
		}
	}
	with := append(append([]byte{'{'}, bytes.Join(kept, []byte{','})...), '}')
	return splice(data, object, with)
}
