package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// jsonSyntax is JSON, with comments and commas at the end as editors allow them.
type jsonSyntax struct{}

func (jsonSyntax) empty() string { return "{}\n" }

func (jsonSyntax) decode(text []byte) (map[string]any, error) {
	values := make(map[string]any)
	if len(bytes.TrimSpace(text)) == 0 {
		return values, nil
	}
	plain, err := withoutComments(text)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(plain, &values); err != nil {
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

// object is an object in a text: its members, where it ends, and whether a comma follows the
// last member.
type object struct {
	open, close int // of its braces
	members     []member
	comma       bool
}

type member struct {
	name         string
	at, from, to int // of the name, and of the value
}

// walk goes down to the object around a key, as far as there is one. It returns the objects
// passed, from the outermost on.
func walk(text []byte, key []string) ([]object, error) {
	var path []object
	at := skip(text, 0)
	for i, name := range key {
		if at >= len(text) || text[at] != '{' {
			return nil, fmt.Errorf("%s is not an object", strings.Join(append([]string{"the file"}, key[:i]...), "."))
		}
		o, err := readObject(text, at)
		if err != nil {
			return nil, err
		}
		path = append(path, o)
		m, ok := o.member(name)
		if !ok {
			break
		}
		at = m.from
	}
	return path, nil
}

// member finds the last member of a name, which is the one that readers take.
func (o object) member(name string) (found member, ok bool) {
	for _, m := range o.members {
		if m.name == name {
			found, ok = m, true
		}
	}
	return found, ok
}

func (jsonSyntax) find(text []byte, key []string) (from, to int, ok bool, err error) {
	path, err := walk(text, key)
	if err != nil || len(path) < len(key) {
		return 0, 0, false, err
	}
	m, ok := path[len(path)-1].member(key[len(key)-1])
	return m.from, m.to, ok, nil
}

func (s jsonSyntax) insert(text []byte, key []string, value any) (step, error) {
	path, err := walk(text, key)
	if err != nil {
		return step{}, err
	}
	depth := len(path)
	written, err := s.encode(value, len(key), text)
	if err != nil {
		return step{}, err
	}
	nested := value
	for i := len(key) - 1; i >= depth; i-- {
		nested = map[string]any{key[i]: nested}
	}
	added, err := s.encode(nested, depth, text)
	if err != nil {
		return step{}, err
	}
	name, err := s.encode(key[depth-1], 0, text)
	if err != nil {
		return step{}, err
	}
	unit, o := indentOf(text), path[depth-1]
	line := "\n" + strings.Repeat(unit, depth) + name + ": " + added
	st := step{Key: key, Value: written, Made: len(key) - depth}
	switch inner := string(text[o.open+1 : o.close]); {
	case len(o.members) == 0 && strings.TrimSpace(inner) == "":
		st.At, st.Old, st.New = o.open+1, inner, line+"\n"+strings.Repeat(unit, depth-1)
	case len(o.members) == 0: // comments alone
		st.At, st.New = o.open+1, line
	default:
		st.At, st.New = o.members[len(o.members)-1].to, ","+line // a comma that is there follows the new member
	}
	return st, nil
}

// remove cuts out a member and one comma. Comments stay.
func (s jsonSyntax) remove(text []byte, key []string, made int) []byte {
	path, err := walk(text, key)
	if err != nil || len(path) < len(key) {
		return text
	}
	o := path[len(path)-1]
	i := len(o.members) - 1
	for i >= 0 && o.members[i].name != key[len(key)-1] {
		i--
	}
	if i < 0 {
		return text
	}
	m := o.members[i]
	from, to, before := m.at, m.to, -1
	if end := skip(text, to); text[end] == ',' {
		to = end + 1
	} else if i > 0 {
		before = skip(text, o.members[i-1].to) // its comma
	}
	if alone := strings.TrimSpace(string(text[o.open+1:from])+string(text[to:o.close])) == ""; alone && made > 0 {
		return s.remove(text, key[:len(key)-1], made-1)
	} else if alone {
		return splice(text, o.open+1, string(text[o.open+1:o.close]), "")
	}
	for from > 0 && strings.IndexByte(" \t", text[from-1]) >= 0 {
		from--
	}
	switch rest := text[to:]; {
	case len(bytes.TrimLeft(rest, " \t\r")) > 0 && bytes.TrimLeft(rest, " \t\r")[0] == '\n' && text[from-1] == '\n': // lines of its own
		to += bytes.IndexByte(rest, '\n') + 1
	case text[from-1] != ',' && before < 0: // the space before it stays, that after its comma goes
		for from = m.at; strings.IndexByte(" \t", text[to]) >= 0; {
			to++
		}
	}
	text = splice(text, from, string(text[from:to]), "")
	if before >= 0 {
		text = splice(text, before, ",", "")
	}
	return text
}

var errForm = errors.New("it is not JSON")

// skip passes over spaces and comments.
func skip(text []byte, i int) int {
	for i < len(text) {
		rest := text[i:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			i++
		case bytes.HasPrefix(rest, []byte("\ufeff")):
			i += 3
		case bytes.HasPrefix(rest, []byte("//")):
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				return len(text)
			}
			i += n
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest, []byte("*/"))
			if n < 0 {
				return len(text)
			}
			i += n + 2
		default:
			return i
		}
	}
	return i
}

// readObject reads the object whose brace is at i.
func readObject(text []byte, i int) (object, error) {
	o := object{open: i}
	for i = skip(text, i+1); ; i = skip(text, i) {
		if i < len(text) && text[i] == '}' {
			o.close = i
			return o, nil
		}
		if len(o.members) > 0 && !o.comma {
			return o, errForm
		}
		m := member{at: i}
		end, err := valueEnd(text, i)
		if err != nil || json.Unmarshal(text[i:end], &m.name) != nil {
			return o, errForm
		}
		if i = skip(text, end); i >= len(text) || text[i] != ':' {
			return o, errForm
		}
		m.from = skip(text, i+1)
		if m.to, err = valueEnd(text, m.from); err != nil {
			return o, err
		}
		o.members = append(o.members, m)
		i = skip(text, m.to)
		if o.comma = i < len(text) && text[i] == ','; o.comma {
			i++
		}
	}
}

// valueEnd is where the value that begins at i ends.
func valueEnd(text []byte, i int) (int, error) {
	for depth := 0; i < len(text); i = skip(text, i) {
		switch c := text[i]; c {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':':
			i++
			continue
		default:
			start := i
			for i < len(text) && strings.IndexByte(" \t\r\n,:{}[]\"/", text[i]) < 0 {
				i++
			}
			if i == start {
				return 0, errForm
			}
		}
		if depth <= 0 {
			if depth < 0 || i > len(text) {
				return 0, errForm
			}
			return i, nil
		}
	}
	return 0, errForm
}

// withoutComments makes plain JSON of a text.
func withoutComments(text []byte) ([]byte, error) {
	var out []byte
	for i := skip(text, 0); i < len(text); i = skip(text, i) {
		end := i + 1
		switch text[i] {
		case '"':
			var err error
			if end, err = valueEnd(text, i); err != nil {
				return nil, err
			}
		case ',':
			if n := skip(text, end); n < len(text) && (text[n] == '}' || text[n] == ']') {
				i = end
				continue
			}
		case '{', '}', '[', ']', ':':
		default:
			for end < len(text) && strings.IndexByte(" \t\r\n,:{}[]\"/", text[end]) < 0 {
				end++
			}
			out = append(out, ' ') // two words stay two
		}
		out = append(out, text[i:end]...)
		i = end
	}
	return out, nil
}
