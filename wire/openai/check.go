package openai

import (
	"fmt"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/transcript"
)

// checker collects violations. Rules look at the scanner's notes; the messages are
// scanned once more for it, so that decoding need not keep what only rules ask for.
//
// The rules are those that a change to the messages can break, and those about names and
// ids, which messages of other wires bring along. Parameters, schemas and the members of
// items are left to the provider.
type checker struct {
	scanner
	found  []transcript.Violation
	marked int // content parts with an explicit cache breakpoint
}

func (c *checker) report(rule, path, format string, args ...any) {
	c.found = append(c.found, transcript.Violation{Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) emptyArray(path string) {
	c.report("array-empty", path, "Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", path)
}

const (
	maxItemID   = 64 // characters of the id of an item or call
	maxToolName = 64 // characters, on the Chat wire
)

func (c *checker) atMost(path, text string, limit int) {
	if n := utf8.RuneCountInString(text); n > limit {
		c.report("string-too-long", path,
			"Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", path, limit, n)
	}
}

// name checks the name of a function.
func (c *checker) name(path string, v value) {
	if v.isString() && !isName(c.text(v)) {
		c.report("name-pattern", path,
			"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", path)
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
