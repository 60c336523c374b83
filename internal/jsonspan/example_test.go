package jsonspan_test

import (
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// Replace one value of a request and leave the rest alone: the spacing, the
// form of numbers and escapes, and fields that nobody here knows.
func Example() {
	body := []byte(`{"model": "small",  "temperature": 1.0, "note": "caf\u00e9", "x": [1,2]}`)

	var c jsonspan.Cursor
	c.Reset(body)
	var model jsonspan.Span
	c.Object()
	for key, ok := c.NextKey(); ok; key, ok = c.NextKey() {
		if jsonspan.KeyIs(body, key, "model") {
			model = c.Skip()
		} else {
			c.Skip()
		}
	}
	if err := c.End(); err != nil {
		fmt.Println(err)
		return
	}
	out, err := jsonspan.Splice(body, []jsonspan.Edit{{Span: model, With: jsonspan.AppendQuote(nil, "large")}})
	fmt.Printf("%s %v\n", out, err)
	// Output: {"model": "large",  "temperature": 1.0, "note": "caf\u00e9", "x": [1,2]} <nil>
}

func ExampleCursor_NextElem() {
	data := []byte(`[10, "ten", [1, 0]]`)
	var c jsonspan.Cursor
	c.Reset(data)
	for c.Array(); c.NextElem(); {
		kind := c.Kind()
		fmt.Printf("%v: %s\n", kind, c.Skip().Of(data))
	}
	fmt.Println(c.End())
	// Output:
	// a number: 10
	// a string: "ten"
	// an array: [1, 0]
	// <nil>
}
