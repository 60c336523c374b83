package summarizer

import (
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// sourceText is the text of a conversation, for finding literals in it.
type sourceText struct {
	text    strings.Builder
	turns   int    // bytes of it that are the turns; the rest is what else the summarizer got
	lower   string // in lower case; made when first needed
	words   string // in the form of plainText; made when first needed
	numbers map[string]bool
	refs    int // messages and calls are numbered up to this
}

func (n *sourceText) add(texts ...string) {
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

// addMessage adds a message, with what a call wrote into a file as it is in the file: without the commonest
// escapes of JSON strings.
func (n *sourceText) addMessage(m transcript.Message) {
	for _, b := range m.Blocks().All() {
		n.add(transcript.BlockText(b))
		if c, ok := b.(transcript.ToolCall); ok {
			n.add(c.Name, unescaped.Replace(c.Input.String()))
		}
	}
}

var unescaped = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\"`, `"`, `\/`, "/")

var sourceNumber = regexp.MustCompile(`\d+(?:[.,_]\d+)*`)

// number notes a number in all the forms in which it may be written.
func (n *sourceText) number(s string) {
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

func (n *sourceText) has(l literal) bool {
	if n.lower == "" {
		n.lower = strings.ToLower(n.text.String())
	}
	t := strings.ToLower(l.text)
	switch l.kind {
	case literalNumber:
		return n.hasNumber(t)
	case literalLines:
		return !slices.ContainsFunc(strings.Split(t, ","), func(line string) bool { return !n.hasNumber(line) })
	case literalRef:
		i, err := strconv.Atoi(t)
		return err == nil && i <= n.refs || n.hasNumber(t)
	case literalURL, literalEnd:
		return strings.Contains(n.lower, t)
	case literalHex:
		return n.word(t, true)
	case literalPath:
		return n.path(t)
	}
	return n.name(t)
}

// normalNumber drops what separates thousands. A version keeps its dots.
func normalNumber(s string) string { return separators.Replace(strings.Trim(s, ".,_")) }

var separators = strings.NewReplacer(",", "", "_", "")

func (n *sourceText) hasNumber(t string) bool {
	t, thousands := strings.CutSuffix(normalNumber(t), "k")
	f, err := strconv.ParseFloat(t, 64)
	has := func(v float64, digits int) bool { return n.numbers[strconv.FormatFloat(v, 'f', digits, 64)] }
	switch {
	case n.numbers[t], n.word(t, len(t) >= 7): // a hash may begin with so many digits
		return true
	case err != nil:
		return false
	}
	// 0.80, 80 %, 0.8
	return thousands && has(f*1000, -1) || has(f, -1) || has(f/100, -1) || has(f*100, -1) || has(f, 2)
}

// word reports whether a word occurs with no letter or digit before it, nor, unless it may
// be a beginning, after it.
func (n *sourceText) word(t string, beginning bool) bool {
	for from := 0; t != ""; {
		i := strings.Index(n.lower[from:], t)
		if i < 0 {
			return false
		}
		at := from + i
		end := at + len(t)
		begins := at == 0 || t[0] == '_' || t[0] == '.' || text.ByteClass[n.lower[at-1]]&text.ByteWord == 0
		ends := beginning || end == len(n.lower) || text.ByteClass[n.lower[end]]&text.ByteWord == 0
		if begins && ends {
			return true
		}
		from = at + 1
	}
	return true // between two slashes, or behind the last
}

// name reports whether a name occurs, whole or, joined by dots, in its parts. The end of a long name is enough
// to know a file.
func (n *sourceText) name(t string) bool {
	if n.word(t, false) || isFile(t) && n.word("_"+t, false) {
		return true
	}
	parts := strings.Split(t, ".")
	return len(parts) > 1 && !isFile(t) && !slices.ContainsFunc(parts, func(p string) bool { return !n.word(p, false) })
}

// path reports whether a path occurs: as it is, or as a directory and a file in it. One with braces or stars is
// a pattern and passes. So do names side by side, such as bold/italic and startEpoch/Turn: the conversation has
// all of them, and none as a directory or a file.
func (n *sourceText) path(t string) bool {
	t = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(t, "./"), "/"), "/...")
	known := func(t string) bool { return n.word(t, false) || n.word(strings.TrimLeft(t, "~/."), false) }
	if strings.ContainsAny(t, "*{") || known(t) {
		return true
	}
	for i := len(t) - 1; i > 0; i-- {
		if t[i] == '/' && n.word(t[i+1:], false) && known(t[:i]) {
			return true
		}
	}
	for part := range strings.FieldsFuncSeq(t, func(r rune) bool { return r == '/' || r == '+' }) {
		if isFile(part) || n.word(part+"/", true) || !strings.Contains(n.lower, part) {
			return false
		}
	}
	return !rooted.MatchString(t)
}

// lacksThings says what a summary lacks that is used as it came and tells nothing of the turns; empty: it does. A
// refusal may name a file or two in a sentence about something else. So two in five of its words, of a long text
// four words, or of few names a third, must be things of the turns: names, or words that only a part of the turns has.
func (n *sourceText) lacksThings(txt string) string {
	const parts, local, enough = 8, 2, 4
	turns := n.text.String()[:n.turns]
	in := make(map[string]uint8) // the parts of the turns that have a word
	for i := range parts {
		for w := range longWords(turns[i*len(turns)/parts : (i+1)*len(turns)/parts]) {
			in[w] |= 1 << i
		}
	}
	all, told, size := distinct(text.Anchors(turns)), make(map[string]bool), 0
	if len(all) < fewNames {
		return n.lacks(txt, 2)
	}
	for _, word := range strings.Fields(txt) {
		size += 1 + utf8.RuneCountInString(word)/20 // some scripts put no space between words
		names := distinct(text.Anchors(word))
		for name := range names {
			told[name] = all[name]
		}
		for w := range longWords(word) {
			if p := bits.OnesCount8(in[w]); len(names) == 0 && p > 0 && p <= local {
				told[w] = true
			}
		}
	}
	maps.DeleteFunc(told, func(_ string, known bool) bool { return !known })
	if need := min(max(size*2/5, 2), max(len(all)/3, 2), enough); len(told) < need {
		return fmt.Sprintf("it tells next to nothing of the turns: %d of their names and words, not %d", len(told), need)
	}
	return ""
}

// fewNames is how many names turns have at least in which a text can be told by them.
const fewNames = 5

// lacks says what a digest lacks that says nothing of the turns, as a refusal does and a text about something
// else; empty: it does. Short but true digests have few names: it must have so many of the turns', or of turns
// without names, two words.
func (n *sourceText) lacks(txt string, least int) string {
	const few = fewNames
	parts, kind := text.Anchors, "names"
	all := distinct(parts(n.text.String()[:n.turns]))
	if len(all) < few {
		parts, kind, least = longWords, "words", 2
		all = distinct(parts(n.text.String()[:n.turns]))
	}
	told := distinct(parts(txt))
	maps.DeleteFunc(told, func(part string, _ bool) bool { return !all[part] })
	if len(told) >= min(least, len(all)/few) {
		return ""
	}
	return fmt.Sprintf("it tells nothing of the turns: %d of their %s %s", len(told), text.Thousands(len(all)), kind)
}

func distinct(list iter.Seq[string]) map[string]bool {
	all := make(map[string]bool)
	for s := range list {
		all[s] = true
	}
	return all
}

// longWords yields the beginnings of words that carry a meaning. In scripts that put no space between words any
// two characters stand for one.
func longWords(txt string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, w := range plainWords(txt) {
			r, size, step := []rune(w), 5, len(w)
			if unicode.In(r[0], unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
				size, step = 2, 1
			}
			for i := 0; i+size <= len(r); i += step {
				if !yield(string(r[i : i+size])) {
					return
				}
			}
		}
	}
}
