package eval

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// lit is a string whose appearances are followed. The zero id follows nothing.
type lit struct {
	id int
	s  string
}

// span is text with the literals in it.
type span struct {
	s     string
	marks []mark
}

// mark says that a literal stands in a text, and in which line of it.
type mark struct {
	id   int
	line string
}

func plain(s string) span { return span{s: s} }

// text is a span in the making.
type text struct {
	b     strings.Builder
	marks []mark
}

func (t *text) add(p span) {
	t.b.WriteString(p.s)
	t.marks = append(t.marks, p.marks...)
}

func (t *text) line(p span) {
	t.add(p)
	t.b.WriteByte('\n')
}

func (t *text) span() span { return span{t.b.String(), t.marks} }

// trimmed is the span without line feeds at its end.
func (t *text) trimmed() span { return span{strings.TrimRight(t.b.String(), "\n"), t.marks} }

func joinSpans(sep string, parts ...span) span {
	var t text
	for i, p := range parts {
		if i > 0 {
			t.b.WriteString(sep)
		}
		t.add(p)
	}
	return t.span()
}

// splitSpan takes a span apart into its lines; its marks must name whole lines.
func splitSpan(p span) []span {
	lines := strings.Split(p.s, "\n")
	out := make([]span, len(lines))
	for i, l := range lines {
		out[i].s = l
	}
	for _, m := range p.marks {
		for i := range out {
			if out[i].s == m.line { // equal lines hold equal literals
				out[i].marks = append(out[i].marks, m)
			}
		}
	}
	return out
}

// with is a list of names and what they stand for, for one expansion.
type with []any

func (w with) find(name string) (any, bool) {
	for i := 0; i+1 < len(w); i += 2 {
		if w[i] == name {
			return w[i+1], true
		}
	}
	return nil, false
}

// x fills in a template: names in angle brackets are replaced by what the caller gives for
// them, else by words of the project. A name stands for the same thing throughout.
func (s *synth) x(template string, env ...any) span {
	type found struct{ id, at int }
	var (
		b      strings.Builder
		marks  []mark
		starts []found
		cached with
	)
	rest := template
	for {
		open := strings.IndexByte(rest, '<')
		if open < 0 {
			break
		}
		name := placeholder(rest[open+1:])
		if name == "" {
			b.WriteString(rest[:open+1])
			rest = rest[open+1:]
			continue
		}
		value, ok := with(env).find(name)
		if !ok {
			value, ok = cached.find(name)
		}
		if !ok {
			if value = s.word(name); value == nil {
				b.WriteString(rest[:open+1])
				rest = rest[open+1:]
				continue
			}
			cached = append(cached, name, value)
		}
		b.WriteString(rest[:open])
		rest = rest[open+len(name)+2:]
		switch v := value.(type) {
		case lit:
			before := b.String()
			if v.id > 0 && !endsWord(before) && !startsWord(rest) {
				starts = append(starts, found{v.id, b.Len()})
			}
			b.WriteString(v.s)
		case span:
			b.WriteString(v.s)
			marks = append(marks, v.marks...)
		case string:
			b.WriteString(v)
		case int:
			b.WriteString(strconv.Itoa(v))
		default:
			panic(fmt.Sprintf("expand %s: %T", name, value))
		}
	}
	b.WriteString(rest)
	out := b.String()
	for _, f := range starts {
		marks = append(marks, mark{f.id, lineAround(out, f.at)})
	}
	return span{out, marks}
}

// placeholder returns the name that a text begins with if a bracket closes it.
func placeholder(s string) string {
	for i := range len(s) {
		if s[i] == '>' {
			return s[:i]
		}
		if !isWordByte(s[i]) {
			return ""
		}
	}
	return ""
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func endsWord(s string) bool   { return s != "" && isWordByte(s[len(s)-1]) }
func startsWord(s string) bool { return s != "" && isWordByte(s[0]) }

func lineAround(s string, at int) string {
	start := strings.LastIndexByte(s[:at], '\n') + 1
	if end := strings.IndexByte(s[at:], '\n'); end >= 0 {
		return s[start : at+end]
	}
	return s[start:]
}

// literal is a lit with what is known of it.
type literal struct {
	LiteralTruth
	planted bool // to be asked for, used or not
}

// lit makes a new literal. It must not stand in the session yet.
func (s *synth) lit(kind LiteralKind, words string) lit {
	s.taken[words] = true
	s.lits = append(s.lits, literal{LiteralTruth: LiteralTruth{Text: words, Kind: kind, First: -1}})
	return lit{len(s.lits) - 1, words}
}

// plant makes a literal that belongs to the truth even if nobody uses it.
func (s *synth) plant(kind LiteralKind, words string) lit {
	l := s.lit(kind, words)
	s.lits[l.id].planted = true
	return l
}

// fresh draws until it has a string that was not drawn before.
func (s *synth) fresh(draw func() string) string {
	for n := 0; ; n++ {
		w := draw()
		if n > 20 {
			w += strconv.Itoa(2 + s.r.IntN(97))
		}
		if !s.taken[w] {
			s.taken[w] = true
			return w
		}
	}
}

// jsonObject writes an object; values are strings, spans, literals, numbers, booleans or
// ready-made JSON.
func jsonObject(members ...any) span {
	var t text
	t.b.WriteByte('{')
	for i := 0; i+1 < len(members); i += 2 {
		if i > 0 {
			t.b.WriteByte(',')
		}
		t.b.WriteString(jsonString(members[i].(string)))
		t.b.WriteByte(':')
		switch v := members[i+1].(type) {
		case string:
			t.b.WriteString(jsonString(v))
		case span:
			t.b.WriteString(jsonString(v.s))
			t.marks = append(t.marks, v.marks...)
		case json.RawMessage:
			t.b.Write(v)
		default:
			fmt.Fprint(&t.b, v)
		}
	}
	t.b.WriteByte('}')
	return t.span()
}

func jsonString(v string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a string always has a form
	}
	return strings.TrimSuffix(b.String(), "\n")
}
