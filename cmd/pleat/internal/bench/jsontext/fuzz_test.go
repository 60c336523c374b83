package jsontext_test

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

var seeds = []string{
	`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a\nb \ud83d \u00e9 <&>"}]}],"n":-1.5E+3}`,
	`[[],{},"",0,-0,1e9,true,false,null,{"a":{"a":[1,2,{"a":3}]}}]`, "\"\xff\x80 \\u12G4\"", "\"\t\"", "\xef\xbb\xbf[]",
	`{"a":1,}`, `[01]`, `"\ud800\u0041\\"`, ` [ 1 , 2 ] `,
	`"0123456789012345678901234567890123456789\"\\\n\t0123456789012345678901234567890123456789"`,
}

// FuzzWalk holds the cursor against jsontext: both accept the same texts, and
// a walk that enters every container sees what a Skip sees.
func FuzzWalk(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c jsonspan.Cursor
		c.Reset(data)
		span := c.Skip()
		err := c.End()
		if errors.Is(err, jsonspan.ErrDepth) {
			return // jsontext allows more
		}
		want := jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if (err == nil) != want {
			t.Fatalf("%q: %v, jsontext valid: %v", data, err, want)
		}
		scalars, walkErr := enterAll(data)
		if (walkErr == nil) != want {
			t.Fatalf("%q: Skip %v, walk %v", data, err, walkErr)
		}
		if err != nil {
			return
		}
		if space := len(bytes.Trim(data, " \t\r\n")); span.Len() != space {
			t.Fatalf("%q: span %v, want %d bytes", data, span, space)
		}
		checkScalars(t, data, scalars)
		checkCompact(t, data)
	})
}

// enterAll walks into every container and returns the spans of all scalars
// and names in order.
func enterAll(data []byte) ([]jsonspan.Span, error) {
	var c jsonspan.Cursor
	c.Reset(data)
	var scalars []jsonspan.Span
	var inside []jsonspan.Kind
	for {
		switch c.Kind() {
		case jsonspan.Object:
			c.Object()
			inside = append(inside, jsonspan.Object)
		case jsonspan.Array:
			c.Array()
			inside = append(inside, jsonspan.Array)
		case jsonspan.String:
			scalars = append(scalars, c.Skip())
		default:
			scalars = append(scalars, c.Skip())
		}
		for more := false; !more; {
			if len(inside) == 0 || c.Err() != nil {
				return scalars, c.End()
			}
			if inside[len(inside)-1] == jsonspan.Array {
				more = c.NextElem()
			} else {
				var key jsonspan.Span
				if key, more = c.NextKey(); more {
					scalars = append(scalars, key)
				}
			}
			if !more {
				inside = inside[:len(inside)-1]
			}
		}
	}
}

// checkScalars compares scalars with those that jsontext reads from data.
func checkScalars(t *testing.T, data []byte, scalars []jsonspan.Span) {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for _, s := range scalars {
		for k := d.PeekKind(); k == '{' || k == '[' || k == '}' || k == ']'; k = d.PeekKind() {
			if _, err := d.ReadToken(); err != nil {
				t.Fatalf("%q: jsontext: %v", data, err)
			}
		}
		want, err := d.ReadValue()
		if err != nil {
			t.Fatalf("%q: jsontext: %v", data, err)
		}
		if got := s.Of(data); !bytes.Equal(got, want) {
			t.Fatalf("%q: scalar %q, want %q", data, got, want)
		}
		if got, ok := jsonspan.Unquote(s.Of(data)); ok != (want[0] == '"') {
			t.Fatalf("Unquote(%q): %v", want, ok)
		} else if dec, err := jsontext.AppendUnquote(nil, want); ok && got != string(dec) && utf8.Valid(want) {
			t.Fatalf("Unquote(%q) = %q, want %q (%v)", want, got, dec, err)
		} else if ok && !jsonspan.KeyIs(data, s, got) {
			t.Fatalf("KeyIs(%q, %q) = false", want, got)
		}
	}
}

func checkCompact(t *testing.T, data []byte) {
	got := jsonspan.AppendCompact(nil, data)
	want := jsontext.Value(bytes.Clone(data))
	err := want.Compact(
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true),
	)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("AppendCompact(%q) = %q, want %q (%v)", data, got, want, err)
	}
}

// FuzzQuote checks that jsontext quotes alike.
func FuzzQuote(f *testing.F) {
	for _, s := range append(seeds, "\x00\x1f\x7f\u2028 \xff\xc3", "é🙂") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, _ := jsontext.AppendQuote(nil, s) // reports bad UTF-8, and replaces it
		if lit := jsonspan.AppendQuote(nil, s); !bytes.Equal(lit, want) {
			t.Fatalf("AppendQuote(%q) = %q, want %q", s, lit, want)
		}
	})
}
