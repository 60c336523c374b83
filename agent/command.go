package agent

import "strings"

// commandParts takes a command line apart into simple commands, for rules to judge one by
// one. ok is false if there is anything in it whose effect does not show in its words:
// substitutions, variables, redirections into files, subshells, groups, background jobs,
// several lines, comments, escapes outside of quotes. It errs on the side of false.
func commandParts(line string) (parts []string, ok bool) {
	line = strings.TrimSpace(line)
	var part strings.Builder
	flush := func() bool {
		p := strings.TrimSpace(part.String())
		part.Reset()
		parts = append(parts, p)
		return simple(p)
	}
	for i := 0; i < len(line); {
		switch c := line[i]; c {
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 || strings.ContainsAny(line[i:i+end+1], "\n\r") {
				return nil, false
			}
			part.WriteString(line[i : i+end+2])
			i += end + 2
		case '"':
			end := strings.IndexByte(line[i+1:], '"')
			if end < 0 || strings.ContainsAny(line[i:i+end+1], "$`\\!\n\r") {
				return nil, false
			}
			part.WriteString(line[i : i+end+2])
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
			n := harmlessRedirection(line[i:], part.String())
			if n == 0 {
				return nil, false
			}
			trimFd(&part)
			i += n
		case '$', '`', '(', ')', '{', '}', '\\', '\n', '\r', '#', '!', '~', 0:
			return nil, false
		default:
			part.WriteByte(c)
			i++
		}
	}
	if strings.TrimSpace(part.String()) == "" && len(parts) > 0 && strings.HasSuffix(line, ";") {
		return parts, true
	}
	return parts, flush()
}

// simple reports whether a part is a command and its arguments: assignments before it
// change what it does, and words of the shell's language are no commands.
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
func harmlessRedirection(rest, before string) int {
	if n := len(before); n > 0 && before[n-1] >= '0' && before[n-1] <= '9' && n > 1 && before[n-2] != ' ' {
		return 0 // a word that ends in a digit
	}
	for _, form := range []string{">&1", ">&2", ">/dev/null", "> /dev/null", ">>/dev/null", "</dev/null", "< /dev/null"} {
		if after, ok := strings.CutPrefix(rest, form); ok && (after == "" || strings.IndexByte(" ;|", after[0]) >= 0) {
			return len(form)
		}
	}
	return 0
}

// trimFd takes the number of a file descriptor off the end of a part.
func trimFd(part *strings.Builder) {
	s := part.String()
	if n := len(s); n > 1 && s[n-2] == ' ' && s[n-1] >= '0' && s[n-1] <= '9' {
		part.Reset()
		part.WriteString(s[:n-2])
	}
}

// looseParts cuts a line wherever a command might begin. It is for rules that deny.
func looseParts(line string) []string {
	var out []string
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(";|&\n\r()`{}$", r) }) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
