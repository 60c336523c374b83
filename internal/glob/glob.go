// Package glob turns patterns for paths, with ** and braces, into regular expressions.
package glob

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// errPattern reports a pattern for paths that is not well-formed.
var errPattern = errors.New("the pattern is not well-formed")

// maxPatterns bounds how many patterns without braces one pattern may expand to.
const maxPatterns = 1000

// Compile reads a pattern for paths: * and ? stand for characters of a name, ** for
// any number of folders, [a-z] and [^a-z] for one character, {a,b} for either pattern, and
// a backslash takes the next character as it is.
func Compile(pattern string) (*regexp.Regexp, error) {
	patterns, err := expandBraces(pattern, 0)
	if err != nil {
		return nil, err
	}
	for i, p := range patterns {
		if patterns[i], err = expression(p); err != nil {
			return nil, err
		}
	}
	return regexp.Compile(`(?s)^(?:` + strings.Join(patterns, "|") + `)$`)
}

// expandBraces expands the first braces at or after from, and those that follow.
func expandBraces(p string, from int) ([]string, error) {
	depth, open, start := 0, 0, 0
	var parts []string
	for i := from; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			i++
		case c == '[':
			i = classEnd(p, i)
		case c == '{':
			if depth++; depth == 1 {
				open, start = i, i+1
			}
		case depth == 1 && (c == ',' || c == '}'):
			parts = append(parts, p[start:i])
			start = i + 1
			if c == '}' {
				return joinBraces(p[:open], parts, p[i+1:])
			}
		case c == '}':
			depth--
			if depth < 0 {
				return nil, errPattern
			}
		}
	}
	if depth > 0 {
		return nil, errPattern
	}
	return []string{p}, nil
}

func joinBraces(before string, parts []string, after string) ([]string, error) {
	if strings.HasSuffix(before, "*") {
		before += "\x00" // this star and one in the braces are not **
	}
	var all []string
	for _, part := range parts {
		more, err := expandBraces(before+part+after, len(before))
		if err != nil {
			return nil, err
		}
		if all = append(all, more...); len(all) > maxPatterns {
			return nil, errors.New("the pattern has too many alternatives")
		}
	}
	return all, nil
}

// classEnd is the place of the bracket that ends the class that begins at i, or the end.
func classEnd(p string, i int) int {
	for i++; i < len(p) && p[i] != ']'; i++ {
		if p[i] == '\\' {
			i++
		}
	}
	return i
}

// expression is the regular expression for a pattern without braces.
func expression(p string) (string, error) {
	var b strings.Builder
	start := true // of a name
	for p != "" {
		rest := strings.TrimLeft(p, "*")
		switch stars := len(p) - len(rest); {
		case p[0] == 0: // see joinBraces
			p = p[1:]
			continue
		case p == "/**/":
			b.WriteString("(?:/.*/)?")
			return b.String(), nil
		case p == "/**":
			b.WriteString("(?:/.*)?") // the folder itself too
			return b.String(), nil
		case stars == 2 && start && rest == "":
			b.WriteString(".*")
		case stars == 2 && start && rest[0] == '/':
			b.WriteString("(?:[^/]*/)*")
			p = rest[1:]
			continue
		case stars > 0:
			b.WriteString("[^/]*")
		case p[0] == '?':
			b.WriteString("[^/]")
			rest = p[1:]
		case p[0] == '[':
			end := classEnd(p, 0)
			class, err := classExpression(p[1:min(end, len(p))])
			if err != nil || end >= len(p) {
				return "", errPattern
			}
			b.WriteString(class)
			rest = p[end+1:]
		default:
			var c string
			if c, rest = cutChar(p); c == "" {
				return "", errPattern
			}
			b.WriteString(regexp.QuoteMeta(c))
		}
		start = p[0] == '/'
		p = rest
	}
	return b.String(), nil
}

// cutChar cuts off a character, without the backslash before it; "" if none is left.
func cutChar(p string) (c, rest string) {
	p = strings.TrimPrefix(p, `\`)
	_, n := utf8.DecodeRuneInString(p)
	return p[:n], p[n:]
}

// classExpression is the regular expression for the class with this between its brackets.
func classExpression(p string) (string, error) {
	class := "["
	if p != "" && (p[0] == '!' || p[0] == '^') {
		class, p = "[^", p[1:]
	}
	if p == "" {
		return "", errPattern
	}
	for p != "" {
		lo, rest := cutChar(p)
		hi := lo
		if len(rest) > 1 && rest[0] == '-' {
			hi, rest = cutChar(rest[1:])
		}
		if lo == "" || hi == "" {
			return "", errPattern
		}
		from, _ := utf8.DecodeRuneInString(lo)
		to, _ := utf8.DecodeRuneInString(hi)
		if from > to {
			return "", errPattern
		}
		class += fmt.Sprintf(`\x{%x}-\x{%x}`, from, to)
		p = rest
	}
	return class + "]", nil
}
