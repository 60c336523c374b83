package agent

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
)

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
	return NewTool(model.Tool{
		Name: toolReadFile,
		Description: "Reads a text file. The first line of the answer says which lines these are and has the file's hash; " +
			"the rest is the file, exactly. " +
			"At most 2,000 lines or 256 KB come at once: ask for more with offset. " +
			"A file that you have read already and that has not changed is answered by a note.",
		Schema: `{"type":"object","properties":{` +
			`"path":{"type":"string","description":"Relative to the workspace."},` +
			`"offset":{"type":"integer","description":"First line, counted from 1."},` +
			`"limit":{"type":"integer","description":"Most lines."}},` +
			`"required":["path"]}`,
	}, EffectNone, func(in readArgs) string { return w.subject(in.Path) }, w.runRead)
}

func (w *Workspace) runRead(_ context.Context, c Call, in readArgs) (string, error) {
	f, err := w.resolve(in.Path)
	if err != nil {
		return "", err
	}
	data, err := f.read()
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0 {
		return "", fmt.Errorf("%s is not a text file (%d bytes): look at it with a command", f.name, len(data))
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
		next = cmp.Or(next, len(rest)-end)
		if n > 0 && end+next > readBytes {
			break
		}
		end += next
		n++
	}
	return rest[:end], from, from + n - 1, all
}

// unchanged is the answer to reading again what the view still shows. What the view no
// longer shows is read again: sending the model after its handle would cost it a request
// for the same text.
func (c Call) unchanged(name, sum string, from, to int) string {
	g, ok := c.lastSeen(name)
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
