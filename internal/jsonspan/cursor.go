package jsonspan

import (
	"errors"
	"fmt"
)

// MaxDepth is the deepest nesting that a [Cursor] follows. It is a constant so
// that the cursor's stack can live inside the cursor: one bit for each open
// container.
const MaxDepth = 512

// A Cursor walks one JSON text, as the package documentation describes.
// The zero Cursor is at the end of its (empty) walk; Reset begins one.
// A Cursor is not safe for concurrent use.
type Cursor struct {
	data  []byte
	pos   int // in state atValue: the first byte of the value
	state state
	depth int // open containers
	err   error
	// object has bit d-1 set if the container at depth d is an object.
	object [MaxDepth / 64]uint64
}

// A state says what the cursor expects next.
type state byte

const (
	atEnd   state = iota // nothing but whitespace
	atValue              // a value
	atFirst              // the first member of a container, or its end
	atNext               // a comma and another member, or the end of the container
)

// Reset begins a walk over data, which must not change until its end.
func (c *Cursor) Reset(data []byte) {
	// The stack keeps its old bits: push sets each one before it is read.
	c.data, c.pos, c.state, c.depth, c.err = data, 0, atValue, 0, nil
	c.space()
}

// Pos returns the offset of the next unread byte. When the cursor stands at a
// value this is the first byte of that value, not of the space before it.
func (c *Cursor) Pos() int { return c.pos }

// Err returns the first error of the walk so far, or nil. It is a
// [*SyntaxError], says that a value is of another kind, or wraps [ErrDepth] or
// [ErrOrder].
func (c *Cursor) Err() error { return c.err }

// End ends the walk: the text's one value must be consumed and only space may
// follow. It returns the first error of the whole walk.
func (c *Cursor) End() error {
	if !c.expect(atEnd) {
		return c.err
	}
	c.space()
	if c.pos < len(c.data) {
		c.syntax(c.pos, "expected the end of the text")
	}
	return c.err
}

// Object enters the object at the cursor. It reports false, and the walk ends
// with an error, if the value is of another kind.
func (c *Cursor) Object() bool { return c.expectKind(Object) && c.push(true) }

// Array enters the array at the cursor, as Object does an object.
func (c *Cursor) Array() bool { return c.expectKind(Array) && c.push(false) }

// Fields walks the object at the cursor, for use in a range statement. It yields
// each member's decoded name, as by [Text], with the cursor at the member's
// value. It skips member values that the loop does not consume, and a value at
// the cursor that is no object.
func (c *Cursor) Fields(yield func(name string) bool) {
	if c.Kind() != Object {
		c.Skip()
		return
	}
	c.Object()
	for key, ok := c.NextKey(); ok; key, ok = c.NextKey() {
		if !yield(Text(c.data, key)) {
			return
		}
		if c.state == atValue {
			c.Skip()
		}
	}
}

// Items walks the array at the cursor as [Cursor.Fields] does an object.
func (c *Cursor) Items(yield func() bool) {
	if c.Kind() != Array {
		c.Skip()
		return
	}
	for c.Array(); c.NextElem(); {
		if !yield() {
			return
		}
		if c.state == atValue {
			c.Skip()
		}
	}
}

// NextKey moves to the next member of the object entered last. It returns the
// span of the member's name, quotes included, and leaves the cursor at the
// member's value. After the last member it consumes the closing brace and
// reports false; the cursor is then after the object.
func (c *Cursor) NextKey() (key Span, ok bool) {
	if !c.member(true, '}', "expected a comma or closing brace") {
		return Span{}, false
	}
	start := c.pos
	if start >= len(c.data) || c.data[start] != '"' {
		c.syntax(start, "expected a member name")
		return Span{}, false
	}
	if !c.str() {
		return Span{}, false
	}
	key = Span{start, c.pos}
	c.space()
	if c.pos >= len(c.data) || c.data[c.pos] != ':' {
		c.syntax(c.pos, "expected a colon")
		return Span{}, false
	}
	c.pos++
	c.space()
	c.state = atValue
	return key, true
}

// NextElem moves to the next element of the array entered last. After the last
// one it consumes the closing bracket and reports false; the cursor is then
// after the array.
func (c *Cursor) NextElem() bool {
	if !c.member(false, ']', "expected a comma or closing bracket") {
		return false
	}
	c.state = atValue
	return true
}

// Skip consumes the value at the cursor, whatever its kind and with everything
// in it, and returns its span. It checks the skipped text in full.
func (c *Cursor) Skip() Span {
	if !c.expect(atValue) {
		return Span{}
	}
	start, base := c.pos, c.depth
	for c.scalarOrOpen() {
		// Close containers until one has another member. The value is over
		// when all that it opened are closed. The loop and the stack of bits
		// replace recursion, which hostile nesting could exhaust.
		more := false
		for c.depth > base && !more && c.err == nil {
			if c.inObject() {
				_, more = c.NextKey()
			} else {
				more = c.NextElem()
			}
		}
		if !more {
			break
		}
	}
	if c.err != nil {
		return Span{}
	}
	return Span{start, c.pos}
}

// SkipKnown consumes the object at the cursor if its bytes are those of known, an object that
// was walked before, and reports whether they are. It compares bytes instead of walking
// them, which is several times faster.
func (c *Cursor) SkipKnown(known string) bool {
	end := c.pos + len(known)
	if c.Kind() != Object || known == "" || known[0] != '{' || end > len(c.data) || string(c.data[c.pos:end]) != known {
		return false
	}
	c.pos = end
	c.closeValue()
	return true
}

// A Kind is the kind of a JSON value, told by its first byte.
type Kind byte

// The kinds of values. Invalid is the kind of anything that begins no value.
const (
	Invalid Kind = iota
	Null
	True
	False
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"invalid", "null", "true", "false", "a number", "a string", "an array", "an object"}

func (k Kind) String() string { return kindNames[k] }

// kinds maps the first byte of a value to its kind.
var kinds = [256]Kind{
	'n': Null, 't': True, 'f': False, '"': String, '[': Array, '{': Object, '-': Number,
	'0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
}

// Kind returns the kind of the value at the cursor without consuming it. It
// looks at the first byte only, so a later Skip may still fail. It is Invalid
// where the cursor stands at no value, and after an error.
func (c *Cursor) Kind() Kind {
	if c.err != nil || c.state != atValue || c.pos >= len(c.data) {
		return Invalid
	}
	return kinds[c.data[c.pos]]
}

var (
	// ErrDepth reports containers nested deeper than [MaxDepth].
	ErrDepth = errors.New("JSON nested too deep")
	// ErrOrder reports a Cursor method called where it makes no sense, such
	// as NextKey inside an array. It is a mistake of the caller, not of the
	// text.
	ErrOrder = errors.New("cursor method called out of order")
)

// A SyntaxError reports a text that is not JSON.
type SyntaxError struct {
	Offset int    // of the first byte that cannot be
	Msg    string // what was expected there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at offset %d: %s", e.Offset, e.Msg)
}
