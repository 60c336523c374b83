package anthropic

// blank reports whether a string literal has nothing but white space in it. It looks
// no further than the first character that is something else.
func blank(literal string) bool {
	for i := 1; i < len(literal)-1; i++ {
		switch literal[i] {
		case ' ', '\t', '\n', '\r':
			continue
		case '\\':
			i++
			switch literal[i] {
			case 'n', 't', 'r', 'f':
				continue
			case 'u':
				if i+4 < len(literal) && spaceEscape(literal[i+1:i+5]) {
					i += 4
					continue
				}
			}
		}
		return false
	}
	return true
}

func spaceEscape(hex string) bool {
	switch hex {
	case "0020", "0009", "000a", "000A", "000b", "000B", "000c", "000C", "000d", "000D", "00a0", "00A0":
		return true
	}
	return false
}
