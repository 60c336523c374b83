package jsonspan

import "fmt"

// This file holds the state machine of the Cursor. Every function that can fail
// records the error with fail and reports false.

func (c *Cursor) fail(err error) bool {
	if c.err == nil {
		c.err = err
	}
	return false
}

func (c *Cursor) syntax(offset int, msg string) bool {
	if offset >= len(c.data) {
		msg += ", found the end of the text"
	}
	return c.fail(&SyntaxError{Offset: offset, Msg: msg})
}

// expect reports whether the walk is healthy and in state s.
func (c *Cursor) expect(s state) bool {
	return c.err == nil && (c.state == s || c.outOfOrder())
}

func (c *Cursor) outOfOrder() bool {
	return c.fail(fmt.Errorf("%w at offset %d", ErrOrder, c.pos))
}

func (c *Cursor) expectKind(want Kind) bool {
	if !c.expect(atValue) {
		return false
	}
	switch got := c.Kind(); {
	case got == want:
		return true
	case got == Invalid:
		return c.syntax(c.pos, "expected a value")
	default:
		return c.fail(fmt.Errorf("JSON value at offset %d is %v, want %v", c.pos, got, want))
	}
}

// push opens the container whose first byte is at the cursor.
func (c *Cursor) push(object bool) bool {
	if c.depth >= MaxDepth {
		return c.fail(fmt.Errorf("%w at offset %d: limit %d", ErrDepth, c.pos, MaxDepth))
	}
	word, bit := c.depth/64, uint64(1)<<(c.depth%64)
	if object {
		c.object[word] |= bit
	} else {
		c.object[word] &^= bit
	}
	c.depth++
	c.pos++
	c.state = atFirst
	return true
}

func (c *Cursor) inObject() bool {
	d := c.depth - 1
	return c.object[d/64]>>(d%64)&1 != 0
}

// member moves to the start of the next member of the innermost container,
// which must be an object or an array as given. At the closing byte it leaves
// the container and reports false.
func (c *Cursor) member(object bool, closing byte, expected string) bool {
	if c.err != nil {
		return false
	}
	if c.state != atFirst && c.state != atNext || c.inObject() != object {
		return c.outOfOrder()
	}
	c.space()
	if c.pos >= len(c.data) {
		return c.syntax(c.pos, expected)
	}
	switch b := c.data[c.pos]; {
	case b == closing:
		c.pos++
		c.depth--
		c.closeValue()
		return false
	case c.state == atFirst:
		return true
	case b == ',':
		c.pos++
		c.space()
		return true
	default:
		return c.syntax(c.pos, expected)
	}
}

func (c *Cursor) closeValue() {
	if c.state = atNext; c.depth == 0 {
		c.state = atEnd
	}
}

func (c *Cursor) space() {
	for c.pos < len(c.data) && isSpace(c.data[c.pos]) {
		c.pos++
	}
}

func (c *Cursor) str() bool {
	end, msg := scanString(c.data, c.pos+1)
	if msg != "" {
		return c.syntax(end, msg)
	}
	c.pos = end
	return true
}

// scalarOrOpen consumes the scalar at the cursor or enters the container.
func (c *Cursor) scalarOrOpen() bool {
	end, msg := 0, ""
	switch c.Kind() {
	case Object:
		return c.push(true)
	case Array:
		return c.push(false)
	case String:
		end, msg = scanString(c.data, c.pos+1)
	case Number:
		end, msg = scanNumber(c.data, c.pos)
	case True, False, Null:
		end, msg = scanLiteral(c.data, c.pos, c.Kind().String())
	default:
		end, msg = c.pos, "expected a value"
	}
	if msg != "" {
		return c.syntax(end, msg)
	}
	c.pos = end
	c.closeValue()
	return true
}
