package toolcall

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/shell"
)

// A program says how the words of a well-known command are to be read.
type program struct {
	change CallKind // what it does to the files it names
	values string   // short options that take a value
	longs  string   // long options that take a value in the next word
	skip   int      // operands before the files: a pattern, a script, a mode
	some   bool     // shows parts of the files, or names in a directory
	silent bool     // names no files
}

// programs has the commands that only look, and those that change just the files they
// name. All other commands are runs.
var programs = map[string]program{
	"cat": {change: CallRead}, "nl": {change: CallRead, values: "bdfhilnsvw"}, "bat": {change: CallRead, values: "lrH"},
	"less": {change: CallRead}, "more": {change: CallRead}, "zcat": {change: CallRead},
	"tac": {change: CallRead}, "strings": {change: CallRead, some: true},
	"head": {change: CallRead, values: "nc", longs: "lines bytes"}, "tail": {change: CallRead, values: "nc", longs: "lines bytes"},
	"wc": {change: CallRead, some: true}, "stat": {change: CallRead, values: "cf", some: true}, "file": {change: CallRead, some: true},
	"ls": {change: CallRead, some: true}, "tree": {change: CallRead, values: "LIP", some: true}, "du": {change: CallRead, values: "d", some: true},
	"find": {change: CallRead, some: true}, "fd": {change: CallRead, values: "etdEx", some: true, skip: 1},
	"grep":  {change: CallRead, values: "ABCmefdD", longs: "include exclude exclude-dir max-count context after-context before-context regexp file color", some: true, skip: 1},
	"egrep": {change: CallRead, values: "ABCmef", some: true, skip: 1}, "fgrep": {change: CallRead, values: "ABCmef", some: true, skip: 1},
	"zgrep": {change: CallRead, values: "ABCmef", some: true, skip: 1}, "ag": {change: CallRead, values: "ABCmGg", some: true, skip: 1},
	"rg":  {change: CallRead, values: "ABCmegtTjrEfdM", longs: "glob type type-not max-count context after-context before-context regexp file iglob max-depth sort color colors threads replace encoding", some: true, skip: 1},
	"awk": {change: CallRead, values: "Fvf", some: true, skip: 1}, "gawk": {change: CallRead, values: "Fvf", some: true, skip: 1},
	"sed": {change: CallRead, values: "ef", longs: "expression file", some: true, skip: 1},
	"jq":  {change: CallRead, values: "fL", longs: "indent", some: true, skip: 1}, "yq": {change: CallRead, some: true, skip: 1},
	"cut": {change: CallRead, values: "dfcb", some: true}, "sort": {change: CallRead, values: "ktSo", some: true}, "uniq": {change: CallRead, values: "fsw", some: true},
	"diff": {change: CallRead, values: "UCxI", some: true}, "cmp": {change: CallRead, some: true}, "comm": {change: CallRead, some: true},
	"xxd": {change: CallRead, values: "lsc", some: true}, "hexdump": {change: CallRead, values: "ns", some: true}, "od": {change: CallRead, values: "AtNj", some: true},
	"md5sum": {change: CallRead, some: true}, "sha256sum": {change: CallRead, some: true}, "shasum": {change: CallRead, values: "a", some: true},
	"readlink": {change: CallRead, some: true}, "realpath": {change: CallRead, some: true}, "column": {change: CallRead, some: true},

	"rm": {change: CallDelete}, "rmdir": {change: CallDelete}, "unlink": {change: CallDelete}, "shred": {change: CallDelete, values: "n"}, "trash": {change: CallDelete},
	"touch": {change: CallCreate, values: "dtr"}, "mkdir": {change: CallCreate, values: "m", longs: "mode"},
	"chmod": {change: CallEdit, skip: 1}, "chown": {change: CallEdit, skip: 1}, "truncate": {change: CallEdit, values: "s", longs: "size"},
	"tee": {change: CallCreate},

	// PowerShell and cmd, in lower case.
	"get-content": {change: CallRead, values: ""}, "gc": {change: CallRead}, "type": {change: CallRead},
	"get-childitem": {change: CallRead, some: true}, "gci": {change: CallRead, some: true}, "dir": {change: CallRead, some: true},
	"select-string": {change: CallRead, some: true, skip: 1}, "get-item": {change: CallRead, some: true}, "test-path": {change: CallRead, some: true},
	"remove-item": {change: CallDelete}, "ri": {change: CallDelete}, "del": {change: CallDelete}, "erase": {change: CallDelete},
	"new-item": {change: CallCreate}, "out-file": {change: CallCreate}, "set-content": {change: CallCreate}, "add-content": {change: CallEdit}, "clear-content": {change: CallEdit},

	"pwd": {silent: true}, "cd": {silent: true}, "pushd": {silent: true}, "popd": {silent: true}, "echo": {silent: true}, "printf": {silent: true},
	"which": {silent: true}, "whereis": {silent: true}, "command": {silent: true}, "env": {silent: true}, "printenv": {silent: true}, "export": {silent: true},
	"set": {silent: true}, "unset": {silent: true}, "date": {silent: true}, "whoami": {silent: true}, "id": {silent: true}, "uname": {silent: true},
	"hostname": {silent: true}, "ps": {silent: true}, "pgrep": {silent: true}, "lsof": {silent: true}, "df": {silent: true}, "free": {silent: true}, "uptime": {silent: true},
	"true": {silent: true}, "false": {silent: true}, ":": {silent: true}, "test": {silent: true}, "[": {silent: true}, "[[": {silent: true},
	"sleep": {silent: true}, "wait": {silent: true}, "seq": {silent: true}, "tr": {silent: true}, "basename": {silent: true}, "dirname": {silent: true},
	"for": {silent: true}, "case": {silent: true}, "local": {silent: true}, "read": {silent: true}, "break": {silent: true}, "continue": {silent: true},
	"return": {silent: true}, "exit": {silent: true}, "shopt": {silent: true}, "trap": {silent: true}, "jobs": {silent: true}, "nproc": {silent: true},
	"xmllint": {silent: true}, "base64": {silent: true}, "ffprobe": {silent: true}, "identify": {silent: true}, "ldd": {silent: true}, "nm": {silent: true},
	"write-output": {silent: true}, "write-host": {silent: true}, "get-location": {silent: true}, "set-location": {silent: true}, "get-command": {silent: true},
	"select-object": {silent: true}, "where-object": {silent: true}, "foreach-object": {silent: true}, "measure-object": {silent: true}, "sort-object": {silent: true},
}

