package adversary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// The kinds of parts.
const (
	text     = "text"
	image    = "image"
	thinking = "thinking"
	call     = "call"
	result   = "result"
	hosted   = "hosted" // what a tool of the provider's did, or asks for
	served   = "served" // the answer to such a question
	state    = "state"  // what no fold may hide: a provider's memory, a change of tools or settings
)

// part is a piece of an element: what the providers call a block, a part, or an item.
type part struct {
	kind   string
	text   string // of texts, thinking and results
	id     string // of calls and results, and of hosted tools what both sides of a question have
	name   string // of the tool
	args   string // of calls, JSON
	sig    string // of thinking, and of Gemini's calls
	item   string // id by which the server knows an item
	failed bool   // of results
	open   bool   // of hosted tools: it waits for an answer
	raw    string // as it came
	marked bool   // for the prompt cache
	flaw   string // what no provider takes, whatever is around it
}

// element is one of a request's messages.
type element struct {
	role  string // user, assistant, system or tool
	parts []part
	raw   string
	bare  string // without cache markers
	flaw  string // what no provider takes, whatever is around it
}

func (e *element) has(kind string) bool {
	for _, p := range e.parts {
		if p.kind == kind {
			return true
		}
	}
	return false
}

// answers reports whether the element is the model's.
func (e *element) answers() bool { return e.role == "assistant" }

// setup is what a case has chosen for a client's requests.
type setup struct {
	model   string
	stream  bool
	think   string // "", "adaptive", "between_tools" or "enabled"
	markers bool   // for the prompt cache
	binds   bool   // the model binds thinking to what is before it
	system  bool   // system messages among the others
	images  bool
	loose   bool // signatures are not looked for: a call that the client does not know may have them
	hosted  bool // tools of the provider's
	texts   bool // contents that are one text are written as a string
}

// wire is one provider's format.
type wire struct {
	name, array string
	counts      string // follows the path where tokens are only counted; empty: they never are

	path func(s *setup) string
	head func(http.Header, string) // sets the key
	// members are what a body has beside the array and the tools.
	members func(st style, s *setup, system string) []string
	tool    func(st style, name, description, schema string) string
	tools   func(st style, list []string) string

	user    func(st style, s *setup, texts []string, picture bool) string
	results func(st style, s *setup, rs []part, typed string) []string
	system  func(st style, text string) string // nil: none among the messages
	state   func(st style, n int) string       // n makes it a message of its own; nil: there is none
	answer  func(st style, parts []part) []string

	parse  func(raw []byte) (element, error)
	reply  func(parts []part, u usage, stream bool) []byte
	read   func(body []byte, stream bool) ([]part, error)
	refuse func(tokens, limit int, numbers bool) (int, string)
	check  func(v *view) []string
	// plain are the members of a changed element that may differ.
	plain []string
}

type usage struct{ in, out int }

// view is a body that reached the provider.
type view struct {
	body     object
	head     http.Header
	setup    *setup
	elements []element
	said     *memory
	size     int // bytes of the request
}

// memory is what a provider knows of its own answers.
type memory struct {
	thinking map[string]thought // by signature
	reason   map[string]string  // Responses: the reasoning item that an item was made with
	follows  map[string]string  // and what came next after a reasoning item, by its content
	call     map[string]string  // Gemini: signature by id of the call
	plain    map[string]string  // JSON without cache markers
	beside   map[string]bool    // what was said beside a hidden call
}

// unmarked is JSON in one form without cache markers.
func (m *memory) unmarked(raw string) string {
	out, ok := m.plain[raw]
	if !ok {
		out = without(raw, "cache_control")
		m.plain[raw] = out
	}
	return out
}

// thought is what was before a piece of thinking when it was made.
type thought struct {
	before string
	others []string
	raw    string
}

var wires = []*wire{messagesWire, chatWire, responsesWire, geminiWire}

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
