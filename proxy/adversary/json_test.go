package adversary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// style is how a client writes JSON.
type style struct {
	space bool // after commas and colons, as Python does
	ascii bool // everything else is escaped
}

func (s style) str(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(s.ascii)
	_ = e.Encode(text)
	out := strings.TrimSuffix(b.String(), "\n")
	if !s.ascii {
		return out
	}
	var a strings.Builder
	for _, r := range out {
		switch {
		case r < utf8.RuneSelf:
			a.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&a, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&a, `\u%04x`, r)
		}
	}
	return a.String()
}

// obj writes an object of names and values, which are JSON. Empty values are left out.
func (s style) obj(pairs ...string) string {
	var list []string
	colon := ":"
	if s.space {
		colon = ": "
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, s.str(pairs[i])+colon+pairs[i+1])
		}
	}
	return "{" + s.join(list) + "}"
}

func (s style) arr(list ...string) string { return "[" + s.join(list) + "]" }

func (s style) join(list []string) string {
	if s.space {
		return strings.Join(list, ", ")
	}
	return strings.Join(list, ",")
}

// object is a parsed JSON object with the bytes of its members.
type object map[string]json.RawMessage

func parse(raw []byte) (o object) {
	_ = json.Unmarshal(raw, &o)
	return o
}

func (o object) has(name string) bool { _, ok := o[name]; return ok }

// str is a member that is a string, else "".
func (o object) str(name string) (s string) {
	_ = json.Unmarshal(o[name], &s)
	return s
}

func (o object) obj(name string) object { return parse(o[name]) }

func (o object) list(name string) (out []json.RawMessage) {
	_ = json.Unmarshal(o[name], &out)
	return out
}

func isString(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// without is JSON in one form, without the members of some names, however deep.
func without(raw string, names ...string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return raw
	}
	out, _ := json.Marshal(strip(v, names))
	return string(out)
}

func strip(v any, names []string) any {
	switch v := v.(type) {
	case map[string]any:
		for _, n := range names {
			delete(v, n)
		}
		for k := range v {
			v[k] = strip(v[k], names)
		}
	case []any:
		for i := range v {
			v[i] = strip(v[i], names)
		}
	}
	return v
}

// array splits bytes that begin with a JSON array into its elements and what follows.
func array(b []byte) (list []json.RawMessage, rest []byte, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&list); err != nil {
		return nil, nil, err
	}
	return list, b[d.InputOffset():], nil
}

// events splits a stream into the data of its events.
func events(body []byte) (out []object) {
	for line := range strings.Lines(string(body)) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			if o := parse([]byte(strings.TrimSpace(data))); o != nil {
				out = append(out, o)
			}
		}
	}
	return out
}
