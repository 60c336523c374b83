package bpe

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
