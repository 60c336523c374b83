// Package jsonspan finds values in a JSON text and replaces them without
// touching anything else.
//
// A request body that is decoded into Go values and encoded again is a
// different body: keys move, 1.0 becomes 1, \u00e9 becomes é, unknown fields
// vanish, a lone surrogate turns into U+FFFD. Each of those can change what a
// provider caches, signs or bills. This package never re-encodes. It walks the
// text once and hands out spans, which are pairs of byte offsets; the caller
// picks the spans to replace and [Splice] copies everything else byte for byte.
//
// # Walking
//
// A [Cursor] moves forward only. It stands either at a value, which the caller
// consumes with [Cursor.Skip], [Cursor.Object] or [Cursor.Array], or between two values inside a container, where
// [Cursor.NextKey] or [Cursor.NextElem] moves on to the next one.
// [Cursor.Fields] and [Cursor.Items] do both in a range statement:
//
//	var c jsonspan.Cursor
//	c.Reset(body)
//	for name := range c.Fields {
//		if name == "model" {
//			model = c.Skip()
//		}
//	}
//	if err := c.End(); err != nil {
//		return err // nothing found so far may be used
//	}
//
// Errors stick. After the first one every method does nothing and returns its
// zero result, so that loops end by themselves and one check of [Cursor.End]
// at the end of the walk is enough. Calling methods in an order that makes no
// sense is such an error too ([ErrOrder]), never a panic.
//
// The span of an object or array that the caller walks into is from
// [Cursor.Pos] before entering it to Pos after its last NextKey or NextElem.
//
// Walking allocates nothing. The spans refer to the text given to Reset, which
// must not change while they are in use.
//
// # Looking things up
//
// A [Value] is for those who want a few things out of a small text, such as an
// event of a stream: value.Get("delta", "text").Text(). Each question walks the
// text again.
//
// # What is accepted
//
// Exactly the grammar of RFC 8259, checked in full for every byte the cursor
// passes: a text that ends without error is valid JSON. Three things that the
// grammar allows but that stricter readers refuse are passed through, because
// a proxy has no business repairing them: duplicate names, bytes inside
// strings that are not UTF-8, and \u escapes of lone surrogates (JavaScript
// clients send these when they cut a string in the middle of an emoji). A byte
// order mark is refused.
//
// That is the set which jsontext of github.com/go-json-experiment/json accepts
// with AllowDuplicateNames and AllowInvalidUTF8; a fuzz test holds the two
// together. They differ only in how deep a text may nest: see [MaxDepth].
package jsonspan
