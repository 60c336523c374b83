package filestate

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// place is where a text was found: in a piece, at a byte.
type place struct{ piece, at int }

// find returns where a text is in the pieces; aligned: only where it is whole lines.
func (f *File) find(text string, aligned bool) []place {
	if text == "" {
		return nil
	}
	var out []place
	for i := range f.pieces {
		s := f.pieces[i].text.search(text)
		for at := s.next(0, aligned); at >= 0; at = s.next(at+len(text), aligned) {
			out = append(out, place{i, at})
		}
	}
	return out
}

// Replace notes that a call replaced a text that the file has once or, with all, every
// occurrence of it. The lines after it move. Where the text is not among the lines that are
// certain, nothing is certain any more.
func (f *File) Replace(call int, before, after string, all bool) {
	before, after = plain(before), plain(after)
	if before == after {
		return
	}
	if before == "" && f.ended && f.total == 0 {
		f.Write(call, after)
		return
	}
	switch found := f.find(before, false); {
	case all && len(found) > 0:
		if !f.Certain() { // there may be more of it
			f.lost(call, "it changed text in lines that are not known")
		}
		f.replaceAll(call, before, after)
	case len(found) == 1:
		f.replaceAt(call, found[0], before, after)
	case len(found) > 1:
		f.lost(call, "its edit fits several places")
	default:
		f.lost(call, unknownText)
	}
	f.seen = call
	f.settle()
}

const unknownText = "it changed text that the known lines do not have"

func plain(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// replaceAt replaces a text that is at a place. Where that is not certain, it may have been
// elsewhere.
func (f *File) replaceAt(call int, at place, before, after string) {
	p := &f.pieces[at.piece]
	if p.doubt.Call > 0 {
		f.Lose(Doubt{Call: call, Why: "its edit may be elsewhere"})
	}
	f.put(call, at.piece, p.text.replace(at.at, len(before), after), lineCount(after)-lineCount(before))
}

func (f *File) replaceAll(call int, before, after string) {
	delta := lineCount(after) - lineCount(before)
	for i := range f.pieces {
		text := f.pieces[i].text.String()
		if n := strings.Count(text, before); n > 0 {
			f.put(call, i, bodyOf(strings.ReplaceAll(text, before, after)), n*delta)
		}
	}
}

// put gives a piece a new text, which has so many more line feeds, and moves what comes after
// it.
func (f *File) put(call, i int, text body, delta int) {
	p := &f.pieces[i]
	number := p.at
	last := f.ended && p.end() == f.total+1
	p.text, p.call = text, call
	switch {
	case text.size == 0 || text.hasSuffix("\n"):
	case last: // the last line lost its line feed
		p.text = bodyOf(text.String() + "\n")
		f.bare = true
		delta++
	default:
		all := text.String()
		p.text = bodyOf(all[:strings.LastIndexByte(all, '\n')+1])
		f.lost(call, "it joined a line with one that is not known")
	}
	if f.ended {
		f.total += delta
	}
	for k := range f.pieces {
		if q := &f.pieces[k]; q.at > number {
			q.at += delta
		}
	}
}

// Append notes that a call put text at the end of the file.
func (f *File) Append(call int, text string) {
	f.seen = call
	switch {
	case !f.ended || f.loose:
		f.ended = false
	case f.bare:
		f.lost(call, "it joined the last line")
	default:
		f.pieces = append(f.pieces, piece{at: f.total + 1, text: bodyOf(fed(text)), call: call})
		f.total += lineCount(fed(text))
		f.settle()
	}
}

// Insert notes that a call put lines after a line.
func (f *File) Insert(call, after int, text string) {
	if after < 0 || after > maxLine {
		f.lost(call, "it put lines at a place that no file has")
		return
	}
	text = fed(plain(text))
	var keep []piece
	for _, p := range f.pieces {
		before, _, rest := p.cut(after+1, after+1)
		rest.at += lineCount(text)
		keep = append(keep, before, rest)
	}
	if f.ended {
		f.total += lineCount(text)
	}
	f.pieces = append(keep, piece{at: after + 1, text: bodyOf(text), call: call})
	f.seen = call
	f.settle()
}

// has reports whether the known lines have the text that an edit looks for.
func (f *File) has(ed toolcall.Edit) bool {
	if ed.Kind == toolcall.EditReplace {
		return ed.Old != "" && len(f.find(plain(ed.Old), false)) > 0
	}
	return slices.ContainsFunc(ed.Hunks, func(h toolcall.Hunk) bool { return len(h.Old) > 2 && len(f.find(toolcall.JoinLines(h.Old), true)) > 0 })
}
