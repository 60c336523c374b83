package userwords

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/text"
)

// People paste console output, logs, diffs, documents and other people's plans into what
// they type. A paste is told from typing by its form alone, and only in long messages:
// where nothing needs the room, nothing depends on it.

type span struct{ start, end int }

const (
	leastPasted = 1_000 // bytes of a message below which all of it counts as typed
	leastPaste  = 600   // bytes of a paste that is worth shortening
	pasteKept   = 360   // bytes that a shortened paste keeps of its beginning and end
)

// pastesIn finds what is pasted into a text, in order.
func pastesIn(txt string) []span {
	if len(txt) < leastPasted {
		return nil
	}
	var list []span
	fence, document := "", false
	alone := false // the last paste is fenced, and nothing belongs to it but what is in the fence
	for at := 0; at < len(txt); {
		end := text.LineEnd(txt, at)
		line := strings.TrimRight(txt[at:end], " \t\r\n")
		document = document || fence == "" && isHeading(line)
		mark := fenceMark(line)
		switch {
		case fence != "":
			list[len(list)-1].end = end
			if strings.HasPrefix(mark, fence) && mark == strings.TrimSpace(line) {
				fence = ""
			}
		case mark != "" && !document:
			fence, alone = mark, true
			list = append(list, span{at, end})
		case !document && !printed(line):
		case alone:
			alone = false
			list = append(list, span{at, end})
		default:
			list = join(list, span{at, end}, txt)
		}
		at = end
	}
	return slices.DeleteFunc(list, func(s span) bool { return s.end-s.start < leastPaste })
}

// fenceMark returns the signs with which a line opens or closes a fence.
func fenceMark(line string) string {
	line = strings.TrimSpace(line)
	info := strings.TrimLeft(line, "`")
	if n := len(line) - len(info); n >= 3 && !strings.Contains(info, "`") {
		return line[:n]
	}
	return ""
}

// join adds a pasted line to the paste before it, if only little is between them that is no
// sentence: what people say of two pastes stands between them.
func join(list []span, s span, txt string) []span {
	const between = 160
	if n := len(list); n > 0 {
		last := &list[n-1]
		gap := strings.TrimSpace(txt[last.end:s.start])
		if len(gap) <= between && !slices.ContainsFunc(strings.Split(gap, "\n"), isSentence) &&
			(!strings.HasSuffix(gap, ":") || last.end-last.start < leastPaste) {
			last.end = s.end
			return list
		}
	}
	return append(list, s)
}

// isSentence reports whether a line is plain prose: words, hardly anything else, and the end
// of a word or sentence.
func isSentence(line string) bool {
	line = strings.TrimSpace(line)
	letters, wide, last := 0, 0, ' '
	for _, last = range line {
		if unicode.IsLetter(last) || last == ' ' {
			letters++
		}
		if last >= 0x2e80 { // of an alphabet that writes no spaces
			wide++
		}
	}
	return (strings.Count(line, " ") >= 2 || wide > 4) && letters*10 >= utf8.RuneCountInString(line)*8 &&
		(unicode.IsLetter(last) || strings.ContainsRune(".,:;?!…。，：；？！", last))
}

// isHeading reports whether a line is a Markdown heading: a document begins.
func isHeading(line string) bool {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	return n > 0 && n < 7 && strings.HasPrefix(line[n:], " ")
}

// printed reports whether a line looks like a program's: indented, marked, or with
// more signs and numbers than people write. Empty lines do not.
func printed(line string) bool {
	switch {
	case line == "":
		return false
	case text.HasAnyPrefix(line, printedMarks...):
		return true
	}
	letters := 0
	for i := range len(line) {
		if c := line[i]; text.IsLetterByte(c) || c == ' ' || c >= 0x80 {
			letters++
		}
	}
	return len(line) > 20 && letters*10 < len(line)*7
}

// printedMarks begin lines that programs print.
var printedMarks = []string{
	" ", "\t", "{", "}", "[", "+", "@@", "--- ", "===", "|", "│", "✓", "✗", "$ ", "> ", "FAIL", "diff --git ",
}

// Brief returns the words with what is pasted into them shortened to its beginning and
// end, each paste with a mark that ends in rest.
func (s Said) Brief(rest string) string { return brief(s.Text, s.pastes, pasteKept, rest) }

// Shorten shortens a text until it fits: first what is pasted into it, then all of it
// loses its middle. Each mark ends in rest.
func Shorten(txt, rest string, fits func(string) bool) string {
	pastes := pastesIn(txt)
	for keep := len(txt) / 2; len(pastes) > 0 && keep >= pasteKept; keep /= 2 {
		if short := brief(txt, pastes, keep, rest); fits(short) {
			return short
		}
	}
	words := brief(txt, pastes, pasteKept, rest)
	keeps := []int{len(words) / 2}
	for i := 0; keeps[i] >= minKept; i++ {
		keeps = append(keeps, keeps[i]*3/4)
	}
	short := func(i int) string { return withoutMiddle(words, keeps[i], rest) }
	return short(sort.Search(len(keeps)-1, func(i int) bool { return fits(short(i)) })) // few of them are long
}

// withoutMiddle keeps about keep bytes of a text, two thirds of them from its beginning, in whole words.
func withoutMiddle(words string, keep int, rest string) string {
	head, tail := text.CutText(words, keep-keep/3), text.CutEnd(words, keep/3)
	if i := strings.LastIndexAny(head, " \n"); i > len(head)/2 {
		head = head[:i]
	}
	if i := strings.IndexAny(tail, " \n"); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	gone, around := text.Plural(len(words)-len(head)-len(tail), "byte"), "\n"
	if !strings.Contains(head+tail, "\n") {
		around = " "
	}
	return head + around + "[… " + gone + " left out" + rest + " …]" + around + tail
}

// brief shortens each paste in a text to keep bytes.
func brief(txt string, pastes []span, keep int, rest string) string {
	if len(pastes) == 0 {
		return txt
	}
	var b strings.Builder
	at := 0
	for _, p := range pastes {
		if p.end-p.start < keep+leastPaste/2 {
			continue
		}
		head := wholeLines(txt[p.start:p.end], keep*2/3)
		tail := txt[p.start+len(head) : p.end]
		if n := len(tail) - keep/3; n > 0 {
			tail = tail[text.RuneStart(tail, n):]
			if _, line, ok := strings.Cut(tail, "\n"); ok && strings.TrimSpace(line) != "" {
				tail = line
			}
		}
		gone := txt[p.start+len(head) : p.end-len(tail)]
		b.WriteString(txt[at : p.start+len(head)])
		if !strings.HasSuffix(head, "\n") {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[… %s left out%s …]\n%s", text.Plural(text.LineCount(gone), "line"), rest, tail)
		at = p.end
	}
	b.WriteString(txt[at:])
	return b.String()
}

// wholeLines returns the lines of a text that fit into limit bytes, or as much of the
// first as does.
func wholeLines(s string, limit int) string {
	cut := text.CutText(s, limit)
	if i := strings.LastIndexByte(cut, '\n'); i >= 0 {
		return cut[:i+1]
	}
	return cut
}
