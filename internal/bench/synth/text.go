package synth

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

// phrase is text with the literals in it.
type phrase struct {
	s     string
	marks []litMark
}

// litMark says that a literal stands in a text, and in which line of it.
type litMark struct {
	id   int
	line string
}

func unmarked(s string) phrase { return phrase{s: s} }

// phraseText is a phrase in the making.
type phraseText struct {
	b     strings.Builder
	marks []litMark
}

func (t *phraseText) add(p phrase) {
	t.b.WriteString(p.s)
	t.marks = append(t.marks, p.marks...)
}

func (t *phraseText) line(p phrase) {
	t.add(p)
	t.b.WriteByte('\n')
}

func (t *phraseText) phrase() phrase { return phrase{t.b.String(), t.marks} }

// trimmed is the phrase without line feeds at its end.
func (t *phraseText) trimmed() phrase { return phrase{strings.TrimRight(t.b.String(), "\n"), t.marks} }

func joinPhrases(sep string, parts ...phrase) phrase {
	var t phraseText
	for i, p := range parts {
		if i > 0 {
			t.b.WriteString(sep)
		}
		t.add(p)
	}
	return t.phrase()
}

// phraseLines takes a phrase apart into its lines; its marks must name whole lines.
func phraseLines(p phrase) []phrase {
	lines := strings.Split(p.s, "\n")
	out := make([]phrase, len(lines))
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

// synthEnv is a list of names and what they stand for, for one expansion.
type synthEnv []any

func (w synthEnv) find(name string) (any, bool) {
	for i := 0; i+1 < len(w); i += 2 {
		if w[i] == name {
			return w[i+1], true
		}
	}
	return nil, false
}

// x fills in a template: names in angle brackets are replaced by what the caller gives for
// them, else by words of the project. A name stands for the same thing throughout.
func (s *synth) x(template string, env ...any) phrase {
	type found struct{ id, at int }
	var (
		b      strings.Builder
		marks  []litMark
		starts []found
		cached synthEnv
	)
	rest := template
	for {
		open := strings.IndexByte(rest, '<')
		if open < 0 {
			break
		}
		name := slotName(rest[open+1:])
		if name == "" {
			b.WriteString(rest[:open+1])
			rest = rest[open+1:]
			continue
		}
		value, ok := synthEnv(env).find(name)
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
			if v.id > 0 && !endsInName(before) && !startsInName(rest) {
				starts = append(starts, found{v.id, b.Len()})
			}
			b.WriteString(v.s)
		case phrase:
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
		marks = append(marks, litMark{f.id, litLine(out, f.at)})
	}
	return phrase{out, marks}
}

// slotName returns the name that a text begins with if a bracket closes it.
func slotName(s string) string {
	for i := range len(s) {
		if s[i] == '>' {
			return s[:i]
		}
		if !inName(s[i]) {
			return ""
		}
	}
	return ""
}

func inName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func endsInName(s string) bool   { return s != "" && inName(s[len(s)-1]) }
func startsInName(s string) bool { return s != "" && inName(s[0]) }

func litLine(s string, at int) string {
	start := strings.LastIndexByte(s[:at], '\n') + 1
	if end := strings.IndexByte(s[at:], '\n'); end >= 0 {
		return s[start : at+end]
	}
	return s[start:]
}

// litEntry is a lit with what is known of it.
type litEntry struct {
	LiteralTruth
	planted bool // to be asked for, used or not
	class   nameClass
}

// lit makes a new literal. It must not stand in the session yet.
func (s *synth) lit(kind LiteralKind, words string) lit {
	s.taken[words] = true
	s.lits = append(s.lits, litEntry{LiteralTruth: LiteralTruth{Text: words, Kind: kind, First: -1}})
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

// callInput writes an object; values are strings, spans, literals, numbers, booleans or
// ready-made JSON.
func callInput(members ...any) phrase {
	var t phraseText
	t.b.WriteByte('{')
	for i := 0; i+1 < len(members); i += 2 {
		if i > 0 {
			t.b.WriteByte(',')
		}
		t.b.WriteString(jsonText(members[i].(string)))
		t.b.WriteByte(':')
		switch v := members[i+1].(type) {
		case string:
			t.b.WriteString(jsonText(v))
		case phrase:
			t.b.WriteString(jsonText(v.s))
			t.marks = append(t.marks, v.marks...)
		case json.RawMessage:
			t.b.Write(v)
		default:
			fmt.Fprint(&t.b, v)
		}
	}
	t.b.WriteByte('}')
	return t.phrase()
}

func jsonText(v string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a string always has a form
	}
	return strings.TrimSuffix(b.String(), "\n")
}
