package sse

// AppendEvent appends an event to dst in wire form. An empty typ is left out;
// one that contains a line break is cut there, for it could forge fields. The
// format cannot carry CR or CRLF in data: they arrive as LF.
func AppendEvent(dst []byte, typ string, data []byte) []byte {
	if line, _, _ := cutLine([]byte(typ)); len(line) > 0 {
		dst = append(dst, "event: "...)
		dst = append(dst, line...)
		dst = append(dst, '\n')
	}
	for more := true; more; {
		var line []byte
		line, data, more = cutLine(data)
		dst = append(dst, "data: "...)
		dst = append(dst, line...)
		dst = append(dst, '\n')
	}
	return append(dst, '\n')
}

// cutLine cuts text at its first line break, of any of the three kinds.
func cutLine(text []byte) (line, rest []byte, found bool) {
	for i, b := range text {
		switch {
		case b == '\r' && i+1 < len(text) && text[i+1] == '\n':
			return text[:i], text[i+2:], true
		case b == '\r' || b == '\n':
			return text[:i], text[i+1:], true
		}
	}
	return text, nil, false
}
