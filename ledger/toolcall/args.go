package toolcall

import (
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/secrets"
	"github.com/pleat-dev/pleat/internal/text"
)

// A callArg is one member of a call's arguments. The value stays JSON text: a file's
// content can be megabytes, and all that matters here are its neighbours.
type callArg struct {
	name string
	raw  jsonspan.Value
}

// maxCallArgs bounds what hostile arguments can cost.
const maxCallArgs = 64

// CallArgs returns the top-level members of JSON arguments, in their order. Damaged
// JSON gives the members before the damage; anything but an object gives none.
func CallArgs(input []byte) []callArg {
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

// ArgText returns the text of the first string member that has one of the names.
func ArgText(args []callArg, names ...string) string {
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
	MaxArgs    = 200
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
		if b.Len() > MaxArgs {
			break
		}
		value := a.raw[:min(len(a.raw), 8*maxArg)]
		txt := string(value)
		if a.isString() && len(value) == len(a.raw) {
			txt = a.text()
		}
		if secrets.Named(a.name) {
			txt = hiddenSecret
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.name)
		b.WriteByte('=')
		b.WriteString(text.OneLine(txt, maxArg))
	}
	return text.OneLine(b.String(), MaxArgs)
}

// hiddenSecret stands where a secret stood. The ledger is shown in every view and kept
// beside the transcript, so that a key on a command line should not spread through it.
const hiddenSecret = "…"

func hideSecrets(s string) string { return secrets.HideWords(s, hiddenSecret) }
