package jsonspan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
)

func newCursor(text string) *Cursor {
	c := new(Cursor)
	c.Reset([]byte(text))
	return c
}

func skipAll(text string) (Span, error) {
	c := newCursor(text)
	span := c.Skip()
	return span, c.End()
}

func TestSkipAccepts(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `false`, `""`, `{}`, `[]`, ` [ ] `, "\t{\r\n} ",
		`0`, `-0`, `10`, `-1.50`, `1E+2`, `1e-2`, `0.0e0`, `123456789012345678901234567890`,
		`"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE42"`,
		`"\ud83d"`, `"\ude42\ud83d"`, // lone surrogates
		`{"a":1,"a":2}`,                // duplicate names
		"\"\xff\xfe\"", "{\"\x80\":0}", // not UTF-8
		"\"\x7f\u2028\u2029\"",              // no control characters, to JSON
		`[1,[2,{"a":[{}]}],"x",null,[[]]]`,  //
		`{"a" : {"b" : [ 1 , 2 ] } , "":0}`, //
		`"` + strings.Repeat("0123456789", 100) + `"`,
	} {
		span, err := skipAll(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, want := string(span.Of([]byte(text))), strings.Trim(text, " \t\r\n"); got != want {
			t.Errorf("%q: span %q, want %q", text, got, want)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, tt := range []struct {
		text   string
		offset int
	}{
		{``, 0},
		{` `, 1},
		{`nul`, 0},
		{`nulL`, 0},
		{`tru`, 0},
		{`x`, 0},
		{`1 2`, 2},
		{`nullx`, 4},
		{"\xEF\xBB\xBFnull", 0}, // byte order mark
		{`-`, 1},
		{`01`, 1},
		{`-01`, 2},
		{`1.`, 2},
		{`.5`, 0},
		{`1e`, 2},
		{`1e+`, 3},
		{`+1`, 0},
		{`0x1`, 1},
		{`1.e5`, 2},
		{`NaN`, 0},
		{`"`, 1},
		{`"abc`, 4},
		{`"\`, 1},
		{`"\q"`, 1},
		{`"\u12G4"`, 1},
		{`"\u123`, 1},
		{`"\u123"`, 1},
		{`"\U0041"`, 1},
		{"\"a\nb\"", 2},
		{"\"0123456789\x1f\"", 11},
		{"\"\x00\"", 1},
		{`'a'`, 0},
		{`[`, 1},
		{`[1`, 2},
		{`[1,`, 3},
		{`[1,]`, 3},
		{`[,1]`, 1},
		{`[1 2]`, 3},
		{`[1}`, 2},
		{`[}`, 1},
		{`]`, 0},
		{`[]]`, 2},
		{`{`, 1},
		{`{"a"`, 4},
		{`{"a":`, 5},
		{`{"a":1`, 6},
		{`{"a":1,`, 7},
		{`{"a":1,}`, 7},
		{`{,}`, 1},
		{`{a:1}`, 1},
		{`{"a"1}`, 4},
		{`{"a":1]`, 6},
		{`{1:2}`, 1},
		{`{"a":}`, 5},
		{`{"a",1}`, 4},
		{"[1]\v", 3},
		{"\u00a0[1]", 0},
		{`[1]//`, 3},
		{`[1,/**/2]`, 3},
	} {
		_, err := skipAll(tt.text)
		var se *SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("%q: error %v, want a SyntaxError", tt.text, err)
		} else if se.Offset != tt.offset {
			t.Errorf("%q: offset %d, want %d (%v)", tt.text, se.Offset, tt.offset, err)
		}
	}
}

// Stops must be found at every distance from the start and end of a text,
// because strings are scanned in blocks with a slow path for what is left.
func TestStringBlocks(t *testing.T) {
	for _, filler := range []string{"a", "\xa2", "\xdc", " ", "!", "#", "]", "["} {
		for n := range 150 {
			for _, tt := range []struct {
				stop string
				ok   bool
			}{
				{``, true},
				{`\"`, true},
				{`\\`, true},
				{`\\\"`, true},
				{`\u1aFf`, true},
				{`\n\t\t`, true},
				{`\x`, false},
				{`\u00g0`, false},
				{"\x1f", false},
				{"\x00", false},
				{"\\\n", false},
				{"\\\xee", false},
				{"\\\xa2", false},
				{`"`, false},
			} {
				text := `"` + strings.Repeat(filler, n) + tt.stop + strings.Repeat(filler, 150-n) + `"`
				if _, err := skipAll(text); (err == nil) != tt.ok {
					t.Fatalf("%q: %v, want ok %v", text, err, tt.ok)
				}
			}
		}
	}
}

// A run of backslashes escapes by twos, across the bounds of blocks too.
func TestBackslashRuns(t *testing.T) {
	for before := range 140 {
		for run := range 140 {
			text := []byte(strings.Repeat("x", before) + strings.Repeat(`\`, run) + `"` + strings.Repeat("n", 80) + `"`)
			end, msg := scanString(text, 0)
			if wantEnd, wantMsg := scanTail(text, 0); end != wantEnd || msg != wantMsg {
				t.Fatalf("%d backslashes after %d bytes: %d %q, want %d %q", run, before, end, msg, wantEnd, wantMsg)
			}
		}
	}
}

func TestWalk(t *testing.T) {
	data := []byte(` {"a" : [1, "x\n", {"b":{}}], "\u0062":null , "c":[]} `)
	var got []string
	c := newCursor(string(data))
	c.Object()
	for key, ok := c.NextKey(); ok; key, ok = c.NextKey() {
		got = append(got, "key "+string(key.Of(data)))
		if c.Kind() != Array {
			got = append(got, c.Kind().String()+" "+string(c.Skip().Of(data)))
			continue
		}
		start := c.Pos()
		for c.Array(); c.NextElem(); {
			got = append(got, c.Kind().String()+" "+string(c.Skip().Of(data)))
		}
		got = append(got, "all "+string(data[start:c.Pos()]))
	}
	difftest.Must(t, c.End())
	want := []string{
		`key "a"`, `a number 1`, `a string "x\n"`, `an object {"b":{}}`, `all [1, "x\n", {"b":{}}]`,
		`key "\u0062"`, `null null`, `key "c"`, `all []`,
	}
	difftest.Equal(t, want, got)
}

func TestKindErrors(t *testing.T) {
	for _, tt := range []struct {
		text string
		call func(c *Cursor)
		want string
	}{
		{`[]`, func(c *Cursor) { c.Object() }, "JSON value at offset 0 is an array, want an object"},
		{` {}`, func(c *Cursor) { c.Array() }, "JSON value at offset 1 is an object, want an array"},
		{`17`, func(c *Cursor) { c.Object() }, "JSON value at offset 0 is a number, want an object"},
		{`null`, func(c *Cursor) { c.Array() }, "JSON value at offset 0 is null, want an array"},
	} {
		c := newCursor(tt.text)
		tt.call(c)
		if err := c.Err(); err == nil || err.Error() != tt.want {
			t.Errorf("%s: error %v, want %v", tt.text, err, tt.want)
		}
		if span := c.Skip(); !span.IsZero() || c.End() != c.Err() {
			t.Errorf("%s: the error does not stick: %v, %v", tt.text, span, c.End())
		}
	}
}

func TestMaxDepth(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, tt := range []struct {
		text string
		want error
	}{
		{nested(MaxDepth), nil},
		{nested(MaxDepth + 1), ErrDepth},
		{strings.Repeat("[", 5_000_000), ErrDepth},
		{strings.Repeat(`{"a":`, 1_000_000), ErrDepth},
	} {
		if _, err := skipAll(tt.text); !errors.Is(err, tt.want) {
			t.Errorf("%.20q of %d bytes: %v, want %v", tt.text, len(tt.text), err, tt.want)
		}
	}
	c := newCursor(nested(600))
	for c.Array() && c.NextElem() {
	}
	if !errors.Is(c.Err(), ErrDepth) {
		t.Errorf("entering: %v, want %v", c.Err(), ErrDepth)
	}
}

// calls are all the ways to move a cursor, for tests that make them in orders
// that no sane caller would.
var calls = []func(c *Cursor){
	func(c *Cursor) { c.Skip() },
	func(c *Cursor) { c.Object() },
	func(c *Cursor) { c.NextKey() },
	func(c *Cursor) { c.Array() },
	func(c *Cursor) { c.NextElem() },
	func(c *Cursor) { c.Kind() },
	func(c *Cursor) { c.End() },
}

func TestWrongOrder(t *testing.T) {
	for _, tt := range []struct {
		text  string
		order []int // of calls
	}{
		{`{}`, []int{2}},
		{`[]`, []int{4}},
		{`[]`, []int{3, 2}},
		{`{}`, []int{1, 4}},
		{`[1]`, []int{3, 0}},
		{`[1]`, []int{3, 4, 4}},
		{`{"a":1}`, []int{1, 2, 2}},
		{`1`, []int{0, 0}},
		{`[]`, []int{3, 4, 4}},
		{`{}`, []int{1, 2, 2}},
		{`[1]`, []int{3, 6}},
		{`1`, []int{6}},
	} {
		c := newCursor(tt.text)
		for _, i := range tt.order {
			calls[i](c)
		}
		if !errors.Is(c.Err(), ErrOrder) {
			t.Errorf("%s, calls %v: %v, want %v", tt.text, tt.order, c.Err(), ErrOrder)
		}
	}
	var zero Cursor
	for _, call := range calls {
		call(&zero)
	}
}

func TestWalkAllocatesNothing(t *testing.T) {
	data := []byte(`{"n":1E+2,"s":[` + strings.Repeat(`{"k":"a \"quoted\" line\n","v":[1,null,true,"müßte 🙂"]},`, 1000) + `{}]}`)
	n := testing.AllocsPerRun(10, func() {
		var c Cursor
		c.Reset(data)
		c.Object()
		for _, ok := c.NextKey(); ok; _, ok = c.NextKey() {
			if c.Kind() != Array {
				c.Skip()
				continue
			}
			for c.Array(); c.NextElem(); {
				c.Object()
				for _, ok := c.NextKey(); ok; _, ok = c.NextKey() {
					c.Skip()
				}
			}
		}
		difftest.Must(t, c.End())
	})
	if n != 0 {
		t.Errorf("walk makes %v allocations, want 0", n)
	}
}

func TestErrorsRead(t *testing.T) {
	_, syntax := skipAll(`[1,]`)
	_, ended := skipAll(`[1`)
	got := fmt.Sprintf("%v\n%v", syntax, ended)
	want := "invalid JSON at offset 3: expected a value\n" +
		"invalid JSON at offset 2: expected a comma or closing bracket, found the end of the text"
	difftest.Equal(t, want, got)
}
