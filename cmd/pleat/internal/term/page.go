package term

import (
	"bufio"
	"path/filepath"
	"strings"
)

// Page writes lines for people and remembers the first error.
type Page struct {
	*bufio.Writer
	Screen
}

// Line writes a line.
func (p *Page) Line(format string, args ...any) {
	p.WriteString(string(Sprint(format, args...)) + "\n")
}

// Hang writes a text behind a prefix; the lines that it takes begin below one another, or
// below the prefix if that leaves too little room for a word.
func (p *Page) Hang(prefix Styled, text string) {
	if at := Columns(string(prefix)); !p.Whole && at+Columns(text) > p.Width {
		if at > 4 && at+Widest(strings.Fields(text), func(word string) string { return word }) > p.Width {
			p.Line("%s", Styled(strings.TrimRight(string(prefix), " ")))
			prefix, at = "    ", 4
		}
		text = strings.ReplaceAll(WrapWords(text, p.Width-at), "\n", "\n"+strings.Repeat(" ", at))
	}
	p.Line("%s%s", prefix, text)
}

// Title names the file that the page is about.
func (p *Page) Title(file string) { p.Line("%s", p.Bold(p.ClipMiddle(FileName(file), p.Width))) }

// Head begins a part of the page.
func (p *Page) Head(title, note string) {
	p.Line("")
	space := ""
	if note != "" {
		space = "  "
	}
	p.Line("%s%s%s", p.Bold(title), space, p.Dim(p.Clip(note, p.Width-Columns(title)-2)))
}

// Table prints rows in columns, the first aligned to the left and the others to the right.
func (p *Page) Table(rows [][]string) {
	for i := range rows[0] {
		width := Widest(rows, func(row []string) string { return row[i] })
		for _, row := range rows {
			if i == 0 {
				row[i] = Pad(row[i], width)
			} else {
				row[i] = PadLeft(row[i], width)
			}
		}
	}
	for _, row := range rows {
		p.Line("%s", strings.Join(row, "  "))
	}
}

// FileName is the name of a session file for people.
func FileName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return filepath.Base(name)
}
