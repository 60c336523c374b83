package jsonspan

import (
	"encoding/binary"
	"math/bits"

	"github.com/pleat-dev/pleat/internal/text"
)

// The scanners take the text and the offset to begin at. They return the
// offset after what they scanned and an empty message, or the offset of the
// first wrong byte and a message that says what is wrong with it.

func isSpace(b byte) bool {
	return b == ' ' || b == '\n' || b == '\r' || b == '\t'
}

const ones = 0x0101010101010101 // times b: b in every byte of a word

// stops marks the bytes of a word that end a run of plain string characters:
// quote, backslash and control characters. The lowest bit set is the high bit
// of the first such byte. Bits above it may be wrong, by borrows.
//
// Flipping bit 1 moves the quote (0x22) to 0x20, right behind the control
// characters, and the two printable characters that it trades places with
// (space and '!') out of the way. Then one subtraction finds both: it borrows
// from the high bit of each byte below 0x21. Bytes of 0x80 and more had their
// high bit to begin with and are cleared.
func stops(w uint64) uint64 {
	quoteOrControl := w ^ 0x02*ones
	backslash := w ^ '\\'*ones
	return ((quoteOrControl - 0x21*ones) | (backslash - ones)) &^ w & (0x80 * ones)
}

// scanString scans a string literal from after its opening quote.
//
// Nearly all bytes of a request are inside strings, so this decides what the
// whole walk costs. Short strings end within a few words. In long ones it takes
// turns with plain, which is faster but knows fewer escapes.
func scanString(data []byte, i int) (int, string) {
	for {
		for turn := i + 16; i < turn; {
			if len(data)-i < 8 {
				return scanTail(data, i)
			}
			m := stops(binary.LittleEndian.Uint64(data[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) / 8
			if data[i] == '"' {
				return i + 1, ""
			}
			n := escapeLen(data[i:])
			if n == 0 {
				return i, stopMessage(data[i])
			}
			i += n
		}
		i += plain(data[i:])
	}
}

// StringEnd returns the offset of the quote that ends the string that begins at text[i], the length of the
// text if none does. It takes any text, damaged or not.
func StringEnd[T string | []byte](text T, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i, len(text))
}

// scanTail is scanString for the last bytes of a text, less than a word.
func scanTail(data []byte, i int) (int, string) {
	for i < len(data) {
		n := 1
		switch b := data[i]; {
		case b == '"':
			return i + 1, ""
		case b == '\\':
			n = escapeLen(data[i:])
		case b < ' ':
			n = 0
		}
		if n == 0 {
			return i, stopMessage(data[i])
		}
		i += n
	}
	return i, "unterminated string"
}

func stopMessage(b byte) string {
	if b == '\\' {
		return "invalid escape in string"
	}
	return "control character in string"
}

// simpleEscape has the characters that make an escape with a backslash alone.
var simpleEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// escapeLen returns the length of the escape sequence that begins b, or 0 if
// there is none.
func escapeLen(b []byte) int {
	switch {
	case b[0] != '\\':
		return 0
	case len(b) >= 2 && simpleEscape[b[1]]:
		return 2
	case len(b) >= 6 && b[1] == 'u' && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) && isHex(b[5]):
		return 6
	}
	return 0
}

func isHex(b byte) bool {
	return text.IsDigitByte(b) || 'a' <= b|0x20 && b|0x20 <= 'f'
}

// scanNumber scans a number from its first byte, a minus or a digit.
func scanNumber(data []byte, i int) (int, string) {
	if data[i] == '-' {
		i++
	}
	// A leading zero stands alone. What follows it is not the number's
	// business: in 01 the caller finds a 1 where it wants a comma.
	if i < len(data) && data[i] == '0' {
		i++
	} else if end := text.DigitsEnd(data, i); end > i {
		i = end
	} else {
		return i, "expected a digit"
	}
	if i < len(data) && data[i] == '.' {
		end := text.DigitsEnd(data, i+1)
		if end == i+1 {
			return end, "expected a digit after the decimal point"
		}
		i = end
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		end := text.DigitsEnd(data, i)
		if end == i {
			return end, "expected a digit in the exponent"
		}
		i = end
	}
	return i, ""
}

func scanLiteral(data []byte, i int, lit string) (int, string) {
	if len(data)-i >= len(lit) && string(data[i:i+len(lit)]) == lit {
		return i + len(lit), ""
	}
	return i, "expected " + lit
}
