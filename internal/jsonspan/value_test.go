package jsonspan

import (
	"fmt"
	"strings"
	"testing"
)

func TestTextAndView(t *testing.T) {
	data := []byte(`"plain" "esc\u0061ped\n" "`)
	if got := Text(data, Span{Start: 0, End: 7}); got != "plain" {
		t.Errorf("Text = %q", got)
	}
	if got := Text(data, Span{Start: 8, End: 24}); got != "escaped\n" {
		t.Errorf("Text = %q", got)
	}
	if Text(data, Span{}) != "" || View(data, Span{}) != "" {
		t.Error("a zero span has text")
	}
	if n := testing.AllocsPerRun(10, func() { Text(data, Span{Start: 0, End: 7}) }); n != 0 {
		t.Errorf("Text of a plain literal allocates %v times", n)
	}
}

func TestValueGet(t *testing.T) {
	v := Value(` {"a":{"b":[10,{"c":"x"},null]},"n":null,"\u0061\u0061":1,"d":1,"d":2,"e":-1.5e1}  `)
	for _, tt := range []struct {
		path []any
		want string // the value's text; empty: there is none
	}{
		{nil, strings.TrimSpace(string(v))},
		{[]any{"a", "b", 0}, "10"},
		{[]any{"a", "b", 1, "c"}, `"x"`},
		{[]any{"a", "b", 2}, ""}, // null
		{[]any{"a", "b", 3}, ""},
		{[]any{"a", 0}, ""},
		{[]any{"a", "b", "c"}, ""},
		{[]any{"n"}, ""},
		{[]any{"n", "x"}, ""},
		{[]any{"aa"}, "1"},
		{[]any{"d"}, "2"}, // the last counts
		{[]any{"e"}, "-1.5e1"},
	} {
		if got := v.Get(tt.path...); string(got) != tt.want || (got == nil) != (tt.want == "") {
			t.Errorf("Get(%v) = %q, want %q", tt.path, got, tt.want)
		}
	}
	if at, ok := v.Find("n"); !ok || string(at.Of(v)) != "null" {
		t.Errorf("Find(n) = %v, %t", at, ok)
	}
	if Value(nil).Get("a") != nil || Value("7").Get("a") != nil {
		t.Error("what is no object has a member")
	}
}

func TestValueInt(t *testing.T) {
	for text, want := range map[string]int{
		"7": 7, "-7": -7, "1e3": 1000, "1000.0": 1000, "1.9": 1, `"7"`: 0, "1e300": 0, "": 0, "null": 0, "NaN": 0,
		"[1]": 0,
	} {
		if got := Value(text).Int(); got != want {
			t.Errorf("Int of %s = %d, want %d", text, got, want)
		}
	}
}

func TestValueValid(t *testing.T) {
	for _, tt := range []struct {
		text string
		kind Kind
		ok   bool
	}{
		{` {"a":1} `, Object, true},
		{`{"a":1}`, Invalid, true},
		{`[1]`, Object, false},
		{`{"a":1}x`, Object, false},
		{`{"a":}`, Invalid, false},
		{``, Invalid, false},
		{strings.Repeat("[", 600) + strings.Repeat("]", 600), Array, false},
	} {
		if err := Value(tt.text).Valid(tt.kind); (err == nil) != tt.ok {
			t.Errorf("Valid(%v) of %.20s: %v", tt.kind, tt.text, err)
		}
	}
	if err := Value("[]").Valid(Object); !strings.HasSuffix(err.Error(), "is an array, want an object") {
		t.Error("an array is refused for something else than its kind")
	}
}

// What stands before the damage is found, and loops may end early.
func TestValueDamaged(t *testing.T) {
	var names []string
	for name, v := range Value(`{"a":1,"b":[2,3],"c":}`).Fields() {
		names = append(names, name+"="+string(v))
	}
	for elem := range Value(`[1,2,`).Elements() {
		names = append(names, fmt.Sprint(elem))
	}
	for range Value(`{"a":1,"b":2}`).Members() {
		names = append(names, "one")
		break
	}
	if got := strings.Join(names, " "); got != "a=1 b=[2,3] {1 2} {3 4} one" {
		t.Errorf("got %s", got)
	}
}

// A loop may take a member's value or leave it; what is no object is skipped.
func TestCursorRanges(t *testing.T) {
	const text = `{"list":[1,[2],{"x":3}],"left":{"y":[4]},"object":7,"\u0065nd":true}`
	var got []string
	var c Cursor
	c.Reset([]byte(text))
	for name := range c.Fields {
		switch name {
		case "list":
			for range c.Items {
				if c.Kind() == Number {
					got = append(got, string(c.Skip().Of([]byte(text))))
				}
			}
		case "object":
			for range c.Fields {
				t.Error("a number has members")
			}
		default:
			got = append(got, name)
		}
	}
	if err := c.End(); err != nil || strings.Join(got, " ") != "1 left end" {
		t.Errorf("got %v, %v", got, err)
	}
	plain := []byte(`{"a":[1],"b":2}`)
	if n := testing.AllocsPerRun(10, func() {
		c.Reset(plain)
		for range c.Fields {
			for range c.Items {
			}
		}
	}); n != 0 {
		t.Errorf("walking allocates %v times", n)
	}
}
