package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
)

// The names of the tools that come with the package.
const (
	toolBash      = "bash"
	toolReadFile  = "read_file"
	toolWriteFile = "write_file"
	toolEditFile  = "edit_file"
	toolGlob      = "glob"
	toolGrep      = "grep"
	toolTodoWrite = "todo_write"
	toolTask      = "task"
	toolLoadSkill = "load_skill"
	toolCalc      = "calc"
)

// What read_file shows at most without being asked for a part.
const (
	readLines = 2_000
	readBytes = 256 << 10
	maxFile   = 64 << 20 // larger files are read by other means
)

// pathSubject gives rules the real path of a call: a link must not make one path pass for
// another.
func (w *Workspace) pathSubject(c Call) string {
	var in struct{ Path string }
	if c.Decode(&in) != nil {
		return ""
	}
	p, err := w.resolve(in.Path)
	if err != nil {
		return in.Path
	}
	return p.name
}

func (w *Workspace) readFile() Tool {
	return Tool{
		Definition: model.Tool{
			Name: toolReadFile,
			Description: "Reads a text file. The first line of the answer says which lines these are and has the file's hash; the rest is the file, exactly. " +
				"At most 2,000 lines or 256 KB come at once: ask for more with offset. A file that you have read already and that has not changed is answered by a note.",
			Schema: `{"type":"object","properties":{` +
				`"path":{"type":"string","description":"Relative to the workspace."},` +
				`"offset":{"type":"integer","description":"First line, counted from 1."},` +
				`"limit":{"type":"integer","description":"Most lines."}},` +
				`"required":["path"]}`,
		},
		Subject: w.pathSubject,
		Run:     w.runRead,
	}
}

func (w *Workspace) runRead(_ context.Context, c Call) (string, error) {
	var in struct {
		Path          string
		Offset, Limit int
	}
	if err := c.Decode(&in); err != nil {
		return "", err
	}
	p, err := w.resolve(in.Path)
	if err != nil {
		return "", err
	}
	data, err := read(p)
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0 {
		return "", fmt.Errorf("%s is not a text file (%d bytes): look at it with a command", p.name, len(data))
	}
	part, from, to, all := lines(string(data), in.Offset, in.Limit)
	if from > max(all, 1) {
		return "", fmt.Errorf("%s has %d lines: there is no line %d", p.name, all, from)
	}
	sum := sumOf(data)
	if note := c.unchanged(p.name, sum, from, to); note != "" {
		return note, nil
	}
	c.saw(p.name, sum)
	text := header("read", p.name, fmt.Sprintf("lines %d-%d of %d", from, to, all), sum) + "\n" + part
	if to < all {
		text = strings.TrimSuffix(text, "\n") + fmt.Sprintf("\n[more: offset %d]\n", to+1)
	}
	return text, nil
}

// read reads a file that is not too large.
func read(p place) ([]byte, error) {
	f, err := p.root.Open(p.rel)
	if err != nil {
		return nil, plainError(p.name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, plainError(p.name, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: list it with glob", p.name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", p.name)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes, too many to read at once: use grep, or a command that shows a part", p.name, info.Size())
	}
	return io.ReadAll(f)
}

// plainError says what went wrong without the names of calls and folders.
func plainError(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied by the system", name)
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", name, pe.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// lines cuts lines out of a text: limit lines from offset on (counted from 1), and no more
// than may be shown at once. It says which these are and how many there are.
func lines(text string, offset, limit int) (part string, from, to, all int) {
	all = strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		all++
	}
	from = max(offset, 1)
	if limit <= 0 {
		limit = readLines
	}
	rest := text
	for range from - 1 {
		_, after, ok := strings.Cut(rest, "\n")
		if !ok {
			return "", from, from - 1, all
		}
		rest = after
	}
	end, n := 0, 0
	for n < limit && end < len(rest) {
		next := strings.IndexByte(rest[end:], '\n') + 1
		if next == 0 {
			next = len(rest) - end
		}
		if n > 0 && end+next > readBytes {
			break
		}
		end += next
		n++
	}
	return rest[:end], from, from + n - 1, all
}

// saw remembers that the model has been shown a file, or wrote it.
func (c Call) saw(name, sum string) {
	if c.agent != nil {
		c.agent.files.note(c.agent.session, name, sum)
	}
}

// unchanged is the answer to reading again what the view still shows. What the view does
// not show any longer is read again: sending the model after its handle would cost it a
// request for the same text.
func (c Call) unchanged(name, sum string, from, to int) string {
	if c.agent == nil {
		return ""
	}
	g, ok := c.agent.files.look(c.agent.session, name)
	if !ok || !g.told || g.sum != sum || from < g.from || to > g.to {
		return ""
	}
	handle, ok := shown(c.agent.session, g.result)
	if !ok {
		return ""
	}
	return fmt.Sprintf("[unchanged %s: it is as you read it, lines %d-%d stand above; %s shows them again; sha256 %s]",
		quoteName(name), g.from, g.to, pleat.UnfoldCall(handle), sum)
}
