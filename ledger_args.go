package pleat

import (
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// A callArg is one member of a call's arguments. The value stays JSON text: a file's
// content can be megabytes, and all that matters here are its neighbours.
type callArg struct {
	name string
	raw  jsonspan.Value
}

// maxCallArgs bounds what hostile arguments can cost.
const maxCallArgs = 64

// callArgs returns the top-level members of JSON arguments, in their order. Damaged
// JSON gives the members before the damage; anything but an object gives none.
func callArgs(input []byte) []callArg {
	args := make([]callArg, 0, 8)
	for name, val := range jsonspan.Value(input).Fields() {
		if args = append(args, callArg{strings.Clone(name), val}); len(args) == maxCallArgs {
			break
		}
	}
	return args
}

// argument returns the first member that has one of the names, preferring earlier names.
func argument(args []callArg, names ...string) (callArg, bool) {
	for _, name := range names {
		for _, a := range args {
			if a.name == name {
				return a, true
			}
		}
	}
	return callArg{}, false
}

// argText returns the text of the first string member that has one of the names.
func argText(args []callArg, names ...string) string {
	for _, name := range names {
		if a, ok := argument(args, name); ok && a.isString() {
			return a.text()
		}
	}
	return ""
}

// argInt returns the whole number in the first member that has one of the names.
func argInt(args []callArg, names ...string) int {
	for _, name := range names {
		if a, ok := argument(args, name); ok {
			n, err := strconv.Atoi(strings.Trim(string(a.raw), `"`))
			if err == nil {
				return n
			}
		}
	}
	return 0
}

// argTexts returns the strings in a member that is a string or an array of strings.
func argTexts(args []callArg, names ...string) []string {
	a, ok := argument(args, names...)
	if !ok {
		return nil
	}
	if a.isString() {
		return []string{a.text()}
	}
	var list []string
	for _, raw := range a.elements() {
		if raw.Kind() == jsonspan.String {
			list = append(list, raw.Text())
		}
	}
	return list
}

func (a callArg) isString() bool { return a.raw.Kind() == jsonspan.String }

func (a callArg) text() string { return a.raw.Text() }

// elements returns the JSON texts of an array's elements.
func (a callArg) elements() []jsonspan.Value {
	var list []jsonspan.Value
	for elem := range a.raw.Elements() {
		if list = append(list, elem.Of(a.raw)); len(list) == maxCallArgs {
			break
		}
	}
	return list
}

// The lengths of what the ledger shows of a call, in bytes.
const (
	maxArgs    = 200
	maxArg     = 60
	maxCommand = 400
)

// plainArgs shows the small members of a tool that nobody knows: name=value.
func plainArgs(args []callArg, without ...string) string {
	var b strings.Builder
next:
	for _, a := range args {
		for _, w := range without {
			if a.name == w {
				continue next
			}
		}
		if b.Len() > maxArgs {
			break
		}
		value := a.raw[:min(len(a.raw), 8*maxArg)]
		text := string(value)
		if a.isString() && len(value) == len(a.raw) {
			text = a.text()
		}
		if secretName(a.name) {
			text = hiddenSecret
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.name)
		b.WriteByte('=')
		b.WriteString(oneLine(text, maxArg))
	}
	return oneLine(b.String(), maxArgs)
}

// hiddenSecret stands where a secret stood. The ledger is shown in every view and kept
// beside the transcript, so that a key on a command line should not spread through it.
const hiddenSecret = "…"

// secretName reports whether a member or variable is named like one that holds a secret.
func secretName(name string) bool {
	name = strings.ToLower(name)
	return name == "token" || strings.HasSuffix(name, "_token") ||
		containsAny(name, "password", "passwd", "secret", "api_key", "apikey", "api-key", "authorization", "access_token", "auth_token", "private_key")
}

// hideSecrets replaces what has the shape of a secret on a command line: well-known
// prefixes, bearer tokens, and values of variables and options that are named like one.
func hideSecrets(s string) string {
	if !mayHoldSecret(s) {
		return s
	}
	words := strings.Split(s, " ")
	for i, w := range words {
		switch name, value, ok := strings.Cut(w, "="); {
		case ok && value != "" && secretName(strings.TrimLeft(name, "-")):
			words[i] = name + "=" + hiddenSecret
		case i > 0 && (strings.HasSuffix(words[i-1], "Bearer") || strings.HasPrefix(words[i-1], "--") && secretName(words[i-1][2:])):
			words[i] = hiddenSecret
		default:
			words[i] = hideKey(w)
		}
	}
	return strings.Join(words, " ")
}

var secretPrefixes = []string{"sk-", "ghp_", "gho_", "ghs_", "github_pat_", "xoxb-", "xoxp-", "AKIA", "AIza", "glpat-", "npm_", "eyJ"}

func mayHoldSecret(s string) bool {
	return containsAny(s, secretPrefixes...) ||
		containsAny(strings.ToLower(s), "bearer ", "token", "password", "passwd", "secret", "key")
}

// hideKey cuts a word at a well-known key that begins in it and is long enough to be one.
func hideKey(w string) string {
	for _, p := range secretPrefixes {
		i := strings.Index(w, p)
		if i < 0 || i > 0 && isWordByte(w[i-1]) {
			continue
		}
		end := i + len(p)
		for end < len(w) && (isWordByte(w[end]) || w[end] == '-' || w[end] == '.') {
			end++
		}
		if end-i >= 20 && strings.ContainsAny(w[i+len(p):end], "0123456789") {
			return w[:i] + hiddenSecret + w[end:]
		}
	}
	return w
}
