package jsonspan

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"
)

var seeds = []string{
	`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a\nb \ud83d \u00e9 <&>"}]}],"n":-1.5E+3}`,
	`[[],{},"",0,-0,1e9,true,false,null,{"a":{"a":[1,2,{"a":3}]}}]`, "\"\xff\x80 \\u12G4\"", "\"\t\"", "\xef\xbb\xbf[]",
	`{"a":1,}`, `[01]`, `"\ud800\u0041\\"`, ` [ 1 , 2 ] `,
	`"0123456789012345678901234567890123456789\"\\\n\t0123456789012345678901234567890123456789"`,
}

// FuzzWalk holds the cursor against encoding/json: both accept the same texts, and
// a walk that enters every container sees what a Skip sees. (cmd/pleat/internal/bench/jsontext has the
// comparison with a second parser, scalar by scalar.)
func FuzzWalk(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Cursor
		c.Reset(data)
		span := c.Skip()
		err := c.End()
		if errors.Is(err, ErrDepth) {
			return // encoding/json allows more
		}
		want := json.Valid(data)
		if (err == nil) != want {
			t.Fatalf("%q: %v, encoding/json valid: %v", data, err, want)
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
		for _, s := range scalars {
			checkString(t, s.Of(data))
		}
		var compact bytes.Buffer
		err = json.Compact(&compact, data)
		if got := AppendCompact(nil, data); err != nil || !bytes.Equal(got, compact.Bytes()) {
			t.Fatalf("AppendCompact(%q) = %q, want %q (%v)", data, got, compact.Bytes(), err)
		}
	})
}

func checkString(t *testing.T, lit []byte) {
	got, ok := Unquote(lit)
	if ok != (lit[0] == '"') {
		t.Fatalf("Unquote(%q): %v", lit, ok)
	}
	var want string
	if err := json.Unmarshal(lit, &want); ok && (err != nil || got != want) && utf8.Valid(lit) {
		t.Fatalf("Unquote(%q) = %q, want %q (%v)", lit, got, want, err)
	}
	if ok && !KeyIs(lit, Span{0, len(lit)}, got) {
		t.Fatalf("KeyIs(%q, %q) = false", lit, got)
	}
}

// enterAll walks into every container and returns the spans of all scalars
// and names in order.
func enterAll(data []byte) ([]Span, error) {
	var c Cursor
	c.Reset(data)
	var scalars []Span
	var inside []Kind
	for {
		switch c.Kind() {
		case Object:
			c.Object()
			inside = append(inside, Object)
		case Array:
			c.Array()
			inside = append(inside, Array)
		case String:
			scalars = append(scalars, c.Skip())
		default:
			scalars = append(scalars, c.Skip())
		}
		for more := false; !more; {
			if len(inside) == 0 || c.Err() != nil {
				return scalars, c.End()
			}
			if inside[len(inside)-1] == Array {
				more = c.NextElem()
			} else {
				var key Span
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

// FuzzString holds the fast scanner of strings against the slow one that it
// uses for the end of a text. They must agree on everything, offsets of errors
// included, wherever in its blocks the interesting bytes fall.
func FuzzString(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), uint8(70))
	}
	f.Add([]byte(`\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\"\n\t\r\/\b\f\u00e9`), uint8(127))
	f.Fuzz(func(t *testing.T, data []byte, pad uint8) {
		text := bytes.Repeat([]byte("x"), int(pad))
		text = append(text, data...)
		text = append(text, text...)
		end, msg := scanString(text, 0)
		if wantEnd, wantMsg := scanTail(text, 0); end != wantEnd || msg != wantMsg {
			t.Fatalf("%q: %d %q, want %d %q", text, end, msg, wantEnd, wantMsg)
		}
	})
}

// FuzzOrder makes calls in any order on any text. None may panic, and none
// may move the cursor backwards or beyond the text.
func FuzzOrder(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), []byte{1, 2, 0, 2, 3, 4, 5, 4, 7})
	}
	f.Fuzz(func(t *testing.T, data, order []byte) {
		var c Cursor
		c.Reset(data)
		for _, i := range order {
			before, err := c.Pos(), c.Err()
			calls[int(i)%len(calls)](&c)
			if c.Pos() < before || c.Pos() > len(data) || err != nil && c.Err() != err {
				t.Fatalf("%q, %v: pos %d to %d, error %v to %v", data, order, before, c.Pos(), err, c.Err())
			}
		}
		AppendCompact(nil, data)
		Unquote(data)
		KeyIs(data, Span{len(order), len(data)}, "a")
	})
}

// FuzzSplice replaces some of the scalars of a valid text and checks that the
// rest is as before and that the new values are where the old ones were.
func FuzzSplice(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), "new\n\"value\"", uint64(0b1011))
	}
	f.Fuzz(func(t *testing.T, data []byte, with string, which uint64) {
		scalars, err := enterAll(data)
		if err != nil {
			return
		}
		lit := AppendQuote(nil, with)
		var edits []Edit
		for i, s := range scalars {
			if which>>(i%64)&1 != 0 {
				edits = append([]Edit{{s, lit}}, edits...) // backwards, to be sorted
			}
		}
		out, err := Splice(data, edits)
		if err != nil {
			t.Fatal(err)
		}
		after, err := enterAll(out)
		if err != nil || len(after) != len(scalars) {
			t.Fatalf("%q: %d scalars, %v, want %d", out, len(after), err, len(scalars))
		}
		from, outFrom := 0, 0
		for i, s := range scalars {
			if !bytes.Equal(data[from:s.Start], out[outFrom:after[i].Start]) {
				t.Fatalf("%q to %q: changed before scalar %d", data, out, i)
			}
			want := s.Of(data)
			if which>>(i%64)&1 != 0 {
				want = lit
			}
			if got := after[i].Of(out); !bytes.Equal(got, want) {
				t.Fatalf("%q to %q: scalar %d is %q, want %q", data, out, i, got, want)
			}
			from, outFrom = s.End, after[i].End
		}
		if !bytes.Equal(data[from:], out[outFrom:]) {
			t.Fatalf("%q to %q: changed at the end", data, out)
		}
	})
}

// FuzzQuote checks that quoting and unquoting give the string back.
func FuzzQuote(f *testing.F) {
	for _, s := range append(seeds, "\x00\x1f\x7f\u2028 \xff\xc3", "é🙂") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		lit := AppendQuote(nil, s)
		got, ok := Unquote(lit)
		if !ok || got != string([]rune(s)) {
			t.Fatalf("Unquote(%q) = %q, %v", lit, got, ok)
		}
		if NeedsUnquote(lit) != (len(lit) != len(got)+2) {
			t.Fatalf("NeedsUnquote(%q) = %v", lit, NeedsUnquote(lit))
		}
	})
}
