package bpe

// A kind is the class of one byte, coarse enough to switch on. Text is mostly
// ASCII, and the kinds of two neighbouring bytes then decide which alternative of
// the pattern applies.
type kind uint8

const (
	kindSymbol kind = iota
	kindLower
	kindUpper
	kindDigit
	kindBlank      // the space character
	kindOtherSpace // tab, vertical tab, form feed
	kindNewline    // CR, LF
	kindMultibyte  // anything beyond ASCII: needs a look at the whole character
)

var kinds = func() (table [256]kind) {
	for c := range table {
		switch {
		case c >= 0x80:
			table[c] = kindMultibyte
		case c >= 'a' && c <= 'z':
			table[c] = kindLower
		case c >= 'A' && c <= 'Z':
			table[c] = kindUpper
		case c >= '0' && c <= '9':
			table[c] = kindDigit
		case c == ' ':
			table[c] = kindBlank
		case c == '\r' || c == '\n':
			table[c] = kindNewline
		case c == '\t' || c == '\v' || c == '\f':
			table[c] = kindOtherSpace
		}
	}
	return table
}()

// A plan says how to find the end of a piece of ASCII text. It follows from the
// kinds of its first two bytes. Looking it up
// takes one branch where testing the cases would take several, none of which can
// be predicted.
type plan uint8

const (
	planWord      plan = iota // a word that starts here
	planWordAfter             // a word that starts with the next byte
	planSymbols
	planSymbolsAfter // a space, then symbols
	planNumbers
	planSpaces
	planOne // one byte that nothing belongs to
	planAny // not decided by the kinds
)

var plans = func() (table [8][8]plan) {
	for first := range kind(8) {
		for second := range kind(8) {
			table[first][second] = planFor(first, second)
		}
	}
	return table
}()

func planFor(first, second kind) plan {
	isLetter := second == kindLower || second == kindUpper
	switch {
	case first == kindLower || first == kindUpper:
		return planWord
	case first == kindDigit:
		return planNumbers
	case first == kindNewline:
		return planSpaces
	case first == kindMultibyte || second == kindMultibyte:
		return planAny
	case isLetter:
		return planWordAfter
	case first == kindSymbol:
		return planSymbols
	case first == kindBlank && second == kindSymbol:
		return planSymbolsAfter
	case second == kindSymbol || second == kindDigit:
		return planOne
	default:
		return planSpaces
	}
}

// lowerRun returns the end of the run of a-z that starts at b[i:].
func lowerRun(b []byte, i int) int {
	for i < len(b) && kinds[b[i]] == kindLower {
		i++
	}
	return i
}

// contraction returns the end of (?i:'s|'t|'re|'ve|'m|'ll|'d)? at b[i:], which is
// i if there is none. The long s is the one character beyond ASCII that equals a
// letter of these when case is ignored.
func contraction(b []byte, i int) int {
	if i+1 >= len(b) || b[i] != '\'' {
		return i
	}
	var second byte
	switch b[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		second = 'e'
	case 'l':
		second = 'l'
	default:
		if i+2 < len(b) && b[i+1] == 0xC5 && b[i+2] == 0xBF { // U+017F
			return i + 3
		}
		return i
	}
	if i+2 < len(b) && b[i+2]|0x20 == second {
		return i + 3
	}
	return i
}

// upToThreeNumbers returns the end of \p{N}{1,3} given that one number ends at i.
func upToThreeNumbers(t *classTable, b []byte, i int) int {
	for range 2 {
		c, size := t.at(b, i)
		if c&number == 0 {
			break
		}
		i += size
	}
	return i
}

// symbolRun returns the end of [^\s\p{L}\p{N}]* at b[i:].
func symbolRun(t *classTable, b []byte, i int) int {
	for i < len(b) {
		if kinds[b[i]] == kindSymbol {
			i++
			continue
		}
		c, size := t.at(b, i)
		if !c.isSymbol() {
			break
		}
		i += size
	}
	return i
}

// spaceRun returns the end of a piece of white space that starts at b[i:], where
// a white space character is known to be:
//
//	\s*[\r\n]+ | \s+(?!\S) | \s+
//
// The first alternative gives back characters until it ends on a line break, so
// it reaches to the last one of the run. Without any line break the second
// applies: the run, less its last character if a word or symbol follows, because
// that one belongs to what follows. The third serves a single such character.
func spaceRun(t *classTable, b []byte, i int) int {
	start, last, afterNewline := i, i, -1
	for i < len(b) {
		c, size := t.at(b, i)
		if c&space == 0 {
			break
		}
		last = i
		i += size
		if c&newline != 0 {
			afterNewline = i
		}
	}
	switch {
	case afterNewline >= 0:
		return afterNewline
	case i == len(b) || last == start:
		return i
	default:
		return last
	}
}
