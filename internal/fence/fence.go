// Package fence keeps what others wrote apart from what pleat says of it. A page is a user's
// message to the model, and a handoff reads like a conversation: a file or a tool's output
// that has our headings or speakers in it would speak for the user. So content of several
// lines stands between tags with a mark that it does not have, and the rest on one line,
// behind something of pleat's own.
package fence

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark returns sixteen digits that the text does not have. They follow from all of it, so that nobody
// can write them into it, and everybody who writes the same text writes the same mark.
func mark(text string) string {
	for sum := sha256.Sum256([]byte(text)); ; sum = sha256.Sum256(sum[:]) {
		digits := fmt.Sprintf("%016d", binary.BigEndian.Uint64(sum[:])%1e16)
		if !strings.Contains(text, digits) {
			return digits
		}
	}
}

// Block puts a text between tags that it cannot close, each on a line of its own.
func Block(tag, text string) string {
	end := " " + mark(text) + ">"
	return "<" + tag + end + "\n" + text + "\n</" + tag + end
}

// Answer begins what the recall tools answer.
const Answer = "[pleat "

// Tokens is about what the tags of a block take.
const Tokens = 20

// After writes a text behind something else: on the same line if it has only one.
func After(tag, text string) string {
	if isLine(text) {
		return " " + text
	}
	return "\n" + Block(tag, text)
}

// Item writes a text as an item of a list.
func Item(tag, text string) string { return "-" + After(tag, strings.TrimSpace(text)) }

// Alone writes a text that begins a line: as it is if it is one line that begins with a letter or
// a digit, and otherwise as a block.
func Alone(tag, text string) string {
	r, _ := utf8.DecodeRuneInString(text)
	seen := !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) // Hangul's fillers are letters
	if (unicode.IsLetter(r) || unicode.IsDigit(r)) && seen && isLine(text) {
		return text
	}
	return Block(tag, text)
}

// Line puts a text on one line: whatever a reader may take for the end of a line becomes a space.
func Line(text string) string {
	if isLine(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if breaksLine(r) {
			return ' '
		}
		return r
	}, text)
}

func isLine(text string) bool { return strings.IndexFunc(text, breaksLine) < 0 }

func breaksLine(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}
