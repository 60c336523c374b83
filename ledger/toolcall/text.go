package toolcall

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/text"
)

// argRole is what an argument holds, told by its name.
type argRole uint8

const (
	plainText argRole = iota
	oldText
	newText
	wholeText // a file's content
	patchText
	shellText
)

func roleOf(name string) argRole {
	switch text.PlainName(name) {
	case "oldstring", "oldtext", "oldstr", "search", "old":
		return oldText
	case "newstring", "newtext", "newstr", "replace", "replacement", "new", "newsource", "inserttext", "codeedit":
		return newText
	case "content", "contents", "filetext":
		return wholeText
	case "input", "patch", "patchtext", "diff":
		return patchText
	case "command", "cmd":
		return shellText
	}
	return plainText
}

// Text is the input of a call in the form in which people read it: first the file's content,
// the patch or the command, so that its lines have their own numbers; then short arguments by
// their names; then old and new text as a diff, and what else is long. No argument is left
// out. An input that is no JSON object stays as it is.
func Text(input string) string {
	v := jsonspan.Value(strings.TrimSpace(input))
	if v.Kind() == jsonspan.String && v.Valid(jsonspan.String) == nil {
		return v.Text()
	}
	if v.Kind() != jsonspan.Object || v.Valid(jsonspan.Object) != nil {
		return input
	}
	var w callText
	w.object(v, 0)
	if w.Len() == 0 {
		return input
	}
	return w.String()
}

type callText struct{ strings.Builder }

// lines begins a new line and writes a text.
func (w *callText) lines(txt string) {
	if n := w.Len(); n > 0 && w.String()[n-1] != '\n' {
		w.WriteByte('\n')
	}
	w.WriteString(txt)
}

func (w *callText) object(v jsonspan.Value, depth int) {
	if depth > maxTextDepth {
		w.lines(string(v))
		return
	}
	var args []arg
	for name, val := range v.Fields() {
		args = append(args, arg{name, val})
	}
	lead := leadOf(args, depth)
	if lead >= 0 {
		w.lines(args[lead].script())
	}
	from, to := pairOf(args)
	for i, a := range args {
		if line, ok := a.short(); ok && i != lead && i != from && i != to {
			w.lines(line)
		}
	}
	if from >= 0 {
		w.diff(args[from].raw.Text(), args[to].raw.Text())
	}
	for i, a := range args {
		if _, ok := a.short(); !ok && i != lead && i != from && i != to {
			w.lines(a.name + ":")
			w.value(a.raw, depth)
		}
	}
}

// leadOf chooses the argument that a call is about; negative: none.
func leadOf(args []arg, depth int) int {
	lead, best := -1, oldText
	if depth > 0 {
		return lead
	}
	for i, a := range args {
		role := roleOf(a.name)
		if role < wholeText || best >= wholeText && role >= best || a.script() == "" {
			continue
		}
		if role == shellText && argText(args, pathArgs...) != "" {
			continue // what an editor is to do
		}
		lead, best = i, role
	}
	return lead
}

// pairOf finds the old and the new text of an edit; negative: there are not both.
func pairOf(args []arg) (from, to int) {
	from, to = -1, -1
	for i, a := range args {
		switch role := roleOf(a.name); {
		case !a.isString():
		case role == oldText && from < 0:
			from = i
		case role == newText && to < 0:
			to = i
		}
	}
	if from < 0 || to < 0 {
		return -1, -1
	}
	return from, to
}

// script is the text of an argument that is a string or an argument vector.
func (a arg) script() string {
	if a.isString() {
		return a.raw.Text()
	}
	argv := argTexts([]arg{a}, a.name)
	if len(argv) == 0 || roleOf(a.name) != shellText {
		return ""
	}
	script, _ := argvScript(argv)
	return script
}

// short is an argument on one line with its name, if it has room there.
func (a arg) short() (line string, ok bool) {
	switch a.raw.Kind() {
	case jsonspan.Array, jsonspan.Object:
		return "", false
	case jsonspan.String:
		txt := a.raw.Text()
		return a.name + ": " + txt, !strings.Contains(txt, "\n")
	}
	return a.name + ": " + string(a.raw), true
}

func (w *callText) value(v jsonspan.Value, depth int) {
	switch v.Kind() {
	case jsonspan.String:
		w.lines(v.Text())
	case jsonspan.Array:
		for elem := range v.Elements() {
			w.value(elem.Of(v), depth+1)
		}
	case jsonspan.Object:
		if line, ok := oneLine(v); ok {
			w.lines(line)
			return
		}
		w.object(v, depth+1)
	default:
		w.lines(string(v))
	}
}

// oneLine writes an object of short values, such as an item of a task list.
func oneLine(v jsonspan.Value) (string, bool) {
	var parts []string
	for name, val := range v.Fields() {
		part, ok := arg{name, val}.short()
		if !ok || len(parts) == 4 || roleOf(name) == newText {
			return "", false
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; "), len(parts) > 0
}

// maxTextDepth is how deep an object may be in others to be read as text.
const maxTextDepth = 4

// maxDiffSteps is how many lines of old and new text may differ for a line in between that they
// have in common to be found.
const maxDiffSteps = 100

// diff writes old and new text line by line.
func (w *callText) diff(from, to string) {
	a, b := strings.Split(from, "\n"), strings.Split(to, "\n")
	for _, l := range text.DiffLines(a, b, maxDiffSteps) {
		line := a
		at := l.A
		if l.Kind == '+' {
			line, at = b, l.B
		}
		w.lines(string(l.Kind) + line[at])
	}
}
