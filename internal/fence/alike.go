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
	case r >= 0xE0020 && r <= 0xE007E: // tags, which nobody sees but a model reads
		return r - 0xE0000
	case unicode.IsDigit(r):
		return digit(r)
	}
	if c, ok := alikes[r]; ok {
		return c
	}
	return -1
}

// alikes are raised, lowered, small, circled, boxed and numbering forms, and letters of other alphabets.
var alikes = func() map[rune]rune {
	known := make(map[rune]rune)
	for i, set := range [...]string{
		"⁰₀⓪⓿🄀🄁🄋🄌", "¹₁①⑴⒈⓵❶➀➊🄂", "²₂②⑵⒉⓶❷➁➋🄃", "³₃③⑶⒊⓷❸➂➌🄄", "⁴₄④⑷⒋⓸❹➃➍🄅",
		"⁵₅⑤⑸⒌⓹❺➄➎🄆", "⁶₆⑥⑹⒍⓺❻➅➏🄇", "⁷₇⑦⑺⒎⓻❼➆➐🄈", "⁸₈⑧⑻⒏⓼❽➇➑🄉", "⁹₉⑨⑼⒐⓽❾➈➒🄊",
		"аАαΑɑªᴀᴬᵃₐ⒜Ⓐⓐ🄐🄰🅐🅰🇦", "ВΒЬƄʙᴮᵇℬ⒝Ⓑⓑ🄑🄱🅑🅱🇧", "сСϲϹⅽⅭᴄᶜℂℭꟲ⒞Ⓒⓒ🄒🄫🄲🅒🅲🇨",
		"ԁⅾⅮᴅᴰᵈⅅⅆ⒟Ⓓⓓ🄓🄳🅓🅳🇩", "еЕΕҽᴇᴱᵉₑℯℰⅇ⒠Ⓔⓔ🄔🄴🅔🅴🇪", "ϜƒҒꜰᶠℱꟳ⒡Ⓕⓕ🄕🄵🅕🅵🇫",
	} {
		for _, r := range set {
			known[r] = rune("0123456789abcdef"[i])
		}
	}
	return known
}()

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
