package anthropic

import (
	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// kindOf tells the kind of a JSON value; of no value it is Invalid.
func kindOf(value []byte) jsonspan.Kind {
	var c jsonspan.Cursor
	c.Reset(value, jsonspan.Limits{})
	return c.Kind()
}

// lookup returns the value of the object's last member with the name, nil if there is
// none or it is null, or if this is no object.
func lookup(object []byte, name string) []byte {
	var found []byte
	for key, value := range members(object) {
		if key == name {
			found = value
		}
	}
	if kindOf(found) == jsonspan.Null {
		return nil
	}
	return found
}

// members yields the members of an object, by their decoded names. What is no object
// has none.
func members(object []byte) func(yield func(string, []byte) bool) {
	return func(yield func(string, []byte) bool) {
		var c jsonspan.Cursor
		c.Reset(object, jsonspan.Limits{})
		if c.Kind() != jsonspan.Object {
			return
		}
		c.Object()
		for key, ok := c.NextKey(); ok; key, ok = c.NextKey() {
			name, value := text(key.Of(object)), c.Skip()
			if c.Err() != nil || !yield(name, value.Of(object)) {
				return
			}
		}
	}
}

// elements yields the elements of an array. What is no array has none.
func elements(array []byte) func(yield func(int, []byte) bool) {
	return func(yield func(int, []byte) bool) {
		var c jsonspan.Cursor
		c.Reset(array, jsonspan.Limits{})
		if c.Kind() != jsonspan.Array {
			return
		}
		c.Array()
		for i := 0; c.NextElem(); i++ {
			value := c.Skip()
			if c.Err() != nil || !yield(i, value.Of(array)) {
				return
			}
		}
	}
}

// text decodes a string literal; anything else is the empty string.
func text(literal []byte) string {
	s, _ := jsonspan.Unquote(literal)
	return s
}

// number reads a count; anything else is 0.
func number(value []byte) int {
	if kindOf(value) != jsonspan.Number {
		return 0
	}
	return atoi(string(value))
}

// valid reports whether the text is one JSON value of the kind.
func valid(value []byte, kind jsonspan.Kind) bool {
	var c jsonspan.Cursor
	c.Reset(value, jsonspan.Limits{})
	if c.Kind() != kind {
		return false
	}
	c.Skip()
	return c.End() == nil
}

// blank reports whether a string literal has nothing but white space in it. It looks
// no further than the first character that is something else.
func blank(literal string) bool {
	for i := 1; i < len(literal)-1; i++ {
		switch literal[i] {
		case ' ', '\t', '\n', '\r':
			continue
		case '\\':
			i++
			switch literal[i] {
			case 'n', 't', 'r', 'f':
				continue
			case 'u':
				if i+4 < len(literal) && spaceEscape(literal[i+1:i+5]) {
					i += 4
					continue
				}
			}
		}
		return false
	}
	return true
}

func spaceEscape(hex string) bool {
	switch hex {
	case "0020", "0009", "000a", "000A", "000b", "000B", "000c", "000C", "000d", "000D", "00a0", "00A0":
		return true
	}
	return false
}
