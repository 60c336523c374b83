package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/glob"
	"github.com/pleat-dev/pleat/model"
)

// What glob and grep show at most.
const (
	globFiles   = 500
	grepLines   = 200
	grepColumns = 400
	grepFile    = 16 << 20
)

// skipped folders are not searched.
var skipped = []string{".git", ".hg", ".svn", "node_modules"}

type globArgs struct{ Pattern, Path string }

func (w *Workspace) glob() Tool {
	return NewTool(model.Tool{
		Name: "glob",
		Description: "Lists files by a pattern such as **/*.go or docs/*, sorted by name. " +
			"** stands for any number of folders. Folders of version control and node_modules are left out.",
		Schema: `{"type":"object","properties":{` +
			`"pattern":{"type":"string"},` +
			`"path":{"type":"string","description":"Folder to look in; the workspace if not given."}},` +
			`"required":["pattern"]}`,
	}, EffectNone, func(in globArgs) string { return w.subject(cmp.Or(in.Path, ".")) }, w.runGlob)
}

func (w *Workspace) runGlob(ctx context.Context, c Call, in globArgs) (string, error) {
	pattern, err := glob.Compile(in.Pattern)
	if err != nil || in.Pattern == "" {
		return "", fmt.Errorf("%q is not a pattern", in.Pattern)
	}
	found := listing{most: globFiles}
	err = w.walk(ctx, in.Path, func(name, below string, _ *os.Root, _ string) {
		if pattern.MatchString(below) {
			found.add(name)
		}
	})
	return found.text("no file matches", "narrow the pattern", err)
}

// listing collects lines up to a number and counts the rest.
type listing struct {
	most, count int
	lines       strings.Builder
}

func (l *listing) add(line string) {
	if l.count++; l.count <= l.most {
		l.lines.WriteString(line + "\n")
	}
}

// text is the answer of a tool: the listing, unless there was an error.
func (l *listing) text(none, hint string, err error) (string, error) {
	switch {
	case err != nil:
		return "", err
	case l.count == 0:
		l.lines.WriteString(none + "\n")
	case l.count > l.most:
		fmt.Fprintf(&l.lines, "[%d more: %s]\n", l.count-l.most, hint)
	}
	return l.lines.String(), nil
}

// walk visits the regular files in a folder, sorted by name: with their names as the
// model knows them, below the folder, and in a root that cannot be left.
func (w *Workspace) walk(
	ctx context.Context, dir string, visit func(name, below string, root *os.Root, file string),
) error {
	p, err := w.resolve(cmp.Or(dir, "."))
	if err != nil {
		return err
	}
	start := path.Clean(filepath.ToSlash(p.rel))
	return fs.WalkDir(p.root.FS(), start, func(file string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && file == start:
			return plainError(p.name, err)
		case err != nil: // a folder that cannot be read is not searched
		case d.IsDir() && file != start && slices.Contains(skipped, d.Name()):
			return fs.SkipDir
		case d.Type().IsRegular():
			below := file
			if start != "." {
				below = strings.TrimPrefix(strings.TrimPrefix(file, start), "/")
			}
			// The folder may be a file.
			visit(path.Join(p.name, below), cmp.Or(below, path.Base(file)), p.root.Root, file)
		}
		return nil
	})
}

type grepArgs struct {
	Pattern, Path, Glob string
	IgnoreCase          bool `json:"ignore_case"`
	FilesOnly           bool `json:"files_only"`
}

func (w *Workspace) grep() Tool {
	return NewTool(model.Tool{
		Name: "grep",
		Description: "Finds lines in files by a regular expression (RE2) and shows them as path:line:text. " +
			"At most 200 lines are shown.",
		Schema: `{"type":"object","properties":{` +
			`"pattern":{"type":"string"},` +
			`"path":{"type":"string","description":"File or folder to look in; the workspace if not given."},` +
			`"glob":{"type":"string","description":"Only files that match this pattern, such as **/*.go."},` +
			`"ignore_case":{"type":"boolean"},` +
			`"files_only":{"type":"boolean","description":"Only the names of the files, with counts."}},` +
			`"required":["pattern"]}`,
	}, EffectNone, func(in grepArgs) string { return w.subject(cmp.Or(in.Path, ".")) }, w.runGrep)
}

func (w *Workspace) runGrep(ctx context.Context, c Call, in grepArgs) (string, error) {
	if in.Pattern == "" {
		return "", errors.New("a pattern is needed")
	}
	if in.IgnoreCase {
		in.Pattern = "(?i)" + in.Pattern
	}
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return "", fmt.Errorf("read pattern: %w", err)
	}
	pattern, err := glob.Compile(in.Glob)
	if err != nil {
		return "", fmt.Errorf("read glob: %w", err)
	}
	g := grepper{re: re, filesOnly: in.FilesOnly, found: listing{most: grepLines}}
	err = w.walk(ctx, in.Path, func(name, below string, root *os.Root, file string) {
		if in.Glob == "" || pattern.MatchString(below) || pattern.MatchString(path.Base(below)) {
			g.file(ctx, name, root, file)
		}
	})
	text, err := g.found.text("no line matches", "narrow the pattern or the path", err)
	if err == nil && len(g.unread) > 0 {
		text += fmt.Sprintf("[not searched because they are too large: %s]\n", strings.Join(g.unread, ", "))
	}
	return text, err
}

type grepper struct {
	re        *regexp.Regexp
	filesOnly bool
	found     listing
	unread    []string
}

func (g *grepper) file(ctx context.Context, name string, root *os.Root, file string) {
	f, size, err := openRegular(root, file)
	if err != nil {
		return
	}
	defer f.Close()
	if size > grepFile {
		g.unread = append(g.unread, name)
		return
	}
	r := bufio.NewReaderSize(io.LimitReader(f, grepFile), 64<<10)
	if start, _ := r.Peek(8 << 10); bytes.IndexByte(start, 0) >= 0 {
		return
	}
	matches := 0
	for n := 1; ctx.Err() == nil; n++ {
		line, err := r.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); (line != "" || err == nil) && g.re.MatchString(line) {
			matches++
			if !g.filesOnly {
				g.found.add(fmt.Sprintf("%s:%d:%s", name, n, g.clip(line)))
			}
		}
		if err != nil {
			break
		}
	}
	if g.filesOnly && matches > 0 {
		g.found.add(fmt.Sprintf("%s: %d", name, matches))
	}
}

// clip shows the part of a long line where the match is.
func (g *grepper) clip(line string) string {
	if len(line) <= grepColumns {
		return line
	}
	at := g.re.FindStringIndex(line)[0]
	from := max(at-grepColumns/4, 0)
	part := strings.ToValidUTF8(line[from:min(from+grepColumns, len(line))], "")
	return fmt.Sprintf("[column %d of %d] %s…", from+1, len(line), part)
}
