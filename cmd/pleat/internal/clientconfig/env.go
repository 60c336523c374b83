package clientconfig

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
)

// envLines is .env with a key on each line. Programs differ in how they read anything else, such as a value
// over several lines: a file that has that is refused.
type envLines struct{ keyLines }

// A backslash before a quotation mark is a mark inside of the value for some, and the end of it for others.
var envSyntax = lineSyntax{
	lineFormat: envLines{keyLines{key: regexp.MustCompile(`^\s*(?:export\s+)?([\w.-]+)[ \t]*=[ \t]*` +
		`('(?:[^'\\]|\\+[^'\\])*'|"(?:[^"\\]|\\+[^"\\])*"|[^'"\x60#]*?)\s*(#.*)?$`)}},
	sep: "=",
}

func (f envLines) decode(text []byte) (map[string]any, error) {
	values := make(map[string]any)
	for _, l := range f.lines(text) {
		row := bytes.TrimRight(text[l.start:l.end], "\r\n")
		if l.name == "" && !l.ignore || bytes.ContainsAny(row, "\r\u2028\u2029") { // which end a line for some programs
			return nil, errors.New("it has more than lines of NAME=value")
		}
		if !l.ignore {
			values[l.name] = strings.Trim(string(text[l.from:l.to]), `"'`)
		}
	}
	return values, nil
}

func (envLines) encode(value any, _ int, _ []byte) (string, error) {
	text, ok := value.(string)
	if !ok || strings.ContainsAny(text, " \t\r\n\"'`#$\\") {
		return "", errors.New("a value for .env must be one plain word")
	}
	return text, nil
}
