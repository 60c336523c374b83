package bpe

// split finds the end of the piece that starts at b[i]. It looks at nothing before i,
// always moves ahead, and ends on the border of a character. The pattern of
// o200k_base is, in order of preference:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// This function does pieces of plain ASCII and leaves all else to splitAny.
func split(t *classTable, b []byte, i int) int {
	if i+1 >= len(b) {
		return len(b)
	}
	switch p := plans[kinds[b[i]]][kinds[b[i+1]]]; p {
	case planWord, planWordAfter:
		return asciiWord(t, b, i, i+int(p-planWord))
	case planSymbols:
		return symbols(t, b, i)
	case planSymbolsAfter:
		return symbols(t, b, i+1)
	case planNumbers:
		return upToThreeNumbers(t, b, i+1)
	case planSpaces:
		return spaceRun(t, b, i)
	case planOne:
		return i + 1
	default:
		return splitAny(t, b, i)
	}
}

// asciiWord returns the end of the piece that starts at b[start:] and whose
// first letter, an ASCII one, is at i. Among ASCII letters both word alternatives
// come to the same: upper case, then lower case, either of which may be missing.
func asciiWord(t *classTable, b []byte, start, i int) int {
	if kinds[b[i]] == kindUpper {
		for i++; i < len(b) && kinds[b[i]] == kindUpper; i++ {
		}
	}
	i = lowerRun(b, i)
	switch {
	case i == len(b):
		return i
	case b[i] == '\'':
		return contraction(b, i)
	case b[i] >= 0x80: // may be a letter or mark, and change what came before
		return splitAny(t, b, start)
	}
	return i
}

// splitAny is split for any text: the pattern, alternative by alternative.
func splitAny(t *classTable, b []byte, i int) int {
	c, size := t.at(b, i)
	if end := word(t, b, i, c, size); end > i {
		return contraction(b, end)
	}
	switch {
	case c&number != 0:
		return upToThreeNumbers(t, b, i+size)
	case c.isSymbol():
		return symbols(t, b, i)
	case b[i] == ' ':
		if next, _ := t.at(b, i+1); next.isSymbol() {
			return symbols(t, b, i+1)
		}
	}
	return spaceRun(t, b, i)
}

// word returns the end of the letters of a word at b[i:], or i if the
// pattern finds no word there. The character at i has class c.
//
// The order of the four attempts matters: a mark can be both the character before
// a word and part of one, and the alternative that wants lower case comes first
// even where the other would match more.
func word(t *classTable, b []byte, i int, c class, size int) int {
	if c.startsWord() {
		if end := mixedCase(t, b, i+size); end > i+size {
			return end
		}
	}
	if end := mixedCase(t, b, i); end > i {
		return end
	}
	if c.startsWord() {
		if end := headRun(t, b, i+size); end > i+size {
			return end
		}
	}
	return headRun(t, b, i)
}

// mixedCase returns the end of [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+
// at b[i:], or i if it does not match.
func mixedCase(t *classTable, b []byte, i int) int {
	// The first set takes all it can. If nothing of the second follows, it gives
	// back characters up to the last one that is in both sets.
	end := i
	for {
		c, size := t.at(b, i)
		if c&headCase == 0 {
			break
		}
		i += size
		if c&tailCase != 0 {
			end = i
		}
	}
	for {
		c, size := t.at(b, i)
		if c&tailCase == 0 {
			return end
		}
		i += size
		end = i
	}
}

// headRun returns the end of [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]* at b[i:]. No
// character of the other set can follow where it is used, because mixedCase would
// have matched.
func headRun(t *classTable, b []byte, i int) int {
	for {
		c, size := t.at(b, i)
		if c&headCase == 0 {
			return i
		}
		i += size
	}
}

// symbols returns the end of [^\s\p{L}\p{N}]+[\r\n/]* at b[i:], where a
// symbol is known to be.
func symbols(t *classTable, b []byte, i int) int {
	i = symbolRun(t, b, i)
	for i < len(b) && (b[i] == '\n' || b[i] == '\r' || b[i] == '/') {
		i++
	}
	return i
}
