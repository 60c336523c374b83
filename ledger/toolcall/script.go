package toolcall

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/shell"
)

// maxLiterals bounds how many calls with a literal name are looked at in a source.
const maxLiterals = 64

// inlineEffect reads a script given on the command line or by here-document to an
// interpreter. Whatever else it does, agents use such scripts to edit files, so the
// files it writes by a literal name are looked for.
func inlineEffect(c *shell.Command, args []string) (shellEffect, bool) {
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-V" || args[0] == "-v") {
		return lookEffect, true
	}
	e := runEffect
	source := c.Heredoc
	for i, a := range args {
		if (a == "-c" || a == "-e" || a == "-p") && i+1 < len(args) {
			source = args[i+1]
		}
	}
	e.paths = scriptWrites(source)
	return e, true
}

// scriptWrites finds the files that a Python, JavaScript or PowerShell source writes:
//
//	open("path", "w")    Path("path").write_text(…)    p = Path("path") … p.write_text(…)
//	fs.writeFileSync("path", …)    [IO.File]::WriteAllText("path", …)
func scriptWrites(src string) []PathChange {
	src = src[:min(len(src), shell.MaxScript)]
	var out []PathChange
	add := func(path string, change CallKind) {
		if path != "" && !strings.ContainsAny(path, "\n{}$%") {
			out = append(out, PathChange{Path: path, Change: change})
		}
	}
	for _, rest := range callsOf(src, "open(") {
		path, after := stringLiteral(rest)
		after = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(after), ","))
		after = strings.TrimPrefix(after, "mode=")
		switch mode, _ := stringLiteral(after); {
		case strings.ContainsAny(mode, "wx"):
			add(path, CallCreate)
		case strings.ContainsAny(mode, "a+"):
			add(path, CallEdit)
		}
	}
	for _, rest := range callsOf(src, "writeFileSync(", "writeFile(", "WriteAllText(", "WriteAllLines(", "WriteAllBytes(") {
		path, _ := stringLiteral(rest)
		add(path, CallCreate)
	}
	for _, rest := range callsOf(src, "appendFileSync(", "AppendAllText(", "AppendAllLines(") {
		path, _ := stringLiteral(rest)
		add(path, CallEdit)
	}
	return append(out, pathlibWrites(src)...)
}

// pathlibWrites finds Path("…") that is written to, at once or through its variable.
func pathlibWrites(src string) []PathChange {
	var out []PathChange
	for _, rest := range callsOf(src, "Path(") {
		before := src[:len(src)-len(rest)-len("Path(")]
		path, after := stringLiteral(rest)
		if path == "" {
			continue
		}
		after, name := strings.TrimPrefix(after, ")"), ""
		line := strings.TrimSuffix(strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:]), "pathlib.")
		if v, ok := strings.CutSuffix(strings.TrimSpace(line), "="); ok {
			name = strings.TrimSpace(v)
			if k := strings.LastIndexAny(name, "; "); k >= 0 {
				name = name[k+1:]
			}
		}
		written := strings.HasPrefix(after, ".write_") ||
			shell.IsVariable(name) && (strings.Contains(after, name+".write_") || strings.Contains(after, name+".open(\"w") || strings.Contains(after, name+".open('w"))
		if written {
			out = append(out, PathChange{Path: path, Change: CallEdit})
		}
	}
	return out
}

// callsOf returns the text after each call of one of the functions.
func callsOf(src string, names ...string) []string {
	var out []string
	for _, name := range names {
		for at := 0; len(out) < maxLiterals; {
			i := strings.Index(src[at:], name)
			if i < 0 {
				break
			}
			at += i + len(name)
			out = append(out, src[at:])
		}
	}
	return out
}

// stringLiteral reads a plain string literal at the beginning of s, as Python and
// JavaScript write it, and returns what follows it.
func stringLiteral(s string) (text, rest string) {
	s = strings.TrimLeft(s, "r ")
	if s == "" || s[0] != '"' && s[0] != '\'' && s[0] != '`' {
		return "", s
	}
	end := strings.IndexByte(s[1:min(len(s), 1024)], s[0])
	if end < 0 {
		return "", s
	}
	return s[1 : 1+end], s[end+2:]
}
