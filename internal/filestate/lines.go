package filestate

import (
	"slices"
	"strings"
)

// Line is a line of a file as far as it is known.
type Line struct {
	Number  int    // counted from 1
	Text    string // without its line feed
	Call    int    // newest call that showed it or wrote near it
	Certain bool
}

// Lines returns the known lines in their order.
func (f *File) Lines() []Line {
	n := 0
	for i := range f.pieces {
		n += f.pieces[i].text.lines
	}
	out := make([]Line, 0, n)
	for i := range f.pieces {
		p := &f.pieces[i]
		at := p.at
		for c := range p.text.chunks {
			for line := range strings.Lines(p.text.chunks[c].text) {
				text := strings.TrimSuffix(line, "\n")
				out = append(out, Line{Number: at, Text: text, Call: p.call, Certain: p.doubt.Call == 0})
				at++
			}
		}
	}
	return out
}

// Content is the file, if it is wholly known.
func (f *File) Content() string {
	if !f.Whole() {
		return ""
	}
	var b strings.Builder
	for i := range f.pieces {
		b.WriteString(f.pieces[i].text.String())
	}
	if f.bare {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String()
}

// Total is the number of lines, if it is known.
func (f *File) Total() (n int, known bool) { return f.total, f.ended }

// Gone reports whether the file was deleted.
func (f *File) Gone() bool { return f.gone }

// Seen is the newest call that showed the file or changed it in a way that could be
// followed; 0: none.
func (f *File) Seen() int { return f.seen }

// Doubts are what makes lines uncertain, oldest first.
func (f *File) Doubts() []Doubt {
	var out []Doubt
	for _, p := range f.pieces {
		if p.doubt.Call > 0 && !slices.Contains(out, p.doubt) {
			out = append(out, p.doubt)
		}
	}
	slices.SortFunc(out, func(a, b Doubt) int { return a.Call - b.Call })
	return out
}
