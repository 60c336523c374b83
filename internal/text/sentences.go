package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence is a stretch of prose in a text, verbatim: a sentence, a list item or a line.
type Sentence struct {
	Text  string
	Para  int  // number of its paragraph, counted over the whole text
	first bool // first of its paragraph or list item
	Item  bool // a list item
	Lead  int  // index of the sentence that introduces the list it belongs to, -1: none
}

// sentences splits the prose of a text. Code blocks and quoted lines (">") are left out:
// they are rarely what the writer says. Wrapped lines are put together, so a sentence
// may hold line feeds.
func Sentences(text string) []Sentence {
	var s sentenceSplitter
	start, end := -1, 0 // the run of lines that may be one paragraph
	flush := func() {
		if start >= 0 {
			s.run(text[start:end])
		}
		start = -1
	}
	for at := 0; at < len(text); {
		next := LineEnd(text, at)
		line := strings.TrimSpace(text[at:next])
		switch {
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			flush()
			s.fenced = !s.fenced
		case s.fenced, strings.HasPrefix(line, ">"):
			flush()
		case line == "":
			flush()
			s.para++
		case start >= 0 && wraps(text[start:end], line):
			end = next
		default:
			flush()
			start, end = at, next
		}
		at = next
	}
	flush()
	return s.list
}

type sentenceSplitter struct {
	list   []Sentence
	para   int
	lead   int // 1 + index of the sentence that introduces the present list
	fenced bool
}

// run takes the lines of one paragraph or list item.
func (s *sentenceSplitter) run(text string) {
	text = strings.TrimSpace(text)
	mark := ListMark(text)
	heading := strings.HasPrefix(text, "#")
	body := text[mark:]
	lead := -1
	switch {
	case mark > 0 && !heading:
		lead = s.lead - 1
	default:
		s.lead = 0
	}
	at, first := 0, true
	for at < len(body) {
		n := SentenceEnd(body[at:])
		piece := strings.TrimSpace(body[at : at+n])
		at += n
		if piece == "" {
			continue
		}
		s.list = append(s.list, Sentence{Text: piece, Para: s.para, first: first, Item: mark > 0, Lead: lead})
		first = false
	}
	if mark == 0 && len(s.list) > 0 && !first && (strings.HasSuffix(body, ":") || heading) {
		s.lead = len(s.list)
	}
}

// wraps reports whether a line goes on with the paragraph before it: that one is long and
// does not end a sentence, and the line is no list item and begins like a continuation.
func wraps(before, line string) bool {
	before = strings.TrimRight(before, " \t\r\n")
	last := before[strings.LastIndexByte(before, '\n')+1:]
	if len(last) < 50 || strings.ContainsRune(".!?:;", rune(before[len(before)-1])) || ListMark(line) > 0 {
		return false
	}
	r, _ := utf8.DecodeRuneInString(line)
	return len(last) >= 100 || unicode.IsLower(r) || r == '`' || r == '(' || unicode.IsDigit(r)
}

// listMark is the length of a list marker at the beginning of a line, 0 if there is none:
// "- ", "* ", "• ", "3. ", "3) ", "(3) ", "b) ", "## ".
func ListMark(line string) int {
	i := 0
	switch {
	case line == "":
		return 0
	case strings.HasPrefix(line, "•"):
		i = len("•")
	case line[0] == '-' || line[0] == '*' || line[0] == '+':
		i = 1
	case line[0] == '#':
		for i < len(line) && line[i] == '#' {
			i++
		}
	default:
		open := line[0] == '('
		if open {
			i = 1
		}
		from := i
		for i < len(line) && i-from < 3 && '0' <= line[i] && line[i] <= '9' {
			i++
		}
		if i == from && i < len(line) && IsLetterByte(line[i]) {
			i++
		}
		if i == from || i >= len(line) || line[i] != ')' && (open || line[i] != '.') {
			return 0
		}
		i++
	}
	if i < len(line) && line[i] != ' ' && line[i] != '\t' {
		return 0
	}
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return i
}

// sentenceEnd is the length of the first sentence of s, its end mark included.
func SentenceEnd(s string) int {
	ticks := false // inside `code`
	for i, r := range s {
		switch r {
		case '`':
			ticks = !ticks
		case '。', '！', '？':
			return i + utf8.RuneLen(r)
		case '.', '!', '?':
			if ticks {
				continue
			}
			end := i + 1
			for end < len(s) && strings.IndexByte(".!?\"')*_", s[end]) >= 0 {
				end++
			}
			if end == len(s) || (s[end] == ' ' || s[end] == '\n' || s[end] == '\t' || s[end] == '\r') && !abbreviated(s[:i], s[end:]) {
				return end
			}
		}
	}
	return len(s)
}

// abbreviated reports whether a full stop between before and after is that of an
// abbreviation or a number, or goes on with a small letter.
func abbreviated(before, after string) bool {
	word := before[strings.LastIndexAny(before, " \n\t(")+1:]
	switch strings.ToLower(word) {
	case "e.g", "i.e", "eg", "ie", "vs", "etc", "cf", "approx", "resp", "z.b", "d.h", "bzw":
		return true
	}
	return IsDigits(word) && len(word) < 3 && word == before
}
