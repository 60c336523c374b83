package jsonspan

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// KeyIs reports whether key, a span of data from [Cursor.NextKey], is the
// given name. Escapes in the key are decoded: "\u0072ole" is role.
func KeyIs(data []byte, key Span, name string) bool {
	if key.Start < 0 || key.End > len(data) || key.Len() < 2 {
		return false
	}
	if lit := key.Of(data); NeedsUnquote(lit) {
		decoded, ok := Unquote(lit)
		return ok && decoded == name
	}
	return string(data[key.Start+1:key.End-1]) == name
}

// NeedsUnquote reports whether the string literal lit contains escapes. If it
// does not, the bytes between its quotes are the string.
func NeedsUnquote(lit []byte) bool {
	return bytes.IndexByte(lit, '\\') >= 0
}

// Unquote decodes a JSON string literal, quotes included. It reports false,
// with an empty string, if lit is not exactly one valid literal.
//
// Escaped surrogates that have no partner become U+FFFD, since Go strings have
// no good place for them; the literal itself still has the original. Bytes
// that are not UTF-8 are copied as they are.
func Unquote(lit []byte) (string, bool) {
	inner, ok := inside(lit)
	if !ok || !NeedsUnquote(inner) {
		return string(inner), ok
	}
	b, ok := AppendUnquote(make([]byte, 0, len(inner)), lit)
	return string(b), ok
}

// inside returns the bytes between the quotes of a valid literal.
func inside(lit []byte) ([]byte, bool) {
	if len(lit) < 2 || lit[0] != '"' {
		return nil, false
	}
	if end, msg := scanString(lit, 1); msg != "" || end != len(lit) {
		return nil, false
	}
	return lit[1 : len(lit)-1], true
}

// AppendUnquote appends what [Unquote] decodes to dst. If lit is not a valid
// literal it returns dst unchanged and false.
func AppendUnquote(dst, lit []byte) ([]byte, bool) {
	rest, ok := inside(lit)
	if !ok {
		return dst, false
	}
	for {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			return append(dst, rest...), true
		}
		dst = append(dst, rest[:i]...)
		rest = rest[i:]
		if rest[1] != 'u' {
			dst = append(dst, unescape(rest[1]))
			rest = rest[2:]
			continue
		}
		r, n := hexRune(rest), 6
		if utf16.IsSurrogate(r) {
			// A high and a low surrogate are one character. Anything else
			// is a lone one, and AppendRune writes U+FFFD for it.
			if len(rest) >= 12 && rest[6] == '\\' && rest[7] == 'u' {
				if pair := utf16.DecodeRune(r, hexRune(rest[6:])); pair != utf8.RuneError {
					r, n = pair, 12
				}
			}
		}
		dst = utf8.AppendRune(dst, r)
		rest = rest[n:]
	}
}

// The characters that have short escapes, and the letters of these escapes.
const short, letters = "\b\f\n\r\t\"\\", `bfnrt"\`

// unescape returns the character that a backslash and b stand for.
func unescape(b byte) byte {
	if i := strings.IndexByte(letters, b); i >= 0 {
		return short[i]
	}
	return b // a slash
}

// hexRune decodes the four hexadecimal digits of the valid escape \uXXXX at
// the start of b.
func hexRune(b []byte) (r rune) {
	for _, d := range b[2:6] {
		if d >= 'A' {
			d = d&^0x20 - 'A' + '0' + 10
		}
		r = r<<4 | rune(d-'0')
	}
	return r
}

// AppendQuote appends s to dst as a JSON string literal. It escapes only what
// must be escaped: quote, backslash and control characters. Invalid UTF-8 in s
// becomes U+FFFD, one for each bad byte, so that the result is always valid
// JSON in UTF-8.
func AppendQuote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0 // s[from:i] is copied as it is
	for i := 0; i < len(s); {
		b := s[i]
		if b >= utf8.RuneSelf {
			if _, n := utf8.DecodeRuneInString(s[i:]); n > 1 {
				i += n
				continue
			}
			dst = append(dst, s[from:i]...)
			dst = append(dst, "\uFFFD"...)
		} else if b < ' ' || b == '"' || b == '\\' {
			dst = append(dst, s[from:i]...)
			dst = appendEscape(dst, b)
		} else {
			i++
			continue
		}
		i++
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, b byte) []byte {
	if i := strings.IndexByte(short, b); i >= 0 {
		return append(dst, '\\', letters[i])
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
}
