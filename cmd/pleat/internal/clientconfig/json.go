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

func (jsonSyntax) empty() string { return "{}\n" }

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
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	unit := indentOf(text)
	enc.SetIndent(strings.Repeat(unit, depth), unit)
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

// lookup goes down to a key as far as there is one. in is the innermost object, depth the number of names in key
// up to one of its members, and at which member that is; -1: it has none.
func lookup(text []byte, key []string) (in hujson.Value, depth, at int, err error) {
	for in, err = parse(text); err == nil; in = in.Value.(*hujson.Object).Members[at].Value {
		object, ok := in.Value.(*hujson.Object)
		if !ok {
			err = fmt.Errorf("%s is not an object", strings.Join(append([]string{"the file"}, key[:depth]...), "."))
			break
		}
		at = len(object.Members) - 1
		for at >= 0 && object.Members[at].Name.Value.(hujson.Literal).String() != key[depth] {
			at-- // from the last, which is the one that readers take
		}
		if depth++; at < 0 || depth == len(key) {
			break
		}
	}
	return in, depth, at, err
}

func (jsonSyntax) find(text []byte, key []string) (from, to int, ok bool, err error) {
	in, depth, at, err := lookup(text, key)
	if err != nil || depth < len(key) || at < 0 {
		return 0, 0, false, err
	}
	one := items(in)[at]
	return one.value, one.to, true, nil
}

func (s jsonSyntax) insert(text []byte, key []string, value any) (step, error) {
	in, depth, _, err := lookup(text, key)
	if err != nil {
		return step{}, err
	}
	nested := value
	for i := len(key) - 1; i >= depth; i-- {
		nested = map[string]any{key[i]: nested}
	}
	written, err1 := s.encode(value, len(key), text)
	added, err2 := s.encode(nested, depth, text)
	name, err3 := s.encode(key[depth-1], 0, text)
	if err := errors.Join(err1, err2, err3); err != nil {
		return step{}, err
	}
	unit, list := indentOf(text), items(in)
	line := "\n" + strings.Repeat(unit, depth) + name + ": " + added
	st := step{At: in.StartOffset + 1, Key: key, Value: written, Made: len(key) - depth}
	switch inner := string(text[in.StartOffset+1 : in.EndOffset-1]); {
	case len(list) > 0: // a comma that is there follows the new member
		st.At, st.New = list[len(list)-1].to, ","+line
	case strings.TrimSpace(inner) == "":
		st.Old, st.New = inner, line+"\n"+strings.Repeat(unit, depth-1)
	default: // comments alone
		st.New = line
	}
	return st, nil
}

// remove takes out a member, and as many of the objects around it as were made for it and have
// nothing else now. Comments stay.
func (s jsonSyntax) remove(text []byte, key []string, made int) []byte {
	in, depth, at, err := lookup(text, key)
	if err != nil || depth < len(key) || at < 0 {
		return text
	}
	text, empty := cut(text, in, at)
	if empty && made > 0 && len(key) > 1 {
		return s.remove(text, key[:len(key)-1], made-1)
	}
	return text
}

// item is a member of an object or an element of a list: where it and its value begin, where both end, and
// where its comma would be.
type item struct{ from, value, to, comma int }

func items(v hujson.Value) (list []item) {
	add := func(from int, v hujson.Value) {
		list = append(list, item{from, v.StartOffset, v.EndOffset, v.EndOffset + len(v.AfterExtra)})
	}
	switch v := v.Value.(type) {
	case *hujson.Object:
		for _, m := range v.Members {
			add(m.Name.StartOffset, m.Value)
		}
	case *hujson.Array:
		for _, e := range v.Elements {
			add(e.StartOffset, e)
		}
	}
	return list
}

// cut takes an item out of an object or a list, with its comma, or the one before it where it has none. It
// reports whether nothing is left, not even a comment.
func cut(text []byte, in hujson.Value, at int) (_ []byte, empty bool) {
	list := items(in)
	one, last := list[at], at == len(list)-1
	begin, before, rest := in.StartOffset+1, text[:one.from], text[one.to:]
	if at > 0 {
		begin = list[at-1].comma + 1
	}
	blank := len(bytes.TrimSpace(text[begin:one.from])) == 0
	if text[one.comma] == ',' {
		rest = splice(rest, one.comma-one.to, ",", "")
	} else if at > 0 {
		before = splice(before, list[at-1].comma, ",", "")
	}
	line, next := bytes.TrimRight(before, " \t"), bytes.TrimLeft(rest, " \t\r")
	switch inner := rest[:len(rest)-len(text[in.EndOffset-1:])]; {
	case len(list) == 1 && blank && len(bytes.TrimSpace(inner)) == 0:
		return slices.Concat(text[:begin], text[in.EndOffset-1:]), true
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

// add makes of a step that sets a list one that leaves what the list has as it is.
func (s jsonSyntax) add(text []byte, st *step, more Added) error {
	for _, m := range more {
		written, err := s.encode(m, len(st.Key)+1, text)
		if err != nil {
			return err
		}
		st.Members = append(st.Members, written)
	}
	_, there, _ := list(text, st.Key)
	if len(there) == 0 {
		return nil
	}
	line := ",\n" + strings.Repeat(indentOf(text), len(st.Key)+1)
	st.At, st.Old, st.New = there[len(there)-1].to, "", line+strings.Join(st.Members, line)
	return nil
}

// list is the list that a key has, if it has one, and its elements.
func list(text []byte, key []string) (v hujson.Value, elements []item, ok bool) {
	in, depth, at, err := lookup(text, key)
	if err != nil || depth < len(key) || at < 0 {
		return v, nil, false
	}
	v = in.Value.(*hujson.Object).Members[at].Value
	return v, items(v), v.Value.Kind() == '['
}

// without takes out the members that a step has added, as far as they are there, and the list
// if it was made for them.
func (s jsonSyntax) without(text []byte, st step) []byte {
	for _, gone := range st.Members {
		v, there, ok := list(text, st.Key)
		is := func(i item) bool { return sameValue(string(text[i.value:i.to]), gone) }
		if at := slices.IndexFunc(there, is); ok && at >= 0 {
			text, _ = cut(text, v, at)
		}
	}
	v, there, ok := list(text, st.Key)
	switch {
	case !ok || len(there) > 0:
	case !st.Had:
		text = s.remove(text, st.Key, st.Made)
	case st.Old != "": // it was empty
		text = splice(text, v.StartOffset, string(text[v.StartOffset:v.EndOffset]), st.Old)
	}
	return text
}
