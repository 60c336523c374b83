package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
)

const (
	toolWriteFile = "write_file"
	toolEditFile  = "edit_file"
)

type writeArgs struct {
	Path    string
	Content *string
}

func (w *Workspace) writeFile() Tool {
	return NewTool(model.Tool{
		Name: toolWriteFile,
		Description: "Writes a whole file, with its folders. A file that exists must have been read first, " +
			"so that nothing is overwritten that you have not seen. " +
			"To change a part of a file use edit_file.",
		Schema: `{"type":"object","properties":{` +
			`"path":{"type":"string","description":"Relative to the workspace."},` +
			`"content":{"type":"string"}},` +
			`"required":["path","content"]}`,
	}, EffectWrite, func(in writeArgs) string { return w.subject(in.Path) }, w.runWrite)
}

func (w *Workspace) runWrite(_ context.Context, c Call, in writeArgs) (string, error) {
	if in.Content == nil {
		return "", errors.New("content is needed; for an empty file give an empty text")
	}
	f, err := w.resolve(in.Path)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, err := f.read(); err == nil {
		if err := c.mayChange(f.name, sumOf(old)); err != nil {
			return "", err
		}
	} else if _, lerr := f.root.Lstat(f.rel); !errors.Is(lerr, fs.ErrNotExist) {
		return "", err
	}
	return c.change("wrote", f, []byte(*in.Content), "")
}

type editArgs struct {
	Path, Old string
	New       *string
	All       bool
}

func (w *Workspace) editFile() Tool {
	return NewTool(model.Tool{
		Name: toolEditFile,
		Description: "Replaces text in a file that you have read. old must be in the file exactly, with its spaces, " +
			"and only once, unless all is true. " +
			"If the file has changed since you read it, read it again first.",
		Schema: `{"type":"object","properties":{` +
			`"path":{"type":"string","description":"Relative to the workspace."},` +
			`"old":{"type":"string","description":"The text to replace."},` +
			`"new":{"type":"string","description":"What to put in its place."},` +
			`"all":{"type":"boolean","description":"Replace every occurrence."}},` +
			`"required":["path","old","new"]}`,
	}, EffectWrite, func(in editArgs) string { return w.subject(in.Path) }, w.runEdit)
}

func (w *Workspace) runEdit(_ context.Context, c Call, in editArgs) (string, error) {
	switch {
	case in.Old == "":
		return "", errors.New("old is needed: the text to replace (to make a new file use write_file)")
	case in.New == nil:
		return "", errors.New("new is needed; to remove the text give an empty one")
	case in.Old == *in.New:
		return "", errors.New("old and new are the same: nothing would change")
	}
	f, err := w.resolve(in.Path)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	data, err := f.read()
	if err != nil {
		return "", err
	}
	if err := c.mayChange(f.name, sumOf(data)); err != nil {
		return "", err
	}
	before, _, _ := strings.Cut(string(data), in.Old)
	what := fmt.Sprintf("line %d", 1+strings.Count(before, "\n"))
	switch n := strings.Count(string(data), in.Old); {
	case n == 0:
		return "", fmt.Errorf(
			"old is not in %s: it must match exactly, with spaces and line ends; read the place again", f.name)
	case n > 1 && !in.All:
		return "", fmt.Errorf("old is in %s %d times: give more of the text around the place, or set all", f.name, n)
	case n > 1:
		what = fmt.Sprintf("%d places, the first at %s", n, what)
	}
	return c.change("edited", f, []byte(strings.ReplaceAll(string(data), in.Old, *in.New)), what+"; ")
}

// Change is what a call would do to a file.
type Change struct {
	Before, After string
	All           bool // every occurrence of Before is replaced
}

// Change returns what a call of write_file or edit_file would change, before it runs. Before
// is empty if there is no such file, or if it is one that the tool refuses to read.
func (w *Workspace) Change(c Call) (Change, bool) {
	switch c.Name {
	case toolWriteFile:
		var in writeArgs
		if c.Decode(&in) != nil || in.Content == nil {
			return Change{}, false
		}
		out := Change{After: *in.Content}
		if f, err := w.resolve(in.Path); err == nil {
			data, _ := f.read() // there may be none yet
			out.Before = string(data)
		}
		return out, true
	case toolEditFile:
		var in editArgs
		if c.Decode(&in) != nil || in.New == nil {
			return Change{}, false
		}
		return Change{in.Old, *in.New, in.All}, true
	}
	return Change{}, false
}

