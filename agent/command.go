package agent

import "strings"

// commandParts takes a command line apart into simple commands, for rules to judge one by
// one. ok is false if anything in it has an effect that its text does not show:
// substitutions, variables, redirections into files, subshells, groups, background jobs,
// several lines, comments, escapes outside of quotes. It errs on the side of false.
func commandParts(line string) (parts []string, ok bool) {
	line = strings.TrimSpace(line)
	var part []byte
	flush := func() bool {
		parts = append(parts, strings.TrimSpace(string(part)))
		part = nil
		return simple(parts[len(parts)-1])
	}
	for i := 0; i < len(line); {
		switch c := line[i]; c {
		case '\'', '"':
			bad := "\n\r"
			if c == '"' {
				bad = "$`\\!\n\r"
			}
			end := strings.IndexByte(line[i+1:], c)
			if end < 0 || strings.ContainsAny(line[i:i+end+1], bad) {
				return nil, false
			}
			part = append(part, line[i:i+end+2]...)
			i += end + 2
		case ';', '|', '&':
			n := 1
			if i+1 < len(line) && line[i+1] == c && c != ';' {
				n = 2
			}
			if c == '&' && n == 1 || i+n < len(line) && strings.IndexByte(";|&", line[i+n]) >= 0 {
				return nil, false
			}
			if !flush() {
				return nil, false
			}
			i += n
		case '>', '<':
			n := harmlessRedirection(line[i:], part)
			if n == 0 {
				return nil, false
			}
			if n := len(part); n > 1 && part[n-2] == ' ' && isDigit(part[n-1]) { // the number of a file descriptor
				part = part[:n-2]
			}
			i += n
		case '$', '`', '(', ')', '{', '}', '\\', '\n', '\r', '#', '!', '~', 0:
			return nil, false
		default:
			part = append(part, c)
			i++
		}
	}
	if strings.TrimSpace(string(part)) == "" && len(parts) > 0 && strings.HasSuffix(line, ";") {
		return parts, true
	}
	return parts, flush()
}

// simple reports whether a part is a command and its arguments: assignments before it
// change what it does, and keywords of the shell are not commands.
func simple(part string) bool {
	word, _, _ := strings.Cut(part, " ")
	if word == "" || strings.ContainsAny(word, "=\t'\"") {
		return false
	}
	switch word {
	case "eval", "exec", "source", ".", "command", "builtin", "if", "then", "else", "elif", "fi", "for", "while", "until",
		"do", "done", "case", "esac", "function", "select", "time", "coproc", "[[", "alias", "trap":
		return false
	}
	return true
}

// harmlessRedirection is the length of a redirection that writes no file: 2>&1, >&2,
// >/dev/null, </dev/null. 0: it is another one.
func harmlessRedirection(rest string, before []byte) int {
	if n := len(before); n > 1 && isDigit(before[n-1]) && before[n-2] != ' ' {
		return 0 // a word that ends in a digit
	}
	for _, form := range []string{">&1", ">&2", ">/dev/null", "> /dev/null", ">>/dev/null", "</dev/null", "< /dev/null"} {
		if after, ok := strings.CutPrefix(rest, form); ok && (after == "" || strings.IndexByte(" ;|", after[0]) >= 0) {
			return len(form)
		}
	}
	return 0
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
