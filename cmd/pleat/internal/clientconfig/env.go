package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// envSyntax is .env as the npm package dotenv reads it, which the agents use.
type envSyntax struct{}

// envSpace are the spaces of JavaScript.
const envSpace = `[\t-\r\p{Z}\x{FEFF}]`

// envLine is dotenv's own pattern: what it does not match, dotenv passes over.
var envLine = regexp.MustCompile(strings.ReplaceAll(`(?m)^\s*((?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?))`+
	`(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`+"`(?:\\\\`|[^`])*`"+`|[^#\r\n]+)?\s*(?:#.*)?$`, `\s`, envSpace))

// envEntry is a key, and where it and its value are in the text.
type envEntry struct {
	name            string
	start, from, to int
}

func envEntries(text []byte) (list []envEntry) {
	plain, at := unixLines(text)
	for _, m := range envLine.FindAllSubmatchIndex(plain, -1) {
		e := envEntry{string(plain[m[4]:m[5]]), m[2], m[3], m[3]}
		if m[6] >= 0 {
			value := plain[m[6]:m[7]]
			e.from = m[7] - len(bytes.TrimLeftFunc(value, isEnvSpace))
			e.to = max(e.from, m[6]+len(bytes.TrimRightFunc(value, isEnvSpace)))
		}
		e.start, e.from, e.to = at[e.start], at[e.from], at[e.to]
		list = append(list, e)
	}
	return list
}

func isEnvSpace(r rune) bool {
	return r >= '\t' && r <= '\r' || r == '\ufeff' || unicode.Is(unicode.Z, r)
}

// unixLines ends lines as dotenv does before it reads them. at says where each byte was.
func unixLines(text []byte) (plain []byte, at []int) {
	for i, c := range text {
		if c == '\n' && i > 0 && text[i-1] == '\r' {
			continue
		}
		if c == '\r' {
			c = '\n'
		}
		plain, at = append(plain, c), append(at, i)
	}
	return plain, append(at, len(text))
}

func (envSyntax) empty() string { return "" }

func (envSyntax) decode(text []byte) (map[string]any, error) {
	if bytes.ContainsAny(text, "\u2028\u2029") {
		return nil, errors.New("it has signs that end a line for some programs and not for others")
	}
	values := make(map[string]any)
	for _, e := range envEntries(text) {
		plain, _ := unixLines(text[e.from:e.to])
		values[e.name] = unquoteEnv(string(plain))
	}
	return values, nil
}

func unquoteEnv(value string) string {
	if len(value) < 2 || !strings.Contains("'\"`", value[:1]) {
		return value
	}
	quote := value[:1]
	if strings.HasSuffix(value, quote) {
		value = value[1 : len(value)-1]
	}
	if quote == `"` {
		value = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(value)
	}
	return value
}

func (envSyntax) encode(value any, _ int, _ []byte) (string, error) {
	text, ok := value.(string)
	if !ok || strings.ContainsAny(text, " \t\r\n\"'`#$\\") {
		return "", errors.New("a value for .env must be one plain word")
	}
	return text, nil
}

// find returns the last of several, which is the one that dotenv takes.
func (envSyntax) find(text []byte, key []string) (from, to int, ok bool, err error) {
	e, ok, err := envKey(text, key)
	return e.from, e.to, ok, err
}

func envKey(text []byte, key []string) (found envEntry, ok bool, err error) {
	if len(key) > 1 {
		return found, false, fmt.Errorf("%s: only keys at the top can be set", strings.Join(key, "."))
	}
	for _, e := range envEntries(text) {
		if e.name == key[0] {
			found, ok = e, true
		}
	}
	return found, ok, nil
}

func (s envSyntax) insert(text []byte, key []string, value any) (step, error) {
	if !plainName.MatchString(key[0]) {
		return step{}, fmt.Errorf("%q: names may have letters, digits, _ and - only", key[0])
	}
	written, err := s.encode(value, 0, text)
	if err != nil {
		return step{}, err
	}
	end := lineEnd(text)
	st := step{At: len(text), New: key[0] + "=" + written + end, Key: key, Value: written}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		st.New = end + st.New
	}
	return st, nil
}

// remove takes out the lines that a key is on.
func (envSyntax) remove(text []byte, key []string, _ int) []byte {
	e, ok, err := envKey(text, key)
	if err != nil || !ok {
		return text
	}
	from, to := bytes.LastIndexByte(text[:e.start], '\n')+1, len(text)
	if n := bytes.IndexByte(text[e.to:], '\n'); n >= 0 {
		to = e.to + n + 1
	}
	return splice(text, from, string(text[from:to]), "")
}
