package bpe

// splitCL100k is the splitter of cl100k_base, whose pattern is, in order of
// preference:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// Newer releases of the reference encoder spell the last three differently, with
// the same result. This function does pieces of plain ASCII and leaves all else
// to cl100kAny.
func splitCL100k(t *classTable, b []byte, i int) int {
	if i+1 >= len(b) {
		return len(b)
	}
	switch plans[kinds[b[i]]][kinds[b[i+1]]] {
	case planWord:
		return letterRun(t, b, i)
	case planWordAfter:
		if end := contraction(b, i); end > i {
			return end
		}
		return letterRun(t, b, i+1)
	case planSymbols:
		return cl100kSymbols(t, b, i)
	case planSymbolsAfter:
		return cl100kSymbols(t, b, i+1)
	case planNumbers:
		return upToThreeNumbers(t, b, i+1)
	case planSpaces:
		return spaceRun(t, b, i)
	case planOne:
		return i + 1
	default:
		return cl100kAny(t, b, i)
	}
}

// cl100kAny is splitCL100k for any text: the pattern, alternative by alternative.
func cl100kAny(t *classTable, b []byte, i int) int {
	if end := contraction(b, i); end > i {
		return end
	}
	c, size := t.at(b, i)
	if c.startsWord() {
		if end := letterRun(t, b, i+size); end > i+size {
			return end
		}
	}
	switch {
	case c&letter != 0:
		return letterRun(t, b, i)
	case c&number != 0:
		return upToThreeNumbers(t, b, i+size)
	case c.isSymbol():
		return cl100kSymbols(t, b, i)
	case b[i] == ' ':
		if next, _ := t.at(b, i+1); next.isSymbol() {
			return cl100kSymbols(t, b, i+1)
		}
	}
	return spaceRun(t, b, i)
}

// letterRun returns the end of \p{L}* at b[i:].
func letterRun(t *classTable, b []byte, i int) int {
	for {
		if i < len(b) && kinds[b[i]] == kindLower {
			i = lowerRun(b, i+1)
		}
		c, size := t.at(b, i)
		if c&letter == 0 {
			return i
		}
		i += size
	}
}

// cl100kSymbols returns the end of [^\s\p{L}\p{N}]+[\r\n]* at b[i:], where a
// symbol is known to be.
func cl100kSymbols(t *classTable, b []byte, i int) int {
	i = symbolRun(t, b, i)
	for i < len(b) && (b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}
