// Package filestate says what a file contains after a call, as far as a conversation shows
// it: a read or a write of it, and the exact edits after that. Anything else that may have
// changed it ends the certainty.
package filestate

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// File is what is known of a file: a run of lines. Lines end with a line feed, whatever they
// end with on disk. The zero value is a file of which nothing is known.
type File struct {
	First int    // number of the first known line
	Text  string // the known lines
	Ended bool   // the file ends with them
	Bare  bool   // the last one is known to lack its line feed
	Gone  bool   // the file was deleted
	Seen  int    // newest call that showed it, or changed it in a way that could be followed
	Doubt Doubt  // what ended the certainty; the zero value: nothing
}

// Doubt is what ended the certainty about a file.
type Doubt struct {
	Call int    // number of the call; 0: there is no doubt
	Why  string // for people
	hard bool   // it stays if the file has not changed since it was seen last
}

func lineCount(text string) int { return strings.Count(text, "\n") }

func plain(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// fed is the text with a line feed at its end and none but line feeds at the ends of lines.
func fed(text string) string {
	if text = plain(text); text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
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

// end is the number of the line after the known ones.
func (f *File) end() int { return f.First + lineCount(f.Text) }

// Whole reports whether every line is known, and that there are no more.
func (f *File) Whole() bool { return f.First == 1 && f.Ended }

// Certain reports whether the whole file is known for certain.
func (f *File) Certain() bool { return f.Whole() && f.Doubt.Call == 0 }

// Content is what is known, as it is in the file.
func (f *File) Content() string {
	if f.Bare {
		return strings.TrimSuffix(f.Text, "\n")
	}
	return f.Text
}

// Write notes that a call wrote the whole file.
func (f *File) Write(call int, text string) {
	*f = File{First: 1, Text: fed(text), Ended: true, Bare: text != "" && !strings.HasSuffix(text, "\n"), Seen: call}
}

// Delete notes that a call deleted the file.
func (f *File) Delete(call int) { *f = File{Gone: true, Seen: call} }

// maxLine is the highest number that a line is shown or inserted at.
const maxLine = 10_000_000

// See notes that a call showed lines from number at on. ended says that the last of them is
// the last of the file. Where the known lines have them it tells nothing new; else they take
// the place of those.
func (f *File) See(call, at int, text string, ended bool) {
	if at < 1 || at > maxLine || text == "" && (at > 1 || !ended) {
		return
	}
	now := File{First: at, Text: fed(text), Ended: ended, Seen: call}
	same := at >= f.First && linesOf(f.Text, at-f.First, lineCount(now.Text)) == now.Text
	same = same && (!ended || f.Ended && now.end() == f.end())
	if now.Whole() || !same || f.Doubt.Call > 0 && !f.Whole() {
		*f = now
		return
	}
	f.touch(call)
}

// Lose ends the certainty.
func (f *File) Lose(d Doubt) {
	hard := f.Doubt.hard || d.hard
	if f.Doubt.Call == 0 {
		f.Doubt = d
	}
	f.Doubt.hard = hard
}

// lost notes that a call changed the file in a way that cannot be followed.
func (f *File) lost(call int, why string) { f.Lose(Doubt{Call: call, Why: why, hard: true}) }

// Vouch notes that the file has not changed since a call last read or wrote it: what made
// it uncertain after that did not change it.
func (f *File) Vouch() {
	if !f.Doubt.hard {
		f.Doubt = Doubt{}
	}
}

// touch notes that a call showed or changed the file.
func (f *File) touch(call int) {
	f.Seen = call
	f.Doubt.hard = f.Doubt.Call > 0
}

// Replace notes that a call replaced a text that the file has once or, with all, every
// occurrence of it.
func (f *File) Replace(call int, before, after string, all bool) {
	before, after = plain(before), plain(after)
	f.touch(call)
	switch n := strings.Count(f.Text, before); {
	case before == after:
	case before == "" && f.Whole() && f.Text == "":
		f.Write(call, after)
	case before == "" || n == 0:
		f.lost(call, "it changed text that the known lines do not have")
	case n > 1 && !all || all && !f.Whole():
		f.lost(call, "its edit fits several places")
	default:
		f.put(strings.ReplaceAll(f.Text, before, after))
	}
}

// put gives the known lines a new text.
func (f *File) put(text string) {
	switch {
	case text == "" || strings.HasSuffix(text, "\n"):
	case f.Ended: // the last line lost its line feed
		text, f.Bare = text+"\n", true
	default: // joined with the next line
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	f.Text = text
}

// Append notes that a call put text at the end of the file.
func (f *File) Append(call int, text string) {
	f.touch(call)
	switch {
	case f.Bare:
		f.lost(call, "it joined the last line")
	case f.Ended:
		f.put(f.Text + plain(text))
	}
}

// Insert notes that a call put lines after a line.
func (f *File) Insert(call, after int, text string) {
	text = fed(plain(text))
	f.touch(call)
	switch {
	case after < 0 || f.Ended && after >= f.end():
		f.lost(call, "it put lines at a place that the file does not have")
	case after+1 < f.First:
		f.First += lineCount(text)
	case after < f.end():
		at := offset(f.Text, after+1-f.First)
		f.put(f.Text[:at] + text + f.Text[at:])
	}
}

// Patch notes that a call applied the hunks of a patch, the way apply_patch does: each is
// looked for from the end of the last one. In lines that are not the whole file it must fit once.
func (f *File) Patch(call int, hunks []toolcall.Hunk) {
	f.touch(call)
	text, at := "\n"+f.Text, 0
	for _, h := range hunks {
		for _, line := range append(slices.Clone(h.Context), toolcall.JoinLines(h.Old)) {
			line = "\n" + strings.TrimSuffix(line, "\n") + "\n"
			next := strings.Index(text[at:], line)
			if next < 0 || len(h.Old) == 0 || !f.Whole() && strings.Index(text, line) != strings.LastIndex(text, line) {
				f.lost(call, "where its patch fits is not known")
				return
			}
			at += next + len(line) - 1
		}
		before := at - len(toolcall.JoinLines(h.Old))
		text = text[:before+1] + plain(toolcall.JoinLines(h.New)) + text[at+1:]
		at = before + len(plain(toolcall.JoinLines(h.New)))
	}
	f.put(text[1:])
}
