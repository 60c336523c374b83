package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentence is a stretch of prose in a text, verbatim: a sentence, a list item or a line.
type Sentence struct {
	Text string
	Para int  // number of its paragraph, counted over the whole text
	Item bool // a list item
	Lead int  // index of the sentence that introduces the list it belongs to, -1: none
}

// Sentences splits the prose of a text. Code blocks and quoted lines (">") are left out:
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
	if mark == 0 || heading {
		s.lead = 0
	}
	lead, before := s.lead-1, len(s.list)
	for rest := body; rest != ""; {
		n := SentenceEnd(rest)
		if piece := strings.TrimSpace(rest[:n]); piece != "" {
			s.list = append(s.list, Sentence{Text: piece, Para: s.para, Item: mark > 0, Lead: lead})
		}
		rest = rest[n:]
	}
	if mark == 0 && len(s.list) > before && (strings.HasSuffix(body, ":") || heading) {
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

// ListMark is the length of a list marker at the beginning of a line, 0 if there is none:
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
		i = len(line) - len(strings.TrimLeft(line, "#"))
	default:
		open := line[0] == '('
		if open {
			i = 1
		}
		from := i
		i += min(DigitsEnd(line, i)-i, 3)
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
	return len(line) - len(strings.TrimLeft(line[i:], " \t"))
}

// SentenceEnd is the length of the first sentence of s, its end mark included.
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
			end := len(s) - len(strings.TrimLeft(s[i+1:], ".!?\"')*_"))
			if end == len(s) || IsSpaceByte(s[end]) && !abbreviated(s[:i]) {
				return end
			}
		}
	}
	return len(s)
}

// abbreviated reports whether a full stop after this text belongs to an abbreviation, or to
// a short number at the very beginning.
func abbreviated(before string) bool {
	word := before[strings.LastIndexAny(before, " \n\t(")+1:]
	switch strings.ToLower(word) {
	case "e.g", "i.e", "eg", "ie", "vs", "etc", "cf", "approx", "resp", "z.b", "d.h", "bzw":
		return true
	}
	return IsDigits(word) && len(word) < 3 && word == before
}