var (
	runEffect  = shellEffect{kind: CallRun}
	netEffect  = shellEffect{kind: CallNet}
	lookEffect = shellEffect{kind: CallRead, harmless: true}
	netLook    = shellEffect{kind: CallNet, harmless: true}
)

// programEffect is what the program of a command does, redirections aside.
func programEffect(c *shell.Command, depth int) shellEffect {
	name := c.Name()
	if strings.Contains(name, "-") || strings.HasSuffix(name, ".exe") {
		name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	}
	args := c.Args()
	if inner, ok := wrapped(c, name, depth); ok {
		return inner
	}
	if e, ok := specialEffect(c, name, args); ok {
		return e
	}
	p, known := programs[name]
	switch {
	case known && p.silent:
		return lookEffect
	case known:
		return listedEffect(c, p, args)
	case len(args) == 1 && slices.Contains([]string{"--version", "--help", "-h", "-V", "version", "help"}, args[0]):
		return lookEffect
	}
	e := runEffect
	e.paths = outputOptions(c, args)
	return e
}

// outputOptions finds the files that compilers and converters are told to write.
func outputOptions(c *shell.Command, args []string) (paths []PathChange) {
	for i, a := range args[:max(0, len(args)-1)] {
		if a == "-o" || a == "--out" || a == "--output" || a == "-out" {
			if out := args[i+1]; strings.ContainsAny(out, "./") && isPath(c, out) {
				paths = append(paths, PathChange{Path: out, Change: CallCreate})
			}
		}
	}
	return paths
}

