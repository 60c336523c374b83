package summarizer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pleat-dev/pleat/internal/text"
)

// sourceNames finds names in the text of a conversation.
type sourceNames struct {
	text    strings.Builder
	lower   string // in lower case; made when first needed
	flat    string // in the form of flatText; made when first needed
	numbers map[string]bool
	refs    int // messages and calls are numbered up to this
}

func (n *sourceNames) add(texts ...string) {
	for _, txt := range texts {
		if txt == "" {
			continue
		}
		n.text.WriteString(txt)
		n.text.WriteByte('\n')
		for _, number := range sourceNumber.FindAllString(txt, -1) {
			n.number(number)
		}
	}
}

var sourceNumber = regexp.MustCompile(`\d+(?:[.,_]\d+)*`)

// number notes a number in all the forms in which it may be written.
func (n *sourceNames) number(s string) {
	whole := normalNumber(s)
	n.numbers[whole] = true
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '.' || r == ',' || r == '_' }) {
		n.numbers[part] = true
		n.numbers[strings.TrimLeft(part, "0")] = true
	}
	for i := strings.LastIndexByte(whole, '.'); i > 0; i = strings.LastIndexByte(whole[:i], '.') {
		n.numbers[whole[:i]] = true // 1.26 of 1.26.3
	}
}

func (n *sourceNames) has(a gateName) bool {
	if n.lower == "" {
		n.lower = strings.ToLower(n.text.String())
	}
	t := strings.ToLower(a.text)
	switch a.kind {
	case nameNumber:
		return n.hasNumber(a)
	case nameURL:
		return strings.Contains(n.lower, t)
	case nameHex:
		return n.word(t, true)
	case namePath:
		return n.path(t) || n.variants(a.text) || n.alternatives(t)
	}
	return n.name(t) || n.member(a.text) || a.tail && strings.Contains(n.lower, t)
}

// member reports whether a name that ends like a file is a field: the conversation has both parts, and
// no file of the owner's name. Of a value, unlike a type, it has to show the field being set.
func (n *sourceNames) member(t string) bool {
	owner, field, _ := strings.Cut(t, ".")
	if !isIdentifier(owner, true) {
		return false
	}
	aType := text.ByteClass[owner[0]] == text.ByteUpper
	owner, field = strings.ToLower(owner), strings.ToLower(field)
	known := aType && n.word(field, false) || n.word(field+":", true) || n.word(field+" =", true)
	return known && n.word(owner, false) && !strings.Contains(n.lower, owner+".")
}

func (n *sourceNames) hasNumber(a gateName) bool {
	t, thousands := strings.CutSuffix(a.text, "k")
	f, err := strconv.ParseFloat(t, 64)
	has := func(v float64, digits int) bool { return n.numbers[strconv.FormatFloat(v, 'f', digits, 64)] }
	switch {
	case n.numbers[t], len(t) >= 7 && n.word(t, true): // a hash may begin with so many digits
		return true
	case err != nil:
		return false
	case a.ref && f <= float64(n.refs):
		return true
	}
	// 0.80, 80 %, 0.8
	return thousands && has(f*1000, -1) || has(f, -1) || has(f/100, -1) || has(f*100, -1) || has(f, 2)
}

// word reports whether a word occurs with no letter or digit before it, nor, unless it may
// be a beginning, after it.
func (n *sourceNames) word(t string, beginning bool) bool {
	if t == "" { // between two slashes, or behind the last
		return true
	}
	for from := 0; ; {
		i := strings.Index(n.lower[from:], t)
		if i < 0 {
			return false
		}
		at := from + i
		end := at + len(t)
		begins := at == 0 || t[0] == '_' || text.ByteClass[n.lower[at-1]]&text.ByteWord == 0
		ends := beginning || end == len(n.lower) || text.ByteClass[n.lower[end]]&text.ByteWord == 0
		if begins && ends {
			return true
		}
		from = at + 1
	}
}

// name reports whether a name occurs, whole or, joined by dots and dashes, in its parts.
func (n *sourceNames) name(t string) bool {
	if n.word(t, false) || isFileName(t) && n.word("_"+t, false) { // the end of a long name is enough to know a file
		return true
	}
	parts := strings.FieldsFunc(t, func(r rune) bool { return r == '.' || r == '-' })
	if len(parts) < 2 || isFileName(t) {
		return false
	}
	if text.IsNumber(t) {
		return n.word("v"+t, false)
	}
	if rest := parts[1:]; text.IsNumber(parts[0]) && !strings.ContainsFunc(strings.Join(rest, ""), unicode.IsDigit) {
		parts = parts[:1] // 256-colour, whoever writes 256-color
	}
	return !slices.ContainsFunc(parts, func(p string) bool { return len(p) > 2 && !n.word(p, false) })
}

// path reports whether a path occurs: as it is, or as a directory and a file in it. One with
// braces or stars is a pattern and passes.
func (n *sourceNames) path(t string) bool {
	t = strings.TrimSuffix(strings.TrimPrefix(t, "./"), "/")
	t = strings.TrimSuffix(t, "/...")
	known := func(t string) bool { return n.word(t, false) || n.word(strings.TrimLeft(t, "~/."), false) }
	if t == "" || strings.ContainsAny(t, "*{") || known(t) {
		return true
	}
	for i := len(t) - 1; i > 0; i-- {
		if t[i] == '/' && n.word(t[i+1:], false) && known(t[:i]) {
			return true
		}
	}
	return false
}

// variants reports whether what looks like a path is several names that differ in their end, such as
// startEpoch/Turn for startEpoch and startTurn: the conversation has all of them.
func (n *sourceNames) variants(t string) bool {
	first, ends, _ := strings.Cut(t, "/")
	if !n.word(strings.ToLower(first), false) {
		return false
	}
	for end := range strings.SplitSeq(ends, "/") {
		known := func(stem string) bool { return n.word(strings.ToLower(stem+end), false) }
		if end == "" || !slices.ContainsFunc(stems(first), known) {
			return false
		}
	}
	return true
}

// alternatives reports whether what looks like a path is names side by side, such as bold/italic/underline:
// the conversation has all of them, and none as a directory or a file.
func (n *sourceNames) alternatives(t string) bool {
	for part := range strings.FieldsFuncSeq(t, func(r rune) bool { return r == '/' || r == '+' }) {
		if isFileName(part) || n.word(part+"/", true) || !n.word(part, false) {
			return false
		}
	}
	return !rooted.MatchString(t)
}

// stems are the beginnings of a name up to a dot, an underscore or a capital.
func stems(name string) (list []string) {
	for i := 1; i < len(name); i++ {
		capital := text.ByteClass[name[i]] == text.ByteUpper && text.ByteClass[name[i-1]] == text.ByteLower
		if capital || strings.IndexByte("._-", name[i-1]) >= 0 {
			list = append(list, name[:i])
		}
	}
	return list
}
