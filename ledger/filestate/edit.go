package filestate

import (
	"math"
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
// occurrence of it. Where the text is among the known lines, the lines after it move;
// where it is not, it is in a stretch that was never shown.
func (f *File) Replace(call int, before, after string, all bool) {
	before, after = plain(before), plain(after)
	if before == after {
		return
	}
	if before == "" {
		if f.ended && f.total == 0 {
			f.Write(call, after)
			return
		}
		f.Lose(Doubt{Call: call, Why: "its edit cannot be followed", hard: true})
		return
	}
	found := f.find(before, false)
	switch {
	case all && len(found) > 0:
		f.replaceAll(call, before, after)
	case len(found) == 1:
		f.replaceAt(call, found[0], before, after)
	case len(found) > 1:
		f.Lose(Doubt{Call: call, Why: "its edit fits several places", hard: true})
	default:
		f.unseen(call, before, after, all)
	}
	f.seen = call
	f.settle()
}

func plain(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// replaceAt replaces a text that is at a place.
func (f *File) replaceAt(call int, at place, before, after string) {
	p := &f.pieces[at.piece]
	delta := lineCount(after) - lineCount(before)
	if p.at == 0 || p.doubt.Call > 0 { // it may be elsewhere, among lines that others show
		f.cutEdges(before, after, at.piece)
		switch {
		case p.at == 0:
			f.moved(delta)
		case delta != 0 && len(f.gaps()) > 1:
			f.unanchor() // put counts the lines
		}
	}
	f.put(call, at.piece, p.text.replace(at.at, len(before), after), delta)
}

// put gives a piece a new text, which has so many more line feeds.
func (f *File) put(call, i int, text body, delta int) {
	p := &f.pieces[i]
	number, end := p.at, p.end()
	last := f.endsWith(p)
	p.text, p.call = text, call
	switch {
	case text.size == 0 || text.hasSuffix("\n"):
	case last: // the last line lost its line feed
		p.text = bodyOf(text.String() + "\n")
		f.bare = true
		delta++
	default: // joined with a line that is not known
		all := text.String()
		p.text = bodyOf(all[:strings.LastIndexByte(all, '\n')+1])
		for k := range f.pieces {
			if q := &f.pieces[k]; k != i && q.at != 1 && (number == 0 || q.at == 0 || q.at == end) {
				q.dropFirst()
			}
		}
	}
	if number > 0 {
		f.shift(number, delta)
	}
}

// endsWith reports whether a piece has the last line of the file.
func (f *File) endsWith(p *piece) bool {
	return f.ended && (!f.loose || p.doubt.Call > 0) && p.at != 0 && p.end() == f.total+1
}

// dropFirst forgets the first line of a piece.
func (p *piece) dropFirst() {
	_, p.text = p.text.split(1)
	if p.at > 0 {
		p.at++
	}
}

// shift moves what comes after the piece that begins at a line.
func (f *File) shift(after, delta int) {
	if f.ended {
		f.total += delta
	}
	for i := range f.pieces {
		if p := &f.pieces[i]; p.at > after {
			p.at += delta
		}
	}
}

// replaceAll replaces the text wherever it is known to be. There may be more of it in
// stretches that were never shown.
func (f *File) replaceAll(call int, before, after string) {
	if len(f.gaps()) > 0 {
		f.cutEdges(before, after, -1)
		if lineCount(before) != lineCount(after) {
			f.unanchor()
			f.ended = false
		}
	}
	delta := lineCount(after) - lineCount(before)
	for i := range f.pieces {
		text := f.pieces[i].text.String()
		if n := strings.Count(text, before); n > 0 {
			f.put(call, i, bodyOf(strings.ReplaceAll(text, before, after)), n*delta)
		}
	}
}

// unseen notes a change of text that is not among the known lines.
func (f *File) unseen(call int, before, after string, all bool) {
	gaps := f.gaps()
	if len(gaps) == 0 {
		f.Lose(Doubt{Call: call, Why: "it changed text that the known lines do not have", hard: true})
		f.ended = false
	}
	f.cutEdges(before, after, -1)
	delta := lineCount(after) - lineCount(before)
	switch {
	case all:
		if delta != 0 {
			f.unanchor()
			f.ended = false
		}
	case len(gaps) == 1:
		f.shift(gaps[0], delta)
	case delta != 0:
		f.moved(delta)
	}
	if strings.TrimSpace(after) != "" {
		f.pieces = append(f.pieces, piece{text: bodyOf(fed(after)), call: call, ragged: true})
	}
}

// moved notes that some lines came or went in a stretch that is not certain.
func (f *File) moved(delta int) {
	gaps := f.gaps()
	if delta != 0 && len(gaps) == 1 {
		f.shift(gaps[0], delta)
	} else if delta != 0 {
		if f.ended {
			f.total += delta
		}
		f.unanchor()
	}
}

// gaps lists the last lines of the stretches between lines that are certain; the last of
// them may go on to the end.
func (f *File) gaps() []int {
	var out []int
	next := 1
	for i := range f.pieces {
		p := &f.pieces[i]
		if p.at == 0 || p.doubt.Call > 0 {
			continue
		}
		if p.at > next {
			out = append(out, p.at-1)
		}
		next = p.end()
	}
	if !f.ended || f.loose || next <= f.total {
		out = append(out, math.MaxInt)
	}
	return out
}

// unanchor takes the numbers from the certain lines after the first stretch that is not.
func (f *File) unanchor() {
	next := 1
	for i := range f.pieces {
		switch p := &f.pieces[i]; {
		case p.doubt.Call > 0:
		case p.at != next:
			p.at, next = 0, -1
		default:
			next = p.end()
		}
	}
}

// cutEdges takes from the pieces what a text may have covered that lies partly in a stretch
// that was never shown, and lines that what came in its place may have been joined with.
// The piece with the number skip stays as it is.
func (f *File) cutEdges(text, with string, skip int) {
	joins := strings.HasSuffix(text, "\n") && !strings.HasSuffix(with, "\n")
	for i := range f.pieces {
		p := &f.pieces[i]
		if i == skip {
			continue
		}
		if p.text.size <= len(text) && strings.Contains(text, p.text.String()) {
			p.text = body{}
			continue
		}
		first, last := 0, p.text.size
		for k := 1; k < len(text); k++ {
			if text[k-1] != '\n' {
				continue
			}
			if p.text.hasSuffix(text[:k]) && !f.endsWith(p) {
				last = min(last, p.text.size-k)
			}
			if p.text.hasPrefix(text[k:]) && p.at != 1 {
				first = max(first, len(text)-k)
			}
		}
		if joins && p.at != 1 {
			first++
		}
		if first == 0 && last == p.text.size {
			continue
		}
		all := p.text.String()
		first = min(first, len(all))
		if k := strings.IndexByte(all[max(first-1, 0):], '\n'); first > 0 && k >= 0 { // to the end of the line
			first += k
		}
		last = strings.LastIndexByte(all[:last], '\n') + 1
		if last <= first {
			p.text = body{}
			continue
		}
		if p.at != 0 {
			p.at += lineCount(all[:first])
		}
		p.text = bodyOf(all[first:last])
	}
}

// Append notes that a call put text at the end of the file.
func (f *File) Append(call int, text string) {
	f.seen = call
	switch {
	case !f.ended || f.loose:
		f.pieces = append(f.pieces, piece{text: bodyOf(fed(text)), call: call, ragged: true})
		f.ended = false
	case f.bare || len(f.pieces) > 0 && f.pieces[len(f.pieces)-1].at == 0:
		f.Lose(Doubt{Call: call, Why: "it joined the last line", hard: true})
		f.ended = false
	default:
		f.pieces = append(f.pieces, piece{at: f.total + 1, text: bodyOf(fed(text)), call: call})
		f.total += lineCount(fed(text))
		f.settle()
	}
}

// Insert notes that a call put lines after a line.
func (f *File) Insert(call, after int, text string) {
	if after < 0 || after > maxLine {
		f.Lose(Doubt{Call: call, Why: "it put lines at a place that no file has", hard: true})
		f.ended = false
		return
	}
	text = fed(plain(text))
	var keep []piece
	for _, p := range f.pieces {
		if p.at == 0 {
			keep = append(keep, p)
			continue
		}
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
