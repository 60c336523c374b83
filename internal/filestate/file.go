// Package filestate says what a file contains after a call, as far as a conversation shows
// it: a whole read or write of it, and the exact edits after that. Anything else that may have
// changed it ends the certainty.
package filestate

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// File is what is known of a file: all of it, or nothing. The zero value is a file of which nothing is known.
type File struct {
	Text  string // its lines, which end with a line feed, whatever they end with on disk
	Whole bool   // a call showed or wrote all of it
	Bare  bool   // the last line is known to lack its line feed
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

// Lines is a file's content as [File].Text has it.
func Lines(content string) string { return fed(content) }

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

// Certain reports whether the file is known for certain.
func (f *File) Certain() bool { return f.Whole && f.Doubt.Call == 0 }

// Content is what is known, as it is in the file.
func (f *File) Content() string {
	if f.Bare {
		return strings.TrimSuffix(f.Text, "\n")
	}
	return f.Text
}

// Write notes that a call wrote the whole file.
func (f *File) Write(call int, text string) {
	*f = File{Text: fed(text), Whole: true, Bare: text != "" && !strings.HasSuffix(text, "\n"), Seen: call}
}

// Delete notes that a call deleted the file.
func (f *File) Delete(call int) { *f = File{Gone: true, Seen: call} }

// See notes that a call showed lines from number at on. ended says that the last of them is
// the last of the file. A part of it can tell nothing but that it is not as it is taken to be.
func (f *File) See(call, at int, text string, ended bool) {
	text = fed(text)
	if at == 1 && ended {
		*f = File{Text: text, Whole: true, Seen: call}
		return
	}
	rest := f.Text[offset(f.Text, at-1):]
	if f.touch(call) && (at < 1 || ended && rest != text || !strings.HasPrefix(rest, text)) {
		f.lost(call, "it showed other lines")
	}
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

// touch notes that a call showed or changed the file, and reports whether it is known.
func (f *File) touch(call int) bool {
	f.Seen = call
	f.Doubt.hard = f.Doubt.Call > 0
	return f.Whole
}

// Replace notes that a call replaced a text that the file has once or, with all, every
// occurrence of it.
func (f *File) Replace(call int, before, after string, all bool) {
	before, after = plain(before), plain(after)
	switch n := strings.Count(f.Text, before); {
	case !f.touch(call), before == after:
	case before == "" && f.Text == "":
		f.Write(call, after)
	case before == "" || n == 0:
		f.lost(call, "it changed text that the file is not known to have")
	case n > 1 && !all:
		f.lost(call, "its edit fits several places")
	default:
		f.put(strings.ReplaceAll(f.Text, before, after))
	}
}

// put gives the file a new text.
func (f *File) put(text string) {
	f.Bare = f.Bare || text != "" && !strings.HasSuffix(text, "\n")
	f.Text = fed(text)
}

// Append notes that a call put text at the end of the file.
func (f *File) Append(call int, text string) {
	switch {
	case !f.touch(call):
	case f.Bare:
		f.lost(call, "it joined the last line")
	default:
		f.put(f.Text + text)
	}
}

// Insert notes that a call put lines after a line.
func (f *File) Insert(call, after int, text string) {
	switch {
	case !f.touch(call):
	case after < 0 || after > lineCount(f.Text):
		f.lost(call, "it put lines at a place that the file does not have")
	default:
		at := offset(f.Text, after)
		f.put(f.Text[:at] + fed(text) + f.Text[at:])
	}
}

// Patch notes that a call applied the hunks of a patch, the way apply_patch does: each is
// looked for from the end of the last one.
func (f *File) Patch(call int, hunks []toolcall.Hunk) {
	if !f.touch(call) {
		return
	}
	text, at := "\n"+f.Text, 0
	for _, h := range hunks {
		for _, line := range append(slices.Clone(h.Context), toolcall.JoinLines(h.Old)) {
			line = "\n" + strings.TrimSuffix(line, "\n") + "\n"
			next := strings.Index(text[at:], line)
			if next < 0 || len(h.Old) == 0 {
				f.lost(call, "where its patch fits is not known")
				return
			}
			at += next + len(line) - 1
		}
		before, now := at-len(toolcall.JoinLines(h.Old)), plain(toolcall.JoinLines(h.New))
		text = text[:before+1] + now + text[at+1:]
		at = before + len(now)
	}
	f.put(text[1:])
}
