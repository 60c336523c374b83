package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonSyntax is JSON, with comments and commas at the end as editors allow them.
type jsonSyntax struct{}

func (jsonSyntax) empty() string { return "{}\n" }

// parse reads a text, which may begin with a byte order mark.
func parse(text []byte) (hujson.Value, error) {
	plain := bytes.Clone(text)
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		copy(plain, "   ")
	}
	v, err := hujson.Parse(plain)
	if err == nil {
		v.BeforeExtra = hujson.Extra(text[:len(v.BeforeExtra)])
	}
	return v, err
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
	v.BeforeExtra = nil // it may have the mark
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

// object is an object in a text, and which of its members is looked for; -1: it has none.
type object struct {
	*hujson.Object
	open, close int // of its braces
	at          int
}

// walk goes down to the object around a key, as far as there is one. It returns the objects
// passed, from the outermost on.
func walk(text []byte, key []string) (root hujson.Value, path []object, err error) {
	if root, err = parse(text); err != nil {
		return root, nil, err
	}
	v := &root
	for i, name := range key {
		members, ok := v.Value.(*hujson.Object)
		if !ok {
			name := strings.Join(append([]string{"the file"}, key[:i]...), ".")
			return root, nil, fmt.Errorf("%s is not an object", name)
		}
		o := object{members, v.StartOffset, v.EndOffset - 1, len(members.Members) - 1}
		for o.at >= 0 && o.Members[o.at].Name.Value.(hujson.Literal).String() != name {
			o.at-- // from the last, which is the one that readers take
		}
		if path = append(path, o); o.at < 0 {
			break
		}
		v = &o.Members[o.at].Value
	}
	return root, path, nil
}

func (jsonSyntax) find(text []byte, key []string) (from, to int, ok bool, err error) {
	_, path, err := walk(text, key)
	if err != nil || len(path) < len(key) || path[len(path)-1].at < 0 {
		return 0, 0, false, err
	}
	o := path[len(path)-1]
	return o.Members[o.at].Value.StartOffset, o.Members[o.at].Value.EndOffset, true, nil
}

func (s jsonSyntax) insert(text []byte, key []string, value any) (step, error) {
	_, path, err := walk(text, key)
	if err != nil {
		return step{}, err
	}
	depth := len(path)
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
	unit, o := indentOf(text), path[depth-1]
	line := "\n" + strings.Repeat(unit, depth) + name + ": " + added
	st := step{Key: key, Value: written, Made: len(key) - depth}
	switch inner := string(text[o.open+1 : o.close]); {
	case len(o.Members) == 0 && strings.TrimSpace(inner) == "":
		st.At, st.Old, st.New = o.open+1, inner, line+"\n"+strings.Repeat(unit, depth-1)
	case len(o.Members) == 0: // comments alone
		st.At, st.New = o.open+1, line
	default: // a comma that is there follows the new member
		st.At, st.New = o.Members[len(o.Members)-1].Value.EndOffset, ","+line
	}
	return st, nil
}

// remove takes out a member, and as many of the objects around it as were made for it and have
// nothing else now. Comments stay.
func (jsonSyntax) remove(text []byte, key []string, made int) []byte {
	root, path, err := walk(text, key)
	if err != nil || len(path) < len(key) || path[len(path)-1].at < 0 {
		return text
	}
	for i := len(path) - 1; !path[i].cut() && made > 0 && i > 0; i-- {
		made--
	}
	return root.Pack()
}

// cut takes out the member that is looked for. It reports whether anything is left.
func (o object) cut() bool {
	gone, last := o.Members[o.at], o.at == len(o.Members)-1
	after := &o.AfterExtra
	if !last {
		after = &o.Members[o.at+1].Name.BeforeExtra
	}
	before := string(gone.Name.BeforeExtra)
	rest := string(gone.Value.AfterExtra) + string(*after)
	line, blank := strings.TrimRight(before, " \t"), strings.TrimLeft(rest, " \t\r")
	switch {
	case strings.HasSuffix(line, "\n") && strings.HasPrefix(blank, "\n"): // lines of its own
		before, rest = line, blank[1:]
	case last && strings.TrimSpace(before) == "": // the brace was in the line before
		before = ""
	case last:
		before = line
	default:
		rest = strings.TrimLeft(rest, " \t")
	}
	if last && o.at > 0 {
		// Only an object that had a comma at the end has one now.
		prev := &o.Members[o.at-1].Value
		if gone.Value.AfterExtra == nil {
			before, prev.AfterExtra = string(prev.AfterExtra)+before, nil
		} else if prev.AfterExtra == nil {
			prev.AfterExtra = hujson.Extra{}
		}
	}
	*after = hujson.Extra(before + rest)
	o.Members = append(o.Members[:o.at], o.Members[o.at+1:]...)
	if len(o.Members) == 0 && strings.TrimSpace(string(o.AfterExtra)) == "" {
		o.AfterExtra = nil
		return false
	}
	return true
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
	if !st.Had {
		return nil
	}
	list, err := listAt(text, st.Key)
	if err != nil || len(list.Elements) == 0 {
		return err
	}
	line := "\n" + strings.Repeat(indentOf(text), len(st.Key)+1)
	st.At, st.Old, st.New = list.Elements[len(list.Elements)-1].EndOffset, "", ""
	for _, m := range st.Members {
		st.New += "," + line + m
	}
	return nil
}

func listAt(text []byte, key []string) (*hujson.Array, error) {
	_, path, err := walk(text, key)
	if err != nil || len(path) < len(key) || path[len(path)-1].at < 0 {
		return &hujson.Array{}, err
	}
	o := path[len(path)-1]
	list, ok := o.Members[o.at].Value.Value.(*hujson.Array)
	if !ok {
		return nil, fmt.Errorf("%s is not a list", strings.Join(key, "."))
	}
	return list, nil
}

// without takes out the members that a step has added, as far as they are there, and the list
// if it was made for them.
func (s jsonSyntax) without(text []byte, st step) []byte {
	for _, gone := range st.Members {
		list, err := listAt(text, st.Key)
		if err != nil {
			return text
		}
		for i, e := range list.Elements {
			if !sameValue(string(text[e.StartOffset:e.EndOffset]), gone) {
				continue
			}
			from, to := e.StartOffset, e.EndOffset
			switch {
			case i > 0:
				from = list.Elements[i-1].EndOffset
			case len(list.Elements) > 1:
				to = list.Elements[1].StartOffset
			}
			text = splice(text, from, string(text[from:to]), "")
			break
		}
	}
	list, err := listAt(text, st.Key)
	if err != nil || len(list.Elements) > 0 {
		return text
	}
	if !st.Had {
		return s.remove(text, st.Key, st.Made)
	}
	if from, to, ok, err := s.find(text, st.Key); ok && err == nil && st.Old != "" { // it was empty
		text = splice(text, from, string(text[from:to]), st.Old)
	}
	return text
}
