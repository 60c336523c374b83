package toolcall

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/secrets"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// arg is one member of a call's arguments. The value stays JSON text: it can be a file of
// megabytes when only its neighbours matter.
type arg struct {
	name string
	raw  jsonspan.Value
}

// maxCallArgs bounds what hostile arguments can cost.
const maxCallArgs = 64

// callArgs returns the top-level members of JSON arguments, in their order. Damaged
// JSON gives the members before the damage; anything but an object gives none.
func callArgs(input []byte) []arg {
	args := make([]arg, 0, 8)
	for name, val := range jsonspan.Value(input).Fields() {
		if args = append(args, arg{strings.Clone(name), val}); len(args) == maxCallArgs {
			break
		}
	}
	return args
}

// argument returns the first member that has one of the names, preferring earlier names.
func argument(args []arg, names ...string) (arg, bool) {
	for _, name := range names {
		if i := slices.IndexFunc(args, func(a arg) bool { return a.name == name }); i >= 0 {
			return args[i], true
		}
	}
	return arg{}, false
}

// ArgText returns the text of the first string in a call's arguments that has one of the names.
func ArgText(c transcript.ToolCall, names ...string) string {
	return argText(callArgs([]byte(c.Input.String())), names...)
}

// argText returns the text of the first string member that has one of the names.
func argText(args []arg, names ...string) string {
	for _, name := range names {
		if a, ok := argument(args, name); ok && a.isString() {
			return a.raw.Text()
		}
	}
	return ""
}

// argInt returns the whole number in the first member that has one of the names.
func argInt(args []arg, names ...string) int {
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
func argTexts(args []arg, names ...string) []string {
	a, ok := argument(args, names...)
	if !ok {
		return nil
	}
	if a.isString() {
		return []string{a.raw.Text()}
	}
	var list []string
	for _, raw := range a.elements() {
		if raw.Kind() == jsonspan.String {
			list = append(list, raw.Text())
		}
	}
	return list
}

func (a arg) isString() bool { return a.raw.Kind() == jsonspan.String }

// elements returns the JSON texts of an array's elements.
func (a arg) elements() []jsonspan.Value {
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

// plainArgs shows the small arguments of an unknown tool as name=value.
func plainArgs(args []arg, without ...string) string {
	var b strings.Builder
	for _, a := range args {
		if slices.Contains(without, a.name) {
			continue
		}
		if b.Len() > MaxArgs {
			break
		}
		value := a.raw[:min(len(a.raw), 8*maxArg)]
		txt := string(value)
		if a.isString() && len(value) == len(a.raw) {
			txt = a.raw.Text()
		}
		if secrets.Named(a.name) {
			txt = hiddenSecret
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.name + "=" + text.OneLine(txt, maxArg))
	}
	return text.OneLine(b.String(), MaxArgs)
}

// hiddenSecret replaces a secret. Pages show the ledger: a key on a command line must not
// spread through them.
const hiddenSecret = "…"

func hideSecrets(s string) string { return secrets.HideWords(s, hiddenSecret) }
