package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonSyntax is JSON, with comments and commas at the end as editors allow them.
type jsonSyntax struct{}

// parse reads a text, which may begin with a byte order mark.
func parse(text []byte) (hujson.Value, error) {
	text = bytes.Clone(text) // the value's changes would be the text's
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		copy(text, "   ")
	}
	return hujson.Parse(text)
}

func (jsonSyntax) decode(text []byte) (map[string]any, error) {
	values := make(map[string]any)
	if len(bytes.TrimSpace(text)) == 0 {
		return values, nil
	}
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	v.Standardize()
	if err := json.Unmarshal(v.Pack(), &values); err != nil {
		return nil, err
	}
	if values == nil {
		return nil, errors.New("it is null, not an object")
	}
	return values, nil
}

func (jsonSyntax) encode(value any, depth int, text []byte) (string, error) {
	unit := indentOf(text)
	return encodeJSON(value, strings.Repeat(unit, depth), unit)
}

func encodeJSON(value any, prefix, indent string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, indent)
	err := enc.Encode(value)
	return strings.TrimSpace(b.String()), err
}

// indentOf is the indentation of the first member that has a line of its own.
func indentOf(text []byte) string {
	open := bytes.IndexByte(text, '{')
	rest := text[open+1:]
	trimmed := bytes.TrimLeft(rest, " \t\r\n")
	space := rest[:len(rest)-len(trimmed)]
	if i := bytes.LastIndexByte(space, '\n'); i >= 0 && i+1 < len(space) {
		return string(space[i+1:])
	}
	return "  "
}

// item is a member of an object or an element of a list.
type item struct {
	hujson.Value
	name string
	from int // where it begins: its name, if it has one
}

// comma is where the comma behind it is or would be.
func (i item) comma() int { return i.EndOffset + len(i.AfterExtra) }

func items(v hujson.Value) (list []item) {
	switch v := v.Value.(type) {
	case *hujson.Object:
		for _, m := range v.Members {
			list = append(list, item{m.Value, m.Name.Value.(hujson.Literal).String(), m.Name.StartOffset})
		}
	case *hujson.Array:
		for _, e := range v.Elements {
			list = append(list, item{e, "", e.StartOffset})
		}
	}
	return list
}

// lookup goes down to a step's key, or to the value in its list, as far as there is one. in is the innermost object
// or list, depth how many were passed, and at which of its items leads on; -1: none.
func lookup(text []byte, st step) (in hujson.Value, depth, at int, err error) {
	for in, err = parse(text); err == nil; in = items(in)[at].Value {
		inList := depth == len(st.Key)
		kind, what := hujson.Kind('{'), "an object"
		if inList {
			kind, what = '[', "a list"
		}
		if in.Value.Kind() != kind {
			name := strings.Join(append([]string{"the file"}, st.Key[:depth]...), ".")
			return in, depth, -1, fmt.Errorf("%s is not %s", name, what)
		}
		list := items(in)
		at = len(list) - 1 // from the last, which is the one that readers take
		for at >= 0 && (inList && !sameValue(string(text[list[at].from:list[at].EndOffset]), st.Value) ||
			!inList && list[at].name != st.Key[depth]) {
			at--
		}
		if depth++; at < 0 || depth == st.depth() {
			break
		}
	}
	return in, depth, at, err
}

// depth is how many objects and lists are around what a step sets.
func (st step) depth() int {
	if st.Member {
		return len(st.Key) + 1
	}
	return len(st.Key)
}

func (jsonSyntax) find(text []byte, st step) (from, to int, ok bool, err error) {
	in, depth, at, err := lookup(text, st)
	if err != nil || depth < st.depth() || at < 0 {
		return 0, 0, false, err
	}
	one := items(in)[at]
	return one.StartOffset, one.EndOffset, true, nil
}

func (s jsonSyntax) insert(text []byte, st step, value any) (step, error) {
	in, depth, _, err := lookup(text, st)
	if err != nil {
		return step{}, err
	}
	nested, name := value, ""
	if st.Member && depth < st.depth() {
		nested = []any{value}
	}
	for i := len(st.Key) - 1; i >= depth; i-- {
		nested = map[string]any{st.Key[i]: nested}
	}
	written, err1 := s.encode(value, st.depth(), text)
	added, err2 := s.encode(nested, depth, text)
	if depth <= len(st.Key) {
		name, err = s.encode(st.Key[depth-1], 0, text)
		name += ": "
	}
	if err := errors.Join(err1, err2, err); err != nil {
		return step{}, err
	}
	unit, list := indentOf(text), items(in)
	line := "\n" + strings.Repeat(unit, depth) + name + added
	st.At, st.Value, st.Made = in.StartOffset+1, written, st.depth()-depth
	switch inner := string(text[in.StartOffset+1 : in.EndOffset-1]); {
	case len(list) > 0: // a comma that is there follows the new member
		st.At, st.New = list[len(list)-1].EndOffset, ","+line
	case strings.TrimSpace(inner) == "":
		st.Old, st.New = inner, line+"\n"+strings.Repeat(unit, depth-1)
	default: // comments alone
		st.New = line
	}
	return st, nil
}

// remove takes out what a step has set, and as many of the objects and lists around it as were made for it and
// have nothing else now. Comments stay.
func (s jsonSyntax) remove(text []byte, st step) []byte {
	in, depth, at, err := lookup(text, st)
	if err != nil || depth < st.depth() || at < 0 {
		return text
	}
	text, empty := cut(text, in, at)
	around := step{Key: st.Key[:depth-1], Made: st.Made - 1}
	if empty && st.Made > 0 && depth > 1 {
		return s.remove(text, around)
	}
	return text
}

// cut takes an item out of an object or a list, with its comma, or the one before it where it has none. It
// reports whether nothing is left, not even a comment.
func cut(text []byte, in hujson.Value, at int) (_ []byte, empty bool) {
	list := items(in)
	one, last := list[at], at == len(list)-1
	begin, before, rest := in.StartOffset+1, text[:one.from], text[one.EndOffset:]
	if at > 0 {
		begin = list[at-1].comma() + 1
	}
	blank := len(bytes.TrimSpace(text[begin:one.from])) == 0
	if text[one.comma()] == ',' {
		rest = splice(rest, len(one.AfterExtra), ",", "")
	} else if at > 0 {
		before = splice(before, begin-1, ",", "")
	}
	end := text[in.EndOffset-1:]
	line, next := bytes.TrimRight(before, " \t"), bytes.TrimLeft(rest, " \t\r")
	switch {
	case len(list) == 1 && blank && len(bytes.TrimSpace(bytes.TrimSuffix(rest, end))) == 0:
		return slices.Concat(text[:begin], end), true
	case bytes.HasSuffix(line, []byte("\n")) && bytes.HasPrefix(next, []byte("\n")): // lines of its own
		before, rest = line, next[1:]
	case last && blank: // the brace was in the line before
		before = bytes.TrimRight(before, " \t\r\n")
	case last:
		before = line
	default:
		rest = bytes.TrimLeft(rest, " \t")
	}
	return slices.Concat(before, rest), false
}
