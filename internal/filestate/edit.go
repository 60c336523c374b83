package filestate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
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
		in := f.pieces[i].text
		for at := index(in, text, 0, aligned); at >= 0; at = index(in, text, at+len(text), aligned) {
			out = append(out, place{i, at})
		}
	}
	return out
}

// index is where a text is first in another from a place on; -1: nowhere. With aligned it counts
// only at the beginning of a line.
func index(in, text string, from int, aligned bool) int {
	for {
		k := strings.Index(in[from:], text)
		if k < 0 {
			return -1
		}
		if from += k; !aligned || from == 0 || in[from-1] == '\n' {
			return from
		}
		from++
	}
}

// Replace notes that a call replaced a text that the file has once or, with all, every
// occurrence of it. Lines after it move. Where it cannot be told where the text is, no line is
// certain any more.
func (f *File) Replace(call int, before, after string, all bool) {
	before, after = plain(before), plain(after)
	found := f.find(before, false)
	switch {
	case before == after:
		return
	case before == "" && f.ended && f.total == 0:
		f.Write(call, after)
		return
	case len(found) == 0:
		f.lost(call, "it changed text that the known lines do not have")
	case all && f.Whole() && len(f.pieces) == 1:
		text := strings.ReplaceAll(f.pieces[0].text, before, after)
		f.put(call, 0, text, len(found)*(lineCount(after)-lineCount(before)))
	case !all && len(found) == 1 && f.sure(found[0].piece):
		f.replaceAt(call, found[0], before, after)
	default:
		f.lost(call, "its edit fits several places")
	}
	f.seen = call
	f.settle()
}

func plain(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// lost notes that a call changed the file in a way that cannot be followed.
func (f *File) lost(call int, why string) {
	f.Lose(Doubt{Call: call, Why: why, hard: true})
	f.ended = false
}

// sure reports whether what is found in a piece is nowhere else: where other lines are
// certain, an uncertain piece may be wrong about it.
func (f *File) sure(i int) bool {
	certain := func(p piece) bool { return p.doubt.Call == 0 }
	return certain(f.pieces[i]) || !slices.ContainsFunc(f.pieces, certain)
}

func (f *File) replaceAt(call int, at place, before, after string) {
	text := f.pieces[at.piece].text
	f.put(call, at.piece, text[:at.at]+after+text[at.at+len(before):], lineCount(after)-lineCount(before))
}

// put gives a piece a new text, which has delta more line feeds.
func (f *File) put(call, i int, text string, delta int) {
	p := &f.pieces[i]
	number, end := p.at, p.end()
	last := f.endsWith(p)
	p.text, p.call = text, call
	switch {
	case text == "" || strings.HasSuffix(text, "\n"):
	case last: // the last line lost its line feed
		p.text += "\n"
		f.bare = true
		delta++
	default: // joined with the next line
		p.text = text[:strings.LastIndexByte(text, '\n')+1]
		for k := range f.pieces {
			if q := &f.pieces[k]; q.at == end {
				q.text = q.text[offset(q.text, 1):]
				q.at++
			}
		}
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

// endsWith reports whether a piece has the last line of the file.
func (f *File) endsWith(p *piece) bool {
	return f.ended && (!f.loose || p.doubt.Call > 0) && p.end() == f.total+1
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
		f.pieces = append(f.pieces, piece{at: f.total + 1, text: fed(text), call: call})
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
	f.pieces = append(keep, piece{at: after + 1, text: text, call: call})
	f.seen = call
	f.settle()
}

// has reports whether the known lines have the text that an edit looks for.
func (f *File) has(ed toolcall.Edit) bool {
	if ed.Kind == toolcall.EditReplace {
		return ed.Old != "" && len(f.find(plain(ed.Old), false)) > 0
	}
	return slices.ContainsFunc(ed.Hunks, func(h toolcall.Hunk) bool {
		return len(h.Old) > 2 && len(f.find(toolcall.JoinLines(h.Old), true)) > 0
	})
}

// Patch notes that a call applied the hunks of a patch, one after the other.
func (f *File) Patch(call int, hunks []toolcall.Hunk) {
	f.seen = call
	if f.patchWhole(call, hunks) {
		return
	}
	for _, h := range hunks {
		before, after := toolcall.JoinLines(h.Old), toolcall.JoinLines(h.New)
		if before == after {
			continue
		}
		if found := f.find(before, true); len(found) == 1 && f.sure(found[0].piece) {
			f.replaceAt(call, found[0], before, after)
		} else {
			f.lost(call, "where its patch fits is not known")
		}
		f.settle()
	}
}

// patchWhole applies hunks to a file that is wholly known, the way apply_patch does: each
// is looked for from where the last one ended. It reports whether all have a place.
func (f *File) patchWhole(call int, hunks []toolcall.Hunk) bool {
	if !f.Whole() || len(f.pieces) != 1 || f.loose && f.pieces[0].doubt.Call == 0 {
		return false
	}
	text, at := f.pieces[0].text, 0
	for _, h := range hunks {
		for _, c := range h.Context {
			line := c + "\n"
			if at = index(text, line, at, true); at < 0 {
				return false
			}
			at += len(line)
		}
		before, after := toolcall.JoinLines(h.Old), plain(toolcall.JoinLines(h.New))
		if before == "" {
			return false // agents differ in where they put that
		}
		if at = index(text, before, at, true); at < 0 {
			return false
		}
		text = text[:at] + after + text[at+len(before):]
		at += len(after)
	}
	f.pieces[0].text, f.pieces[0].call, f.total = text, call, lineCount(text)
	f.settle()
	return true
}

// unifiedDiff writes how one text becomes another, as a unified diff without file names.
func unifiedDiff(before, after string) string {
	a, b := splitLines(before), splitLines(after)
	ops := text.DiffLines(a, b, maxSteps)
	var out strings.Builder
	for from := 0; from < len(ops); {
		if ops[from].Kind == ' ' {
			from++
			continue
		}
		start, end := max(from-around, 0), from
		for k := from; k < len(ops) && k <= end+2*around; k++ {
			if ops[k].Kind != ' ' {
				end = k
			}
		}
		stop := min(end+around+1, len(ops))
		writeHunk(&out, ops[start:stop], a, b)
		from = stop
	}
	return out.String()
}

// around is how many lines a hunk shows before and after what changed.
const around = 3

func splitLines(s string) []string {
	if s = fed(s); s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// maxSteps is how many lines may differ for the shortest diff to be looked for.
const maxSteps = 1_000

func writeHunk(out *strings.Builder, ops []text.DiffLine, a, b []string) {
	olds, news := 0, 0
	for _, o := range ops {
		if o.Kind != '+' {
			olds++
		}
		if o.Kind != '-' {
			news++
		}
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", ops[0].A+min(olds, 1), olds, ops[0].B+min(news, 1), news)
	for _, o := range ops {
		line := ""
		if o.Kind == '+' {
			line = b[o.B]
		} else {
			line = a[o.A]
		}
		fmt.Fprintf(out, "%c%s\n", o.Kind, line)
	}
}
