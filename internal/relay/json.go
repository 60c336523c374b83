package relay

import (
	"bytes"
	"strconv"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// get returns the value at a path of member names (strings) and array indexes (ints), nil
// if there is none or it is null.
func get(data []byte, path ...any) []byte { return jsonspan.Value(data).Get(path...) }

// set returns data with another value at a path. A missing member is added at the end of
// its object; if anything else is missing, data is returned unchanged.
func set(data, value []byte, path ...any) []byte {
	if span, ok := jsonspan.Value(data).Find(path...); ok {
		return splice(data, span, value)
	}
	name, isMember := path[len(path)-1].(string)
	object, ok := jsonspan.Value(data).Find(path[:len(path)-1]...)
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
func text(value []byte) string { return jsonspan.Value(value).Text() }

// number reads a whole number; anything else is 0.
func number(value []byte) int { return jsonspan.Value(value).Int() }

func digits(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// elements are the elements of an array.
func elements(array []byte) (out [][]byte) {
	for span := range jsonspan.Value(array).Elements() {
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
	object, ok := jsonspan.Value(data).Find(path...)
	if !ok || data[object.Start] != '{' {
		return data
	}
	body := jsonspan.Value(object.Of(data))
	var kept [][]byte
	for key, value := range body.Members() {
		if !jsonspan.KeyIs(body, key, name) {
			kept = append(kept, body[key.Start:value.End])
		}
	}
	with := append(append([]byte{'{'}, bytes.Join(kept, []byte{','})...), '}')
	return splice(data, object, with)
}
