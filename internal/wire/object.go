package wire

import (
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

// Value is a JSON value that a [Walker] passed over. Its kind is Invalid if there is none.
type Value struct {
	jsonspan.Span
	Kind jsonspan.Kind
}

// Given reports whether the value is there and is not null, which clients send for members
// that they do not use.
func (v Value) Given() bool { return v.Kind != jsonspan.Invalid && v.Kind != jsonspan.Null }

// IsString reports whether the value is a string.
func (v Value) IsString() bool { return v.Kind == jsonspan.String }

// Object is a value with its members, if it is an object. Members come in any order, content often
// before type and role, so nothing can be decided while they are passed over: an object is taken
// apart first, and then asked for them.
type Object struct {
	Value
	Fields []Field
}

// Field is a member of an object.
type Field struct {
	Name string
	Value
}

// Get returns a member; of several the last counts.
func (o Object) Get(name string) Value {
	for _, f := range slices.Backward(o.Fields) {
		if f.Name == name {
			return f.Value
		}
	}
	return Value{}
}

// Value passes over the value at the cursor.
func (w *Walker) Value() Value {
	kind := w.C.Kind()
	return Value{w.C.Skip(), kind}
}

// JSON returns the bytes of a value.
func (w *Walker) JSON(v Value) jsonspan.Value { return v.Of(w.Data) }

// within is the value at a span of another one.
func (w *Walker) within(of Value, at jsonspan.Span) Value {
	v := Value{Span: at.Move(of.Start)}
	v.Kind = w.JSON(v).Kind()
	return v
}

// Object takes a value apart.
func (w *Walker) Object(v Value) Object {
	o := Object{Value: v}
	for key, at := range w.JSON(v).Members() {
		name := jsonspan.Text(w.Data, key.Move(v.Start))
		if w.Name != nil {
			name = w.Name(name)
		}
		o.Fields = append(o.Fields, Field{name, w.within(v, at)})
	}
	return o
}

// List takes a list apart whose elements should be objects.
func (w *Walker) List(v Value) (out []Object) {
	for at := range w.JSON(v).Elements() {
		out = append(out, w.Object(w.within(v, at)))
	}
	return out
}

// Text returns the decoded text of a string, "" for anything else.
func (w *Walker) Text(v Value) string {
	if !v.IsString() {
		return ""
	}
	return jsonspan.Text(w.Data, v.Span)
}

// Raw returns the bytes of a value, sharing their memory.
func (w *Walker) Raw(v Value) string { return jsonspan.View(w.Data, v.Span) }

// Content returns a string as content that shares its memory. For other kinds the content is the
// JSON text.
func (w *Walker) Content(v Value) transcript.Content {
	switch {
	case v.IsString():
		return transcript.Literal(w.Raw(v))
	case v.Given():
		return transcript.Plain(w.Raw(v))
	}
	return transcript.Content{}
}
