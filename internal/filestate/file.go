// Package filestate says what a file contains after a call, as far as a conversation shows
// it: put together from what calls read, wrote and edited. A line is certain only if nothing
// that the conversation does not show can have changed it, or moved it, since.
package filestate

import (
	"slices"
	"strings"
)

// File is what is known of a file's content. Lines end with a line feed, whatever they end
// with on disk. The zero value is a file of which nothing is known.
type File struct {
	pieces []piece // in their order
	total  int     // number of lines, if ended
	ended  bool    // where the file ends is known
	loose  bool    // but no longer for certain
	bare   bool    // the last line is known to lack its line feed
	gone   bool
	seen   int // newest call that read or changed it and could be followed
}

// Doubt is what ended the certainty about a file's lines.
type Doubt struct {
	Call int    // number of the call
	Why  string // for people
	hard bool   // what was seen contradicts what is known: Vouch does not take it back
	next bool   // it arose after the call
}

// piece is a run of lines.
type piece struct {
	at    int    // number of the first line
	text  string // whole lines
	call  int    // newest call that showed it or wrote in it
	doubt Doubt  // what made it uncertain; the zero value: it is certain
}

func lineCount(text string) int { return strings.Count(text, "\n") }

func (p *piece) end() int { return p.at + lineCount(p.text) } // the line after it

// fed is the text with a line feed at its end and none but line feeds at the ends of lines.
func fed(text string) string {
	if strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// Whole reports whether every line is known, and that there are no more.
func (f *File) Whole() bool {
	next := 1
	for i := range f.pieces {
		if f.pieces[i].at != next {
			return false
		}
		next = f.pieces[i].end()
	}
	return f.ended && next == f.total+1
}

// Certain reports whether the whole file is known for certain.
func (f *File) Certain() bool {
	return f.Whole() && !f.loose && !slices.ContainsFunc(f.pieces, func(p piece) bool { return p.doubt.Call > 0 })
}

// Write notes that a call wrote the whole file.
func (f *File) Write(call int, text string) {
	*f = File{ended: true, bare: text != "" && !strings.HasSuffix(text, "\n"), seen: call}
	if text = fed(text); text != "" {
		f.pieces = []piece{{at: 1, text: text, call: call}}
		f.total = lineCount(text)
	}
}

// Delete notes that a call deleted the file.
func (f *File) Delete(call int) { *f = File{gone: true, seen: call} }

// See notes that a call showed lines from number at on. ended says that the last of them is
// the last of the file. Where the lines differ from what was certain, something unseen
// changed the file, and the rest of it is no longer certain. A number that no file has shows
// nothing.
func (f *File) See(call, at int, text string, ended bool) {
	if at < 1 || at > maxLine {
		return
	}
	text = fed(text)
	fresh := piece{at: at, text: text, call: call}
	last := fresh.end()
	if at == 1 && ended {
		f.Write(call, text)
		return
	}
	var keep []piece
	conflict := f.ended && !f.loose && (last-1 > f.total || ended && last-1 != f.total)
	for _, p := range f.pieces {
		before, inside, after := p.cut(at, last)
		if p.doubt.Call == 0 && inside.text != linesOf(text, inside.at-at, lineCount(inside.text)) {
			conflict = true
		}
		if ended {
			after.text = ""
		}
		for _, part := range []piece{before, after} {
			if part.text != "" {
				keep = append(keep, part)
			}
		}
	}
	f.pieces, f.gone, f.seen = keep, false, call
	if conflict {
		f.ended = false
		f.Lose(Doubt{Call: call, Why: "it showed lines that had changed unseen", hard: true})
	}
	if ended {
		f.total, f.ended, f.loose = last-1, true, false
	} else if f.ended && last-1 > f.total {
		f.ended = false
	}
	if text != "" {
		f.pieces = append(f.pieces, fresh)
	}
	f.settle()
}

// Lose ends the certainty about all lines.
func (f *File) Lose(d Doubt) {
	for i := range f.pieces {
		if f.pieces[i].doubt.Call == 0 || d.hard {
			f.pieces[i].doubt = d
		}
	}
	f.loose = true
}

// Vouch notes that the file has not changed since a call last read or wrote it. What made
// it uncertain in between did not change it.
func (f *File) Vouch() {
	for i := range f.pieces {
		if d := f.pieces[i].doubt; !d.hard && (d.Call > f.seen || d.Call == f.seen && d.next) {
			f.pieces[i].doubt = Doubt{}
		}
	}
	f.loose = slices.ContainsFunc(f.pieces, func(p piece) bool { return p.doubt.Call > 0 })
	f.settle()
}

// cut takes a piece apart: what is before line from, what is from there up to line to, which
// does not belong to it, and the rest.
func (p piece) cut(from, to int) (before, inside, after piece) {
	n := lineCount(p.text)
	a, b := min(max(from-p.at, 0), n), min(max(to-p.at, 0), n)
	before, inside, after = p, p, p
	i, k := offset(p.text, a), offset(p.text, b)
	before.text, inside.text, after.text = p.text[:i], p.text[i:k], p.text[k:]
	inside.at, after.at = p.at+a, p.at+b
	return before, inside, after
}

// offset is where line n begins, counted from 0.
func offset(text string, n int) int {
	at := 0
	for ; n > 0; n-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// linesOf is n lines of a text from line first on, counted from 0.
func linesOf(text string, first, n int) string {
	text = text[offset(text, first):]
	return text[:offset(text, n)]
}

// settle orders the pieces and joins those that follow one another. Of two that cannot both
// be right the older one goes.
func (f *File) settle() {
	slices.SortStableFunc(f.pieces, func(a, b piece) int { return a.at - b.at })
	out := f.pieces[:0]
	for _, p := range f.pieces {
		if p.text == "" {
			continue
		}
		n := len(out)
		if n == 0 || p.at > out[n-1].end() {
			out = append(out, p)
			continue
		}
		switch l := &out[n-1]; {
		case p.at < l.end() && p.call > l.call:
			p.doubt = Doubt{Call: p.call, Why: "it showed lines that had changed unseen", hard: true}
			*l = p
		case p.at < l.end():
			l.doubt = Doubt{Call: l.call, Why: "it showed lines that had changed unseen", hard: true}
		case p.doubt == l.doubt:
			l.text, l.call = l.text+p.text, max(l.call, p.call)
		default:
			out = append(out, p)
		}
	}
	f.pieces = out
}

// maxLine is the highest number that a line is shown or inserted at.
const maxLine = 10_000_000

// Line is a line of a file as far as it is known.
type Line struct {
	Number  int    // counted from 1
	Text    string // without its line feed
	Certain bool
}

// Lines returns the known lines in their order.
func (f *File) Lines() []Line {
	var out []Line
	for _, p := range f.pieces {
		at := p.at
		for line := range strings.Lines(p.text) {
			out = append(out, Line{Number: at, Text: strings.TrimSuffix(line, "\n"), Certain: p.doubt.Call == 0})
			at++
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
		b.WriteString(f.pieces[i].text)
	}
	if f.bare {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String()
}

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
