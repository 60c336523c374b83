package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
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

// skipped folders are not searched: nobody means them.
var skipped = []string{".git", ".hg", ".svn", "node_modules"}

func (w *Workspace) glob() Tool {
	return Tool{
		Definition: model.Tool{
			Name:        toolGlob,
			Description: "Lists files by a pattern such as **/*.go or docs/*, sorted by name. ** stands for any number of folders. Folders of version control and node_modules are left out.",
			Schema: `{"type":"object","properties":{` +
				`"pattern":{"type":"string"},` +
				`"path":{"type":"string","description":"Folder to look in; the workspace if not given."}},` +
				`"required":["pattern"]}`,
		},
		Subject: w.folderSubject,
		Run:     w.runGlob,
	}
}

func (w *Workspace) folderSubject(c Call) string {
	var in struct{ Path string }
	if c.Decode(&in) != nil || in.Path == "" {
		return "."
	}
	return w.pathSubject(c)
}

func (w *Workspace) runGlob(ctx context.Context, c Call) (string, error) {
	var in struct{ Pattern, Path string }
	if err := c.Decode(&in); err != nil {
		return "", err
	}
	pattern, err := glob.Compile(in.Pattern)
	if err != nil || in.Pattern == "" {
		return "", fmt.Errorf("%q is not a pattern", in.Pattern)
	}
	var found []string
	more := 0
	err = w.walk(ctx, in.Path, func(name, below string, _ fs.FS, _ string) error {
		if !pattern.MatchString(below) {
			return nil
		}
		if len(found) == globFiles {
			more++
			return nil
		}
		found = append(found, name)
		return nil
	})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "no file matches\n", nil
	}
	text := strings.Join(found, "\n") + "\n"
	if more > 0 {
		text += fmt.Sprintf("[%d more: narrow the pattern]\n", more)
	}
	return text, nil
}

// walk visits the regular files in a folder, sorted by name: with their names as the
// model knows them, below the folder, and in a file system that cannot be left.
func (w *Workspace) walk(ctx context.Context, dir string, visit func(name, below string, fsys fs.FS, file string) error) error {
	if dir == "" {
		dir = "."
	}
	p, err := w.resolve(dir)
	if err != nil {
		return err
	}
	fsys := p.root.FS()
	start := path.Clean(strings.ReplaceAll(p.rel, `\`, "/"))
	return fs.WalkDir(fsys, start, func(file string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && file == start:
			return plainError(p.name, err)
		case err != nil:
			return nil // a folder that cannot be read is not searched
		case d.IsDir() && file != start && slices.Contains(skipped, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		below := strings.TrimPrefix(strings.TrimPrefix(file, start), "/")
		switch {
		case start == ".":
			below = file
		case below == "": // the folder is a file
			below = path.Base(file)
		}
		name := path.Join(p.name, strings.TrimPrefix(strings.TrimPrefix(file, start), "/"))
		if start == "." {
			name = path.Join(p.name, file)
		}
		return visit(name, below, fsys, file)
	})
}

func (w *Workspace) grep() Tool {
	return Tool{
		Definition: model.Tool{
			Name:        toolGrep,
			Description: "Finds lines in files by a regular expression (RE2) and shows them as path:line:text. At most 200 lines are shown.",
			Schema: `{"type":"object","properties":{` +
				`"pattern":{"type":"string"},` +
				`"path":{"type":"string","description":"File or folder to look in; the workspace if not given."},` +
				`"glob":{"type":"string","description":"Only files that match this pattern, such as **/*.go."},` +
				`"ignore_case":{"type":"boolean"},` +
				`"files_only":{"type":"boolean","description":"Only the names of the files, with counts."}},` +
				`"required":["pattern"]}`,
		},
		Subject: w.folderSubject,
		Run:     w.runGrep,
	}
}

func (w *Workspace) runGrep(ctx context.Context, c Call) (string, error) {
	var in struct {
		Pattern, Path, Glob string
		IgnoreCase          bool `json:"ignore_case"`
		FilesOnly           bool `json:"files_only"`
	}
	if err := c.Decode(&in); err != nil {
		return "", err
	}
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
	g := grepper{re: re, filesOnly: in.FilesOnly}
	err = w.walk(ctx, in.Path, func(name, below string, fsys fs.FS, file string) error {
		if in.Glob != "" && !pattern.MatchString(below) && !pattern.MatchString(path.Base(below)) {
			return nil
		}
		g.file(name, fsys, file)
		return nil
	})
	if err != nil {
		return "", err
	}
	return g.text(), nil
}

// grepper collects the lines that match.
type grepper struct {
	re        *regexp.Regexp
	filesOnly bool
	out       strings.Builder
	shown     int
	more      int
	unread    []string
}

func (g *grepper) file(name string, fsys fs.FS, file string) {
	f, err := fsys.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > grepFile {
		g.unread = append(g.unread, name)
		return
	}
	r := bufio.NewReaderSize(f, 64<<10)
	if start, _ := r.Peek(8 << 10); bytes.IndexByte(start, 0) >= 0 {
		return
	}
	matches := 0
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); (line != "" || err == nil) && g.re.MatchString(line) {
			matches++
			if !g.filesOnly {
				g.add(fmt.Sprintf("%s:%d:%s", name, n, g.clip(line)))
			}
		}
		if err != nil {
			break
		}
	}
	if g.filesOnly && matches > 0 {
		g.add(fmt.Sprintf("%s: %d", name, matches))
	}
}

// clip shows the part of a long line where the match is.
func (g *grepper) clip(line string) string {
	if len(line) <= grepColumns {
		return line
	}
	at := g.re.FindStringIndex(line)[0]
	from := max(at-grepColumns/4, 0)
	return fmt.Sprintf("[column %d of %d] %s…", from+1, len(line), strings.ToValidUTF8(line[from:min(from+grepColumns, len(line))], ""))
}

func (g *grepper) add(line string) {
	if g.shown == grepLines {
		g.more++
		return
	}
	g.shown++
	g.out.WriteString(line + "\n")
}

func (g *grepper) text() string {
	if g.shown == 0 {
		g.out.WriteString("no line matches\n")
	}
	if g.more > 0 {
		fmt.Fprintf(&g.out, "[%d more: narrow the pattern or the path]\n", g.more)
	}
	if len(g.unread) > 0 {
		fmt.Fprintf(&g.out, "[not searched because they are too large: %s]\n", strings.Join(g.unread, ", "))
	}
	return g.out.String()
}
