package openai

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// checker collects violations. Rules look at the scanner's notes; the messages are
// scanned once more for it, so that decoding need not keep what only rules ask for.
type checker struct {
	scanner
	found  []pleat.Violation
	marked int // content parts with an explicit cache breakpoint
}

func (c *checker) report(rule, path, format string, args ...any) {
	c.found = append(c.found, pleat.Violation{Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)})
}

// The provider's wording for what can be wrong with any member.

func (c *checker) missing(path string) {
	c.report("parameter-missing", path, "Missing required parameter: '%s'.", path)
}

func (c *checker) wrongType(path, want string, got value) {
	c.report("parameter-type", path, "Invalid type for '%s': expected %s, but got %s instead.", path, want, c.typeName(got))
}

func (c *checker) emptyArray(path string) {
	c.report("array-empty", path, "Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", path)
}

func (c *checker) atMost(path, text string, limit int) {
	if n := utf8.RuneCountInString(text); n > limit {
		c.report("string-too-long", path,
			"Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", path, limit, n)
	}
}

func (c *checker) typeName(v value) string {
	switch v.kind {
	case jsonspan.Null:
		return "null"
	case jsonspan.True, jsonspan.False:
		return "a boolean"
	case jsonspan.Number:
		if _, err := strconv.Atoi(c.raw(v)); err == nil {
			return "an integer"
		}
		return "a decimal"
	}
	return v.kind.String()
}

// required checks a string that must be there.
func (c *checker) required(path string, v value) {
	switch {
	case v.kind == jsonspan.Invalid:
		c.missing(path)
	case !v.isString():
		c.wrongType(path, "a string", v)
	}
}

// name checks the name of a function. limit 0 is none.
func (c *checker) name(path string, v value, limit int) {
	if c.required(path, v); !v.isString() {
		return
	}
	name := c.text(v)
	if !isName(name) {
		c.report("name-pattern", path,
			"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", path)
	}
	if limit > 0 {
		c.atMost(path, name, limit)
	}
}

func isName(s string) bool {
	for i := range len(s) {
		b := s[i]
		if !('a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' || b == '_' || b == '-') {
			return false
		}
	}
	return s != ""
}

const (
	maxTools    = 128 // that a request may list
	maxToolName = 64  // characters, on the Chat wire
)

// common checks what both formats have outside of their messages.
func (c *checker) common(r *Request) {
	p := &r.p
	if p.cacheKey.isString() {
		c.atMost("prompt_cache_key", c.text(p.cacheKey), maxCacheKey)
	}
	if n := len(r.Tools); n > maxTools {
		c.report("tools-too-many", "tools",
			"Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", maxTools, n)
	}
	c.breakpoints(p)
}

// tools checks the definitions; chat says whether their members are one level deeper.
func (c *checker) tools(tools []pleat.Tool, chat bool) {
	for i, t := range tools {
		scan, s := scanTool(t.Raw)
		in := checker{scanner: *s} // the notes are of the tool's own bytes
		path, typ := fmt.Sprintf("tools[%d]", i), in.text(scan.typ)
		inside := scan.function
		if typ == "custom" {
			inside = scan.custom
		}
		switch {
		case !scan.typ.given():
			in.missing(path + ".type")
		case typ != "function" && typ != "custom": // the provider's own
		case chat && !inside.given():
			in.missing(path + "." + typ)
		case chat:
			in.name(path+"."+typ+".name", scan.name, maxToolName)
		case inside.given(): // of the other format
			in.missing(path + ".name")
		default:
			in.name(path+".name", scan.name, 0)
		}
		c.found = append(c.found, in.found...)
	}
}

// breakpoints counts explicit cache breakpoints: four are written, one of which the
// implicit one takes unless it is turned off. The wording is ours.
func (c *checker) breakpoints(p *params) {
	limit := 4
	if c.text(p.cacheMode) != "explicit" {
		limit = 3
	}
	if c.marked > limit {
		c.report("cache-breakpoints", "prompt_cache_options",
			"A request may have at most %d explicit prompt_cache_breakpoint markers, but has %d.", limit, c.marked)
	}
}

func (c *checker) parts(parts []part) {
	for i := range parts {
		if parts[i].marked {
			c.marked++
		}
	}
}

// isOne reports whether a number is 1, the default of temperature and top_p.
func (c *checker) isOne(v value) bool {
	f, err := strconv.ParseFloat(c.raw(v), 64)
	return err == nil && f == 1
}
