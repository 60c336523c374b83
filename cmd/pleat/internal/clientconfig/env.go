package clientconfig

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"unicode"
)

// dotenvLines is .env as the npm package dotenv reads it, which the agents use.
type dotenvLines struct{}

// envSpace are the spaces of JavaScript.
const envSpace = `[\t-\r\p{Z}\x{FEFF}]`

// envLine is dotenv's own pattern: what it does not match, dotenv passes over.
var envLine = regexp.MustCompile(strings.ReplaceAll(`(?m)^\s*((?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?))`+
	`(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`+"`(?:\\\\`|[^`])*`"+`|[^#\r\n]+)?\s*(?:#.*)?$`, `\s`, envSpace))

// lines are those with keys.
func (dotenvLines) lines(text []byte) (list []line) {
	plain, at := unixLines(text)
	for _, m := range envLine.FindAllSubmatchIndex(plain, -1) {
		from, to := m[3], m[3]
		if m[6] >= 0 {
			value := plain[m[6]:m[7]]
			from = m[7] - len(bytes.TrimLeftFunc(value, isEnvSpace))
			to = max(from, m[6]+len(bytes.TrimRightFunc(value, isEnvSpace)))
		}
		l := line{name: string(plain[m[4]:m[5]]), from: at[from], to: at[to], end: len(text)}
		l.start = bytes.LastIndexByte(text[:at[m[2]]], '\n') + 1
		if n := bytes.IndexByte(text[l.to:], '\n'); n >= 0 {
			l.end = l.to + n + 1
		}
		list = append(list, l)
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

func (dotenvLines) decode(text []byte) (map[string]any, error) {
	if bytes.ContainsAny(text, "\u2028\u2029") {
		return nil, errors.New("it has signs that end a line for some programs and not for others")
	}
	values := make(map[string]any)
	for _, l := range (dotenvLines{}).lines(text) {
		plain, _ := unixLines(text[l.from:l.to])
		values[l.name] = unquoteEnv(string(plain))
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

func (dotenvLines) encode(value any, _ int, _ []byte) (string, error) {
	text, ok := value.(string)
	if !ok || strings.ContainsAny(text, " \t\r\n\"'`#$\\") {
		return "", errors.New("a value for .env must be one plain word")
	}
	return text, nil
}
