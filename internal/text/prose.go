package text

import (
	"strings"
	"unicode/utf8"
)

// ProseUnit is a piece of prose that can stand by itself on a page: a sentence, a list
// item, a row of a table, a line of code, or a heading.
type ProseUnit struct {
	Start, End int   // in the text, without the space around it
	Parent     int   // the unit that introduces it: a heading, a line that ends in a colon, an outer item; -1: none
	Depth      int   // number of units above it
	Para       int   // units of one paragraph have the same number
	Kind       uint8 // unitSentence …
}

const (
	unitSentence uint8 = iota
	unitItem
	UnitHeading
	UnitLead // a short line that introduces what follows it
	unitRow
	UnitCode  // of a fenced block
	unitQuote // of a short one: a command, a value, a commit
)

const (
	maxUnit      = 420 // bytes; a line longer than a third of it is split into sentences
	maxCodeLines = 12  // of one fenced block
	maxQuote     = 3   // lines of a short one
)

// ProseUnits splits a text as assistants write it: Markdown, lines not wrapped.
func ProseUnits(text string) []ProseUnit {
	s := unitSplitter{text: text, heading: -1, lead: -1}
	for at := 0; at < len(text); {
		next := LineEnd(text, at)
		s.line(at, next)
		at = next
	}
	return s.list
}

type unitSplitter struct {
	text    string
	list    []ProseUnit
	heading int // unit of the newest heading
	lead    int // unit that introduces what follows; -1: none
	items   []openItem
	para    int
	fenced  bool
	code    int // lines of the present fenced block
	fence   int // its first unit
}

// openItem is a list item that may have inner items.
type openItem struct{ unit, indent int }

func (s *unitSplitter) line(start, end int) {
	line := strings.TrimLeft(s.text[start:end], " \t")
	indent := end - start - len(line)
	line = strings.TrimRight(line, " \t\r\n")
	start += indent
	end = start + len(line)
	s.para++
	switch {
	case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
		if s.fenced && s.code > maxQuote {
			for k := range s.list[s.fence:] {
				s.list[s.fence+k].Kind = UnitCode
			}
		}
		s.fenced, s.code, s.fence = !s.fenced, 0, len(s.list)
	case s.fenced:
		if s.code++; s.code <= maxCodeLines && len(line) > 2 {
			s.add(start, end, s.introducer(), unitQuote)
		}
	case line == "" || isRule(line):
		// A list may go on after an empty line; its introduction stays.
	case headingMark(line) > 0:
		s.items, s.lead = s.items[:0], -1
		s.heading = s.add(start+headingMark(line), end, -1, UnitHeading)
	case line[0] == '|':
		s.add(start, end, s.introducer(), unitRow)
	case ListMark(line) > 0:
		s.item(start, end, indent)
	default:
		s.paragraph(start, end, indent)
	}
}

func (s *unitSplitter) item(start, end, indent int) {
	for n := len(s.items); n > 0 && s.items[n-1].indent >= indent; n-- {
		s.items = s.items[:n-1]
	}
	parent := s.lead
	if n := len(s.items); n > 0 {
		parent = s.items[n-1].unit
	}
	if parent < 0 {
		parent = s.heading
	}
	s.items = append(s.items, openItem{s.split(start, end, parent, unitItem), indent})
}

// paragraph takes a line of prose. One that ends in a colon, or is all bold, introduces
// what follows it.
func (s *unitSplitter) paragraph(start, end, indent int) {
	if n := len(s.items); n > 0 && indent > s.items[n-1].indent {
		s.split(start, end, s.items[n-1].unit, unitSentence) // goes on in the item
		return
	}
	s.items = s.items[:0]
	s.lead = -1
	last := s.split(start, end, s.heading, unitSentence)
	line := strings.TrimRight(s.text[start:end], "*_ ")
	bold := strings.HasPrefix(line, "**") && strings.HasSuffix(s.text[start:end], "**")
	if strings.HasSuffix(line, ":") || bold && len(line) < 80 {
		s.lead = last
		if s.list[last].End-s.list[last].Start < 120 {
			s.list[last].Kind = UnitLead
		}
	}
}

// introducer is the unit that introduces a block: the open item, the lead, the heading.
func (s *unitSplitter) introducer() int {
	switch n := len(s.items); {
	case n > 0:
		return s.items[n-1].unit
	case s.lead >= 0:
		return s.lead
	}
	return s.heading
}

// split adds a line as one unit or, if it is long, as its sentences. It returns the last.
func (s *unitSplitter) split(start, end, parent int, kind uint8) int {
	last := -1
	for start < end {
		n := end - start
		if n > maxUnit/3 {
			n = SentenceEnd(s.text[start:end])
		}
		stop := end - len(strings.TrimLeft(s.text[start+n:end], " \t\r\n"))
		if end-stop < 20 { // no crumbs
			n, stop = end-start, end
		}
		last = s.add(start, start+n, parent, kind)
		start = stop
		if kind == unitItem {
			kind, parent = unitSentence, last
		}
	}
	return last
}

func (s *unitSplitter) add(start, end, parent int, kind uint8) int {
	depth := 0
	if parent >= 0 {
		depth = s.list[parent].Depth + 1
	}
	s.list = append(s.list, ProseUnit{Start: start, End: end, Parent: parent, Depth: depth, Para: s.para, Kind: kind})
	return len(s.list) - 1
}

// isRule reports whether a line only draws one: "---", "|---|---|", "***".
func isRule(line string) bool { return strings.Trim(line, "-=*_|:─ ") == "" }

// headingMark is the length of the marks before a heading's words, 0 if it is none.
func headingMark(line string) int {
	rest := strings.TrimLeft(line, "#")
	if n := len(line) - len(rest); n == 0 || n > 6 || !strings.HasPrefix(rest, " ") {
		return 0
	}
	return len(line) - len(strings.TrimLeft(rest, " "))
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
			if end == len(s) || IsSpaceByte(s[end]) && !numbers(s[:i]) {
				return end
			}
		}
	}
	return len(s)
}

// numbers reports whether a full stop after this text belongs to the short number of an item.
func numbers(before string) bool { return len(before) < 3 && IsDigits(before) }
