// Package glob turns patterns for paths, with ** and braces, into regular expressions.
package glob

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// errPattern reports a pattern for paths that is not well-formed.
var errPattern = errors.New("the pattern is not well-formed")

// maxPatterns bounds how many patterns without braces one pattern may expand to.
const maxPatterns = 1000

// token finds the parts of a pattern: an escaped character, a class, stars, any other
// character.
var token = regexp.MustCompile(`(?s)\\.|\[(?:[!^](?:\\.|[^\\\]])+|(?:\\.|[^\\\]!^])(?:\\.|[^\\\]])*)\]|\*+|.`)

// Compile reads a pattern for paths: * and ? stand for characters of a name, ** for
// any number of folders, [a-z] and [^a-z] for one character, {a,b} for either pattern, and
// a backslash takes the next character as it is.
func Compile(pattern string) (*regexp.Regexp, error) {
	patterns, err := expandBraces(token.FindAllString(pattern, -1))
	if err != nil {
		return nil, err
	}
	alternatives := make([]string, len(patterns))
	for i, p := range patterns {
		alternatives[i] = expression(p)
	}
	re, err := regexp.Compile(`(?s)^(?:` + strings.Join(alternatives, "|") + `)$`)
	if err != nil {
		return nil, errPattern
	}
	return re, nil
}

// expandBraces returns the patterns without braces that a pattern stands for.
func expandBraces(p []string) (all [][]string, err error) {
	end := slices.Index(p, "}")
	if end < 0 {
		if slices.ContainsFunc(p, func(t string) bool { return t == "{" || t == "[" || t == `\` }) {
			return nil, errPattern
		}
		return [][]string{p}, nil
	}
	start := end
	for start--; start >= 0 && p[start] != "{"; start-- {
	}
	if start < 0 {
		return nil, errPattern
	}
	before := p[:start:start]
	if start > 0 && strings.HasPrefix(p[start-1], "*") {
		before = append(before, "") // a star before braces and one in them are not **
	}
	for inner := p[start+1 : end]; ; {
		n := slices.Index(inner, ",")
		if n < 0 {
			n = len(inner)
		}
		more, err := expandBraces(slices.Concat(before, inner[:n], p[end+1:]))
		if err != nil {
			return nil, err
		}
		if all = append(all, more...); len(all) > maxPatterns {
			return nil, errors.New("the pattern has too many alternatives")
		}
		if n == len(inner) {
			return all, nil
		}
		inner = inner[n+1:]
	}
}

// expression is the regular expression for a pattern without braces.
func expression(p []string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		rest := p[i+1:]
		folders := p[i] == "**" && (i == 0 || p[i-1] == "/")
		switch t := p[i]; {
		case t == "/" && slices.Equal(rest, []string{"**", "/"}):
			return b.String() + "(?:/.*/)?"
		case t == "/" && slices.Equal(rest, []string{"**"}):
			return b.String() + "(?:/.*)?" // the folder itself too
		case folders && len(rest) == 0:
			b.WriteString(".*")
		case folders && rest[0] == "/":
			b.WriteString("(?:[^/]*/)*")
			i++
		case strings.HasPrefix(t, "*"):
			b.WriteString("[^/]*")
		case t == "?":
			b.WriteString("[^/]")
		case strings.HasPrefix(t, "["):
			b.WriteString(class(t))
		default:
			b.WriteString(regexp.QuoteMeta(strings.TrimPrefix(t, `\`)))
		}
	}
	return b.String()
}

// escape finds what has to be written differently in the class of a regular expression.
var escape = regexp.MustCompile(`(?s)\\.|\[`)

// class is the regular expression for a class of characters.
func class(t string) string {
	t = t[1 : len(t)-1]
	if strings.HasPrefix(t, "!") {
		t = "^" + t[1:]
	}
	return "[" + escape.ReplaceAllStringFunc(t, func(c string) string {
		r, _ := utf8.DecodeRuneInString(strings.TrimPrefix(c, `\`))
		return fmt.Sprintf(`\x{%x}`, r)
	}) + "]"
}
