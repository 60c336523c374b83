package toolcall

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/shell"
	"github.com/pleat-dev/pleat/internal/text"
)

// ChangeReader collects what the input of a call writes into files.
type ChangeReader struct {
	Changes []FileChange
	left    int // bytes that may still be read
}

// FileChange is the old and the new text of one file.
type FileChange struct {
	Path     string
	Old, New []string
	Whole    bool // new is all of the file
}

const (
	maxChange      = 64 << 10 // bytes of an input that are read
	maxChangeDepth = 4
)

// Read goes through every string in the input. The names of the arguments tell old text
// from new; a patch is known by its form.
func (w *ChangeReader) Read(input string) {
	w.left = maxChange
	if strings.HasPrefix(strings.TrimSpace(input), "{") {
		w.object([]byte(input), 0)
		return
	}
	w.text("input", input)
}

func (w *ChangeReader) object(data []byte, depth int) {
	if depth > maxChangeDepth {
		return
	}
	for _, a := range CallArgs(data) {
		switch {
		case len(a.raw) == 0:
		case a.raw[0] == '"':
			if depth > 0 && isPathArg(a.name) { // one of several files
				w.Changes = append(w.Changes, FileChange{Path: a.raw.Text()})
			}
			w.text(a.name, a.raw.Text())
		case a.raw[0] == '[':
			for _, el := range a.elements() {
				if el[0] == '{' {
					w.object(el, depth+1)
				} else if s, ok := jsonspan.Unquote(el); ok {
					w.text(a.name, s)
				}
			}
		case a.raw[0] == '{':
			w.object(a.raw, depth+1)
		}
	}
}

func isPathArg(name string) bool {
	switch text.PlainName(name) {
	case "path", "filepath", "filename", "targetfile":
		return true
	}
	return false
}

func (w *ChangeReader) text(name, txt string) {
	if w.left <= 0 {
		return
	}
	txt = text.CutText(txt, w.left)
	w.left -= len(txt)
	switch roleOf(name) {
	case oldText:
		w.here().Old = append(w.here().Old, txt)
	case wholeText:
		w.here().New, w.here().Whole = append(w.here().New, txt), true
	case newText:
		w.here().New = append(w.here().New, txt)
	case patchText:
		w.patch(txt)
	case shellText:
		if !w.patch(txt) {
			w.script(txt)
		}
	case plainText:
	}
}

// script takes what a shell writes into files from here-documents.
func (w *ChangeReader) script(text string) {
	if !strings.Contains(text, "<<") {
		return
	}
	sh := shell.Parse(text, false)
	for i := range sh.Commands {
		if sh.Commands[i].Heredoc == "" {
			continue
		}
		for _, p := range redirEffect(&sh.Commands[i]) {
			if p.Changes() {
				w.Changes = append(w.Changes, FileChange{Path: p.Path, New: []string{sh.Commands[i].Heredoc}, Whole: p.Change == CallCreate})
			}
		}
	}
}

func (w *ChangeReader) here() *FileChange {
	if len(w.Changes) == 0 {
		w.Changes = append(w.Changes, FileChange{})
	}
	return &w.Changes[len(w.Changes)-1]
}

// patch takes the added and removed lines of a patch apart, file by file. It reports
// whether the text is one.
func (w *ChangeReader) patch(text string) bool {
	if !strings.Contains(text, "*** ") && !strings.Contains(text, "\n+++ ") && !strings.HasPrefix(text, "+++ ") {
		return false
	}
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "*** "):
			switch verb, path, ok := strings.Cut(strings.TrimSpace(line[4:]), ": "); {
			case ok && strings.HasSuffix(verb, " File"):
				w.Changes = append(w.Changes, FileChange{Path: path, Whole: verb == "Add File"})
			case ok && verb == "Move to":
				w.here().Path = path
			}
		case strings.HasPrefix(line, "+++ "):
			w.Changes = append(w.Changes, FileChange{Path: diffPath(line[4:])})
		case strings.HasPrefix(line, "--- "):
		case line[0] == '+':
			w.here().New = append(w.here().New, line[1:])
		case line[0] == '-':
			w.here().Old = append(w.here().Old, line[1:])
		}
	}
	return true
}

// Added is the new lines that the old text does not have.
func (c *FileChange) Added() string {
	if len(c.Old) == 0 && len(c.New) == 1 {
		return c.New[0]
	}
	return LinesWithout(c.New, c.Old)
}

// LinesWithout returns the lines of texts that the others do not have.
func LinesWithout(texts, others []string) string {
	had := make(map[string]bool)
	for _, text := range others {
		for line := range strings.Lines(text) {
			had[strings.TrimSpace(line)] = true
		}
	}
	var b strings.Builder
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if !had[strings.TrimSpace(line)] {
				b.WriteString(strings.TrimRight(line, "\r\n") + "\n")
			}
		}
	}
	return b.String()
}
