package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// jsonSyntax is JSON, with comments and commas at the end as editors allow them.
type jsonSyntax struct{}

func (jsonSyntax) empty() string { return "{}\n" }

func (jsonSyntax) decode(text []byte) (map[string]any, error) {
	values := make(map[string]any)
	if len(bytes.TrimSpace(text)) == 0 {
		return values, nil
	}
	_, plain := blanked(text)
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

// object is an object in a text.
type object struct {
	open, close int // of its braces
	members     []member
}

type member struct {
	name         string
	at, from, to int // of the name, and of the value
}

// walk goes down to the object around a key, as far as there is one. It returns the objects
// passed, from the outermost on.
func walk(text []byte, key []string) ([]object, error) {
	_, plain := blanked(text)
	if !json.Valid(plain) {
		return nil, errors.New("it is not JSON")
	}
	var path []object
	at := jsonspan.Span{Start: skip(plain, 0), End: len(bytes.TrimRight(plain, " \t\r\n"))}
	for i, name := range key {
		if plain[at.Start] != '{' {
			return nil, fmt.Errorf("%s is not an object", strings.Join(append([]string{"the file"}, key[:i]...), "."))
		}
		o, inner := object{open: at.Start, close: at.End - 1}, jsonspan.Value(at.Of(plain))
		for name, value := range inner.Members() {
			o.members = append(o.members, member{jsonspan.Text(inner, name), o.open + name.Start, o.open + value.Start, o.open + value.End})
		}
		path = append(path, o)
		m, ok := o.member(name)
		if !ok {
			break
		}
		at = jsonspan.Span{Start: m.from, End: m.to}
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
	spaced, _ := blanked(text)
	if end := skip(spaced, to); text[end] == ',' {
		to = end + 1
	} else if i > 0 {
		before = skip(spaced, o.members[i-1].to) // its comma
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

// skip passes over spaces.
func skip(text []byte, i int) int {
	return len(text) - len(bytes.TrimLeft(text[i:], " \t\r\n"))
}

// blanked returns the text with spaces in place of comments and of a byte order mark, and the
// same without commas at the end of lists and objects, which is JSON. Both are as long as the
// text.
func blanked(text []byte) (spaced, plain []byte) {
	spaced = bytes.Clone(text)
	var commas []int // that a bracket follows
	comma := -1      // the last one, if nothing has followed it yet
	for i := 0; i < len(text); i++ {
		end, rest := i, text[i:]
		switch {
		case bytes.HasPrefix(rest, []byte("\ufeff")):
			end = i + 3
		case bytes.HasPrefix(rest, []byte("//")):
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			end = i + len(line)
		case bytes.HasPrefix(rest, []byte("/*")):
			comment, _, _ := bytes.Cut(rest[2:], []byte("*/"))
			end = min(i+len(comment)+4, len(text))
		case rest[0] == ',':
			comma = i
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
		default:
			if comma >= 0 && (rest[0] == '}' || rest[0] == ']') {
				commas = append(commas, comma)
			}
			comma = -1
			if rest[0] == '"' {
				for i++; i < len(text) && text[i] != '"'; i++ {
					if text[i] == '\\' {
						i++
					}
				}
			}
		}
		if end > i {
			copy(spaced[i:end], bytes.Repeat([]byte(" "), end-i))
			i = end - 1
		}
	}
	plain = bytes.Clone(spaced)
	for _, i := range commas {
		plain[i] = ' '
	}
	return spaced, plain
}
