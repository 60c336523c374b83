package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

func (w *Workspace) writeFile() Tool {
	return Tool{
		Definition: model.Tool{
			Name: toolWriteFile,
			Description: "Writes a whole file, with its folders. A file that exists must have been read first, so that nothing is overwritten that you have not seen. " +
				"To change a part of a file use edit_file.",
			Schema: `{"type":"object","properties":{` +
				`"path":{"type":"string","description":"Relative to the workspace."},` +
				`"content":{"type":"string"}},` +
				`"required":["path","content"]}`,
		},
		Effect:  EffectWrite,
		Subject: w.pathSubject,
		Run:     w.runWrite,
	}
}

func (w *Workspace) runWrite(_ context.Context, c Call) (string, error) {
	var in struct {
		Path    string
		Content *string
	}
	if err := c.Decode(&in); err != nil {
		return "", err
	}
	if in.Content == nil {
		return "", errors.New("content is needed; for an empty file give an empty text")
	}
	p, err := w.resolve(in.Path)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	old, err := read(p)
	switch {
	case err == nil:
		if err := c.mayChange(p.name, sumOf(old)); err != nil {
			return "", err
		}
	case !missing(p):
		return "", err
	}
	data := []byte(*in.Content)
	if err := w.write(p, data); err != nil {
		return "", plainError(p.name, err)
	}
	return c.changed("wrote", p.name, data, ""), nil
}

// missing reports whether there is nothing at a place.
func missing(p place) bool {
	_, err := p.root.Lstat(p.rel)
	return errors.Is(err, fs.ErrNotExist)
}

func (w *Workspace) editFile() Tool {
	return Tool{
		Definition: model.Tool{
			Name: toolEditFile,
			Description: "Replaces text in a file that you have read. old must be in the file exactly, with its spaces, and only once, unless all is true. " +
				"If the file has changed since you read it, read it again first.",
			Schema: `{"type":"object","properties":{` +
				`"path":{"type":"string","description":"Relative to the workspace."},` +
				`"old":{"type":"string","description":"The text to replace."},` +
				`"new":{"type":"string","description":"What to put in its place."},` +
				`"all":{"type":"boolean","description":"Replace every occurrence."}},` +
				`"required":["path","old","new"]}`,
		},
		Effect:  EffectWrite,
		Subject: w.pathSubject,
		Run:     w.runEdit,
	}
}

func (w *Workspace) runEdit(_ context.Context, c Call) (string, error) {
	var in struct {
		Path, Old string
		New       *string
		All       bool
	}
	if err := c.Decode(&in); err != nil {
		return "", err
	}
	switch {
	case in.Old == "":
		return "", errors.New("old is needed: the text to replace (to make a new file use write_file)")
	case in.New == nil:
		return "", errors.New("new is needed; to remove the text give an empty one")
	case in.Old == *in.New:
		return "", errors.New("old and new are the same: nothing would change")
	}
	p, err := w.resolve(in.Path)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	data, err := read(p)
	if err != nil {
		return "", err
	}
	if err := c.mayChange(p.name, sumOf(data)); err != nil {
		return "", err
	}
	text := string(data)
	n := strings.Count(text, in.Old)
	switch {
	case n == 0:
		return "", fmt.Errorf("old is not in %s: it must match exactly, with spaces and line ends; read the place again", p.name)
	case n > 1 && !in.All:
		return "", fmt.Errorf("old is in %s %d times: give more of the text around the place, or set all", p.name, n)
	}
	line := 1 + strings.Count(text[:strings.Index(text, in.Old)], "\n")
	data = []byte(strings.ReplaceAll(text, in.Old, *in.New))
	if err := w.write(p, data); err != nil {
		return "", plainError(p.name, err)
	}
	what := fmt.Sprintf("line %d", line)
	if n > 1 {
		what = fmt.Sprintf("%d places, the first at line %d", n, line)
	}
	return c.changed("edited", p.name, data, what), nil
}

// mayChange refuses to change a file that the model has not seen as it is now.
func (c Call) mayChange(name, sum string) error {
	if c.agent == nil {
		return nil
	}
	g, ok := c.agent.files.look(c.agent.session, name)
	switch {
	case !ok:
		return fmt.Errorf("%s was not read yet: read it first, then change it", name)
	case g.sum != sum:
		return fmt.Errorf("%s has changed since you last saw it: read it again, then change it", name)
	}
	return nil
}

// changed remembers the new state of a file and tells it.
func (c Call) changed(verb, name string, data []byte, what string) string {
	sum := sumOf(data)
	c.saw(name, sum)
	_, _, _, all := lines(string(data), 1, 1)
	if what != "" {
		what += "; "
	}
	return header(verb, name, fmt.Sprintf("%s%d lines, %d bytes", what, all, len(data)), sum) + "\n"
}
