package text

func IsSpaceByte(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func IsLetterByte(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func IsLetterRune(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f }

func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

func IsDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// isNumber reports whether a name is a number, a version or an address like 10.0.0.1.
func IsNumber(s string) bool {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && s[i] != '.' {
			return false
		}
	}
	return true
}

// isHex reports whether a word is a digest: hexadecimal with a digit in it.
func IsHex(s string) bool {
	digits := 0
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case '0' <= s[i] && s[i] <= '9':
			digits++
		case c < 'a' || c > 'f':
			return false
		}
	}
	return digits > 0
}
