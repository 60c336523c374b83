package fence

import (
	"strings"
	"unicode"
)

// asASCII returns a text in which what looks like a letter or digit of a mark is one, and
// nothing else is left beyond ASCII. It is empty where nothing looks so.
func asASCII(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r > '~' && alike(r) > 0 }) < 0 {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return alike(r)
		}
		return r
	}, text)
}

// alike returns the letter from a to f or the digit that a rune beyond ASCII looks like or
// stands for, or -1.
func alike(r rune) rune {
	switch {
	case r >= '！' && r <= '～': // full-width
		return r - '！' + '!'
	case r >= '𝐀' && r <= '𝚣': // of mathematics: A to Z and a to z in many hands
		return 'a' + (r-'𝐀')%26
	case unicode.IsDigit(r):
		return digit(r)
	}
	for i, set := range [...]string{"аАαΑɑ", "ВΒЬƄ", "сСϲϹⅽ", "ԁⅾ", "еЕΕҽ", "ϜƒҒ"} { // Cyrillic, Greek, Latin
		if strings.ContainsRune(set, r) {
			return 'a' + rune(i)
		}
	}
	return -1
}

// digit returns the ASCII digit for one of any alphabet. They are coded in runs from 0 to 9.
func digit(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	return -1
}
