package pleat

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// changeParts returns what a call takes out of files and puts into them: for each file the
// lines that only the old text has, then those that only the new text has.
func changeParts(e *LedgerEntry, call ToolCall) []blockPart {
	var w changeReader
	w.read(call.Input.String())
	var parts []blockPart
	for _, c := range w.changes {
		if c.path == "" && len(e.Paths) > 0 {
			c.path = e.Paths[0].Path
		}
		if old := linesWithout(c.old, c.new); old != "" {
			parts = append(parts, blockPart{kind: fromRemoval, label: c.path, text: old})
		}
		if added := c.added(); added != "" {
			parts = append(parts, blockPart{kind: fromChange, label: c.path, text: added, whole: c.whole && len(c.old) == 0})
		}
	}
	return parts
}

// isTestFile judges a file by its name.
func isTestFile(path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	return strings.Contains(base, "test") || strings.Contains(base, "spec.") || strings.Contains(path, "testdata/") || strings.Contains(path, "fixtures/")
}

// changeReader collects what a call's input says that files shall hold.
type changeReader struct {
	changes []change
	left    int // bytes still looked at
}

// change is old and new text of one file.
type change struct {
	path     string
	old, new []string
	whole    bool // new is all of the file
}

const (
	maxChange      = 64 << 10 // bytes of an input that are looked at
	maxChangeDepth = 4
)

// read looks at every string in the input. What tools call old and new text is told by
// the names of the arguments; a patch tells itself.
func (w *changeReader) read(input string) {
	w.left = maxChange
	if strings.HasPrefix(strings.TrimSpace(input), "{") {
		w.object([]byte(input), 0)
		return
	}
	w.text("input", input)
}

func (w *changeReader) object(data []byte, depth int) {
	if depth > maxChangeDepth {
		return
	}
	for _, a := range callArgs(data) {
		switch {
		case len(a.raw) == 0:
		case a.raw[0] == '"':
			if depth > 0 && isPathArg(a.name) { // one of several files
				w.changes = append(w.changes, change{path: a.text()})
			}
			w.text(a.name, a.text())
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
	switch plainName(name) {
	case "path", "filepath", "filename", "targetfile":
		return true
	}
	return false
}

func (w *changeReader) text(name, text string) {
	if w.left <= 0 {
		return
	}
	text = cutText(text, w.left)
	w.left -= len(text)
	switch plainName(name) {
	case "oldstring", "oldtext", "oldstr", "search", "old":
		w.here().old = append(w.here().old, text)
	case "content", "contents", "filetext":
		w.here().new, w.here().whole = append(w.here().new, text), true
	case "newstring", "newtext", "newstr", "replace", "replacement", "new", "newsource", "inserttext", "codeedit":
		w.here().new = append(w.here().new, text)
	case "input", "patch", "patchtext", "diff":
		w.patch(text)
	case "command", "cmd":
		if !w.patch(text) {
			w.script(text)
		}
	}
}

// script takes what a shell writes into files from here-documents.
func (w *changeReader) script(text string) {
	if !strings.Contains(text, "<<") {
		return
	}
	sh := parseShell(text, false)
	for i := range sh.cmds {
		if sh.cmds[i].heredoc == "" {
			continue
		}
		for _, p := range redirEffect(&sh.cmds[i]) {
			if p.changes() {
				w.changes = append(w.changes, change{path: p.Path, new: []string{sh.cmds[i].heredoc}, whole: p.Change == CallCreate})
			}
		}
	}
}

func (w *changeReader) here() *change {
	if len(w.changes) == 0 {
		w.changes = append(w.changes, change{})
	}
	return &w.changes[len(w.changes)-1]
}

// patch takes the added and removed lines of a patch apart, file by file. It reports
// whether the text is one.
func (w *changeReader) patch(text string) bool {
	if !strings.Contains(text, "*** ") && !strings.Contains(text, "\n+++ ") && !strings.HasPrefix(text, "+++ ") {
		return false
	}
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "*** "):
			switch verb, path, ok := strings.Cut(strings.TrimSpace(line[4:]), ": "); {
			case ok && strings.HasSuffix(verb, " File"):
				w.changes = append(w.changes, change{path: path, whole: verb == "Add File"})
			case ok && verb == "Move to":
				w.here().path = path
			}
		case strings.HasPrefix(line, "+++ "):
			w.changes = append(w.changes, change{path: diffPath(line[4:])})
		case strings.HasPrefix(line, "--- "):
		case line[0] == '+':
			w.here().new = append(w.here().new, line[1:])
		case line[0] == '-':
			w.here().old = append(w.here().old, line[1:])
		}
	}
	return true
}

// added is the new lines that the old text does not have.
func (c *change) added() string {
	if len(c.old) == 0 && len(c.new) == 1 {
		return c.new[0]
	}
	return linesWithout(c.new, c.old)
}

// linesWithout returns the lines of texts that the others do not have.
func linesWithout(texts, others []string) string {
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
				b.WriteString(strings.TrimRight(line, "\r\n"))
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}