// listedEffect is the effect of a program in the list on the files it names.
func listedEffect(c *shell.Command, p program, args []string) shellEffect {
	e := shellEffect{kind: p.change, harmless: p.change == CallRead}
	ops := operands(args, p.values, p.longs)
	skip := p.skip
	for _, a := range args { // the pattern came as an option
		if a == "-e" || a == "-f" || strings.HasPrefix(a, "--regexp") || a == "--files" || strings.HasPrefix(a, "--expression") {
			skip = 0
		}
	}
	ops = ops[min(skip, len(ops)):]
	e.paths = pathOperands(c, ops, p.change)
	if p.change == CallRead {
		first, last, some := 0, 0, p.some
		if n := c.Name(); n == "sed" || n == "head" || n == "tail" {
			first, last, some = filterRange(c)
		}
		for i := range e.paths {
			e.paths[i].First, e.paths[i].Last, e.paths[i].Some = first, last, some
		}
	}
	return e
}

// wrapped looks through programs that run other programs: bash -c, sudo, env, xargs …
func wrapped(c *shell.Command, name string, depth int) (shellEffect, bool) {
	if depth == shell.MaxNesting {
		return runEffect, true
	}
	args := c.Words[1:]
	switch name {
	case "bash", "sh", "zsh", "dash", "ksh", "fish", "powershell", "pwsh", "cmd", "eval":
		if c.Heredoc != "" && len(args) == 0 {
			return atLeastRun(scriptEffect(shell.Parse(c.Heredoc, false), depth+1)), true
		}
		if name == "eval" {
			return runEffect, true
		}
		for i, a := range args {
			if a.Text == "/c" || a.Text == "-Command" || len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' && strings.HasSuffix(a.Text, "c") {
				if i+1 < len(args) {
					literal := name == "powershell" || name == "pwsh" || name == "cmd"
					return scriptEffect(shell.Parse(args[i+1].Text, literal), depth+1), true
				}
			}
		}
		return runEffect, true
	case "sudo", "env", "time", "nohup", "timeout", "command", "exec", "nice", "stdbuf", "xargs", "builtin", "doas":
		rest := args
		for len(rest) > 0 {
			t := rest[0].Text
			option := strings.HasPrefix(t, "-") || strings.Contains(t, "=") || name == "timeout" && t != "" && t[0] >= '0' && t[0] <= '9'
			if name == "command" && (t == "-v" || t == "-V") {
				return lookEffect, true
			}
			if !option && !(name == "xargs" && len(t) <= 2 && strings.Trim(t, "0123456789{}") == "") {
				break
			}
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return lookEffect, true
		}
		inner := shell.Command{Words: rest, Heredoc: c.Heredoc, Nested: c.Nested, Sep: c.Sep}
		return programEffect(&inner, depth+1), true
	}
	return shellEffect{}, false
}

func atLeastRun(e shellEffect) shellEffect {
	if !e.harmless && e.kind < CallRun {
		e.kind = CallRun
	}
	return e
}

// specialEffect knows the programs whose options decide what they do.
func specialEffect(c *shell.Command, name string, args []string) (shellEffect, bool) {
	switch name {
	case "cp", "mv", "ln", "install", "copy-item", "move-item", "copy", "move", "ren", "rename-item":
		return copyEffect(c, name, args), true
	case "sed", "perl", "yq", "gsed":
		if inPlace(args) {
			ops := operands(args, "e", "")
			if !slices.Contains(args, "-e") && len(ops) > 0 && !hasCluster(args, 'e') {
				ops = ops[1:]
			}
			return shellEffect{kind: CallEdit, paths: pathOperands(c, ops, CallEdit)}, true
		}
		if name == "perl" {
			return runEffect, true
		}
	case "tee":
		if slices.Contains(args, "-a") {
			return shellEffect{kind: CallEdit, paths: pathOperands(c, operands(args, "", ""), CallEdit)}, true
		}
	case "find":
		return findEffect(c, args), true
	case "sort":
		if slices.Contains(args, "-o") {
			return runEffect, true
		}
	case "gofmt", "goimports", "gofumpt", "prettier", "black", "rustfmt", "eslint", "ruff", "biome", "isort", "clang-format", "shfmt":
		return formatEffect(c, args), true
	case "apply_patch", "applypatch", "patch":
		return patchEffect(c, args), true
	case "git":
		return gitEffect(c, args), true
	case "python", "python3", "node", "ruby", "deno", "bun", "php":
		return inlineEffect(c, args)
	}
	if e, ok := netProgram(c, name, args); ok {
		return e, true
	}
	return shellEffect{}, false
}

