package transcript

import (
	"strings"
	"unsafe"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// Content is text as a block holds it: a Go string, or the JSON string literal that
// came off the wire, decoded only when it is read. A request of a few megabytes is
// mostly tool output that nobody reads again; keeping the literal means that decoding
// a request copies none of it.
//
// The zero value is empty text.
type Content struct {
	s       string
	literal bool
	decoded bool   // text is what the literal says
	text    string // see Content.read
}

// Plain returns text given as a Go string.
func Plain(s string) Content { return Content{s: s} }

// Literal returns text given as a valid JSON string literal with its quotes.
func Literal(lit string) Content { return Content{s: lit, literal: true} }

// String returns the text. Lone surrogates in a literal decode to U+FFFD; the literal
// itself is never changed.
func (c Content) String() string {
	switch {
	case !c.literal:
		return c.s
	case c.decoded:
		return c.text
	case len(c.s) < 2:
		return ""
	}
	if strings.IndexByte(c.s, '\\') < 0 {
		return c.s[1 : len(c.s)-1]
	}
	// Text is never longer than its literal, so that one piece of memory is enough.
	text, _ := jsonspan.AppendUnquote(make([]byte, 0, len(c.s)-2), StringBytes(c.s))
	return unsafe.String(unsafe.SliceData(text), len(text))
}

// read returns the content with its text beside the literal, for content that is about to
// be looked at several times.
func (c Content) read() Content {
	if c.literal && !c.decoded {
		c.text, c.decoded = c.String(), true
	}
	return c
}

// Escaped returns the literal that came off the wire if its text differs from it and has
// not been decoded: then String has to make the text.
func (c Content) Escaped() (lit string, ok bool) {
	if !c.literal || c.decoded || strings.IndexByte(c.s, '\\') < 0 {
		return "", false
	}
	return c.s, true
}

// IsEmpty reports whether the text has no bytes.
func (c Content) IsEmpty() bool { return c.s == "" || c.literal && c.s == `""` }

// Size is the number of bytes held: the text's, or its literal's without the quotes.
// It bounds the length of the decoded text from above.
func (c Content) Size() int {
	if c.literal {
		return max(len(c.s)-2, 0)
	}
	return len(c.s)
}

// Literal returns the text as a JSON string literal: the one that came off the wire
// where there is one.
func (c Content) Literal() string {
	if c.literal {
		return c.s
	}
	return string(jsonspan.AppendQuote(nil, c.s))
}
