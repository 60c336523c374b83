package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

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
		return "", fmt.Errorf("old is not in %s: it must match exactly, with spaces and line ends; read the place again",
			f.name)
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