// copyEffect reads the words of cp and mv: all but the last are sources.
func copyEffect(c *shell.Command, name string, args []string) shellEffect {
	e := shellEffect{kind: CallCreate}
	ops := operands(args, "tSm", "target-directory")
	moves := name == "mv" || strings.HasPrefix(name, "mov") || strings.HasPrefix(name, "ren")
	if moves {
		e.kind = CallEdit
	}
	if len(ops) < 2 {
		return e
	}
	target, sources := ops[len(ops)-1], ops[:len(ops)-1]
	for _, s := range sources {
		switch {
		case !isPath(c, s):
		case moves:
			e.paths = append(e.paths, PathChange{Path: s, Change: CallDelete})
		default:
			e.paths = append(e.paths, PathChange{Path: s, Change: CallRead, Some: true})
		}
	}
	if isPath(c, target) {
		p := PathChange{Path: target, Change: CallCreate}
		if len(sources) == 1 && isPath(c, sources[0]) {
			p.Source = sources[0]
		}
		e.paths = append(e.paths, p)
	}
	return e
}

func inPlace(args []string) bool {
	for _, a := range args {
		if strings.HasPrefix(a, "--in-place") || strings.HasPrefix(a, "-i") || a == "-pi" || a == "-Ei" || a == "-ri" || a == "-ni" || strings.HasPrefix(a, "-pi") {
			return true
		}
	}
	return false
}

func hasCluster(args []string, letter byte) bool {
	for _, a := range args {
		if len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.IndexByte(a, letter) > 0 {
			return true
		}
	}
	return false
}

func findEffect(c *shell.Command, args []string) shellEffect {
	e := lookEffect
	var ops []string
	for _, a := range args {
		if strings.HasPrefix(a, "-") || a == "(" || a == "!" {
			break
		}
		ops = append(ops, a)
	}
	e.paths = pathOperands(c, ops, CallRead)
	for i := range e.paths {
		e.paths[i].Some = true
	}
	for i, a := range args {
		switch a {
		case "-delete":
			e.kind, e.harmless = CallDelete, false
		case "-exec", "-execdir", "-ok":
			if i+1 < len(args) {
				if p, ok := programs[args[i+1]]; !ok || p.change > CallRead {
					e.kind, e.harmless = CallRun, false
				}
			}
		}
	}
	return e
}

// formatEffect reads the words of formatters: they change files only when told to.
func formatEffect(c *shell.Command, args []string) shellEffect {
	writes := c.Name() == "black" || c.Name() == "rustfmt" || c.Name() == "isort"
	for _, a := range args {
		switch a {
		case "-w", "--write", "--fix", "-i", "-lw", "-wl":
			writes = true
		case "--check":
			return runEffect
		}
	}
	if !writes {
		return runEffect
	}
	var paths []PathChange
	for _, op := range operands(args, "r", "config") {
		if isPath(c, op) && strings.Contains(op, ".") && op != "." && op != "./..." {
			paths = append(paths, PathChange{Path: op, Change: CallEdit})
		}
	}
	return shellEffect{kind: CallEdit, paths: paths}
}

func patchEffect(c *shell.Command, args []string) shellEffect {
	text := c.Heredoc
	if text == "" && len(args) > 0 && strings.Contains(args[0], "*** ") {
		text = args[0]
	}
	paths := patchPaths(text)
	return shellEffect{kind: max(CallEdit, gravest(paths)), paths: paths}
}
