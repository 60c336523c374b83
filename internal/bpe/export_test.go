package bpe

// AppendTokens appends the tokens of text to dst and returns the extended slice.
// Special tokens have no effect: their spelling is text like any other. Tests compare the ids;
// the program only counts.
func (e *Encoding) AppendTokens(dst []uint32, text string) []uint32 {
	s := e.memory.Get().(*scratch)
	b := bytesOf(text)
	for i := 0; i < len(b); {
		j := e.split(e.classes, b, i)
		if rank := e.vocab.rank(b, i, j); rank != noRank {
			dst = append(dst, rank)
		} else {
			dst = s.appendMerged(dst, e.vocab, b, i, j)
		}
		i = j
	}
	e.release(s)
	return dst
}

// appendMerged appends the tokens of the piece b[i:j], which is not one.
func (s *scratch) appendMerged(dst []uint32, v *vocabulary, b []byte, i, j int) []uint32 {
	if !suitsScan(b, i, j) {
		s.long.count(v, b[i:j], windowSize, &dst)
		return dst
	}
	n := v.mergeScan(&s.parts, b, i, j)
	for k := range n {
		dst = append(dst, v.rank(b, i+s.parts[k].start(), i+s.parts[k+1].start()))
	}
	return dst
}
