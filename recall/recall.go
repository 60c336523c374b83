// Package recall has what gives back folded content: what to ask of a session and what it returns, the
// [Tools] by which a model asks, and [Answer], which answers their calls for a session.
package recall

import (
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// UnfoldRequest says what to show of something folded: with the handle alone, all of it.
// Lines choose a part, and so does a pattern.
type UnfoldRequest struct {
	// Handle is as a stub, the ledger or a search names it; or "#12" for what tells most about
	// call 12, its change of a file or else its result; or [PathPrefix] and a file.
	Handle string `json:"handle"`

	From int `json:"from,omitempty"` // first line, counted from 1; 0: the beginning
	To   int `json:"to,omitempty"`   // last line; 0: the end
	// Column is the byte of the first line to begin with, counted from 1, for lines that
	// are too long to be shown at once.
	Column int `json:"column,omitempty"`

	// Pattern shows the lines, of those chosen, that match this regular expression
	// (RE2), with Around lines before and after each (0: two; negative: none).
	Pattern string `json:"pattern,omitempty"`
	Around  int    `json:"around,omitempty"`

	// Raw shows the JSON on the wire it came from instead of the text, or pleat's neutral
	// form if it never was on a wire. It has what text leaves out, such as pictures.
	Raw bool `json:"raw,omitempty"`

	// Exact shows the bytes that a fold's hash is of. Otherwise the input of calls is shown as
	// the command, the diff or the file that it is.
	Exact bool `json:"exact,omitempty"`

	// Diff shows what the session changed in a file, for a handle that begins with
	// [PathPrefix].
	Diff bool `json:"diff,omitempty"`

	// Budget is the most tokens that [Unfolded.Text] may take; 0: no bound. More names what
	// does not fit.
	Budget int `json:"budget,omitempty"`
}

// Source says what a handle stands for: who said it, where it is in the conversation, and
// what made it stale.
type Source struct {
	Handle  string `json:"handle"`
	What    string `json:"what"`             // "result of read_file src/a.go", "user", "messages 3 to 40"
	Message int    `json:"message"`          // number of the message, counted from 1
	Turn    int    `json:"turn"`             // number of the model's answer it belongs to or follows
	Call    int    `json:"call,omitempty"`   // calls and results: number in the ledger
	Result  string `json:"result,omitempty"` // a command that changed files: the handle of its result
	Lines   int    `json:"lines"`            // of all of it
	Bytes   int    `json:"bytes"`
	// Stale says what made it stale: "superseded by k3v9x0ab (edit src/a.go)". Empty: no
	// call did.
	Stale   string `json:"stale,omitempty"`
	Visible bool   `json:"visible,omitempty"` // the view shows it as it is
}

// Line is a line of something folded, or a part of a long one.
type Line struct {
	Number int    `json:"line"`            // counted from 1
	Column int    `json:"column"`          // of the first byte shown, counted from 1
	Text   string `json:"text"`            // exact, without the line feed
	Size   int    `json:"size"`            // bytes of the whole line
	Match  bool   `json:"match,omitempty"` // it matches, and is not only near a match
	Ended  bool   `json:"-"`               // the line feed after it belongs to what was asked for
}

// Unfolded is the answer to an [UnfoldRequest].
type Unfolded struct {
	Source
	Hash    transcript.Hash `json:"sha256"` // of all of it
	Shown   []Line          `json:"shown"`
	Matches int             `json:"matches,omitempty"` // lines that match the pattern, shown or not
	// More is the call that shows what comes next; empty if all that was asked for is
	// shown.
	More string `json:"more,omitempty"`
	// File says how much of a file is known, if one was asked for.
	File *FileState `json:"file,omitempty"`

	// Whole is the complete original text, whatever part was asked for, byte for byte; of a call
	// the JSON of its input.
	Whole string `json:"-"`
}

// Content is what was asked for and shown, byte for byte; of a call, whose input is read as
// [toolcall.Text], that text.
func (u Unfolded) Content() string {
	var b strings.Builder
	for _, l := range u.Shown {
		b.WriteString(l.Text)
		if l.Ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