// mayChange refuses to change a file that the model has not seen as it is now.
func (c Call) mayChange(name, sum string) error {
	g, ok := c.lastSeen(name)
	switch {
	case c.agent == nil:
	case !ok:
		return fmt.Errorf("%s was not read yet: read it first, then change it", name)
	case g.sum != sum:
		return fmt.Errorf("%s has changed since you last saw it: read it again, then change it", name)
	}
	return nil
}

// change writes a file, remembers its new content and describes it.
func (c Call) change(verb string, f file, data []byte, what string) (string, error) {
	if err := f.write(data); err != nil {
		return "", err
	}
	sum := sumOf(data)
	c.saw(f.name, sum)
	_, _, _, all := lines(string(data), 1, 1)
	return header(verb, f.name, fmt.Sprintf("%s%d lines, %d bytes", what, all, len(data)), sum) + "\n", nil
}

const toolReadFile = "read_file"

// What read_file shows at most without being asked for a part.
const (
	readLines = 2_000
	readBytes = 256 << 10
)

type readArgs struct {
	Path          string
	Offset, Limit int
}

func (w *Workspace) readFile() Tool {
	t := NewTool(model.Tool{
		Name: toolReadFile,
		Description: "Reads a text file. The first line of the answer says which lines these are and has the file's " +
			"hash; the rest is the file, exactly. " +
			"At most 2,000 lines or 256 KB come at once: ask for more with offset. " +
			"A file that you have read already and that has not changed is answered by a note.",
		Schema: `{"type":"object","properties":{` +
			`"path":{"type":"string","description":"Relative to the workspace."},` +
			`"offset":{"type":"integer","description":"First line, counted from 1."},` +
			`"limit":{"type":"integer","description":"Most lines."}},` +
			`"required":["path"]}`,
	}, EffectNone, func(in readArgs) string { return w.subject(in.Path) }, w.runRead)
	t.current = w.current
	return t
}

func (w *Workspace) runRead(_ context.Context, c Call, in readArgs) (string, error) {
	f, err := w.resolve(in.Path)
	if err != nil {
		return "", err
	}
	data, err := f.readText()
	if err != nil {
		return "", err
	}
	part, from, to, all := lines(string(data), in.Offset, in.Limit)
	if from > max(all, 1) {
		return "", fmt.Errorf("%s has %d lines: there is no line %d", f.name, all, from)
	}
	sum := sumOf(data)
	if note := c.unchanged(f.name, sum, from, to); note != "" {
		return note, nil
	}
	c.saw(f.name, sum)
	text := header("read", f.name, fmt.Sprintf("lines %d-%d of %d", from, to, all), sum) + "\n" + part
	if to < all {
		text = strings.TrimSuffix(text, "\n") + fmt.Sprintf("\n[more: offset %d]\n", to+1)
	}
	return text, nil
}

// lines cuts lines out of a text: limit lines from offset on (counted from 1), and no more
// than may be shown at once. It returns which these are and how many there are in all.
func lines(text string, offset, limit int) (part string, from, to, all int) {
	list := strings.SplitAfter(text, "\n")
	if list[len(list)-1] == "" { // behind the last line
		list = list[:len(list)-1]
	}
	from, all = max(offset, 1), len(list)
	if from > all {
		return "", from, from - 1, all
	}
	if limit <= 0 {
		limit = readLines
	}
	size := 0
	for to = from - 1; to < all && to-from+1 < limit; to++ {
		if size += len(list[to]); size > readBytes && to >= from {
			break
		}
	}
	return strings.Join(list[from-1:to], ""), from, to, all
}

// unchanged is the answer to reading again what the view still shows. What the view no
// longer shows is read again: sending the model after its handle would cost it a request
// for the same text.
func (c Call) unchanged(name, sum string, from, to int) string {
	g, ok := c.lastSeen(name)
	if !ok || g.result.Message == 0 || g.sum != sum || from < g.from || to > g.to {
		return ""
	}
	handle, ok := shown(c.agent.session, g.result)
	if !ok {
		return ""
	}
	return fmt.Sprintf("[unchanged %s: it is as you read it, lines %d-%d stand above; %s shows them again; sha256 %s]",
		quoteName(name), g.from, g.to, pleat.UnfoldCall(handle), sum)
}
