package toolcall

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/shell"
	"github.com/pleat-dev/pleat/internal/text"
)

// program says how the words of a well-known command are to be read.
type program struct {
	change CallKind // what it does to the files it names
	values string   // short options that take a value
	longs  string   // long options that take a value in the next word
	skip   int      // operands before the files: a pattern, a script, a mode
	some   bool     // shows parts of the files, or names in a directory
	most   int      // how many files it names at most, 0: any number
	silent bool     // names no files
}

// programs has the commands that only look, and those that change just the files they
// name. PowerShell's and cmd's are in lower case. All other commands are runs, unless
// wrapped or specialEffect knows them or they only ask for help or a version.
var programs = byName(map[program]string{
	{change: CallRead}: `cat less more zcat tac get-content gc type`,
	{change: CallRead, some: true}: `strings wc file ls find cmp comm md5sum sha256sum readlink realpath column
		get-childitem gci dir get-item test-path`,
	{change: CallRead, some: true, skip: 1}: `yq select-string`,

	{change: CallRead, values: "bdfhilnsvw"}:                                          `nl`,
	{change: CallRead, values: "lrH"}:                                                 `bat`,
	{change: CallRead, values: "nc", longs: "lines bytes"}:                            `head tail`,
	{change: CallRead, values: "cf", some: true}:                                      `stat`,
	{change: CallRead, values: "LIP", some: true}:                                     `tree`,
	{change: CallRead, values: "d", some: true}:                                       `du`,
	{change: CallRead, values: "dfcb", some: true}:                                    `cut`,
	{change: CallRead, values: "ktSo", some: true}:                                    `sort`,
	{change: CallRead, values: "fsw", some: true}:                                     `uniq`,
	{change: CallRead, values: "UCxI", some: true}:                                    `diff`,
	{change: CallRead, values: "lsc", some: true}:                                     `xxd`,
	{change: CallRead, values: "ns", some: true}:                                      `hexdump`,
	{change: CallRead, values: "AtNj", some: true}:                                    `od`,
	{change: CallRead, values: "a", some: true}:                                       `shasum`,
	{change: CallRead, values: "etdEx", some: true, skip: 1}:                          `fd`,
	{change: CallRead, values: "ABCmef", some: true, skip: 1}:                         `egrep fgrep zgrep`,
	{change: CallRead, values: "ABCmGg", some: true, skip: 1}:                         `ag`,
	{change: CallRead, values: "Fvf", some: true, skip: 1}:                            `awk gawk`,
	{change: CallRead, values: "ef", longs: "expression file", some: true, skip: 1}:   `sed`,
	{change: CallRead, values: "fL", longs: "indent", some: true, skip: 1}:            `jq`,
	{change: CallRead, values: "ABCmefdD", longs: grepLongs, some: true, skip: 1}:     `grep`,
	{change: CallRead, values: "ABCmegtTjrEfdM", longs: rgLongs, some: true, skip: 1}: `rg`,

	{change: CallDelete}:                             `rm rmdir unlink trash remove-item ri del erase`,
	{change: CallDelete, values: "n"}:                `shred`,
	{change: CallCreate}:                             `tee new-item out-file tee-object`,
	{change: CallCreate, most: 1}:                    `set-content`,
	{change: CallCreate, values: "dtr"}:              `touch`,
	{change: CallCreate, values: "m", longs: "mode"}: `mkdir`,
	{change: CallEdit}:                               `clear-content`,
	{change: CallEdit, most: 1}:                      `add-content`,
	{change: CallEdit, skip: 1}:                      `chmod chown`,
	{change: CallEdit, values: "s", longs: "size"}:   `truncate`,

	{silent: true}: `pwd cd pushd popd echo printf which whereis command env printenv export set unset date whoami id
		uname hostname ps pgrep lsof df free uptime true false : test [ [[ sleep wait seq tr basename dirname for case
		local read break continue return exit shopt trap jobs nproc xmllint base64 ffprobe identify ldd nm
		write-output write-host get-location set-location push-location pop-location get-command select-object where-object
		foreach-object measure-object sort-object format-table format-list convertfrom-json convertto-json out-null
		out-string out-host get-date join-path split-path resolve-path get-process get-filehash measure-command`,
})

const (
	grepLongs = "include exclude exclude-dir max-count context after-context before-context regexp file color"
	rgLongs   = "glob type type-not max-count context after-context before-context regexp file iglob max-depth sort " +
		"color colors threads replace encoding"
)

// byName turns a table of rules with the names they hold for into one by name.
func byName[T comparable](byRule map[T]string) map[string]T {
	rules := make(map[string]T)
	for rule, names := range byRule {
		for name := range strings.FieldsSeq(names) {
			rules[name] = rule
		}
	}
	return rules
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
	if slices.ContainsFunc(args, givesPattern) {
		skip = 0
	}
	ops = ops[min(skip, len(ops)):]
	if strings.Contains(c.Name(), "-") { // PowerShell's lists
		ops = strings.FieldsFunc(strings.Join(ops, ","), func(r rune) bool { return r == ',' })
	}
	if p.most > 0 {
		ops = ops[:min(p.most, len(ops))]
	}
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

// givesPattern reports whether an option gives a search its pattern, or does without one.
func givesPattern(arg string) bool {
	return arg == "-e" || arg == "-f" || arg == "--files" || strings.EqualFold(arg, "-pattern") ||
		text.HasAnyPrefix(arg, "--regexp", "--expression")
}

// wrapped looks through programs that run other programs: bash -c, sudo, env, xargs …
func wrapped(c *shell.Command, name string, depth int) (shellEffect, bool) {
	if depth == shell.MaxNesting {
		return runEffect, true
	}
	args := c.Words[1:]
	switch name {
	case "bash", "sh", "zsh", "dash", "ksh", "fish", "powershell", "pwsh", "cmd":
		if c.Heredoc != "" && len(args) == 0 {
			return scriptEffect(shell.Parse(c.Heredoc, false), depth+1), true
		}
		for i, w := range args[:max(0, len(args)-1)] {
			a := w.Text
			if a == "/c" || a == "-Command" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.HasSuffix(a, "c") {
				return scriptEffect(shell.Parse(args[i+1].Text, isLiteral(name)), depth+1), true
			}
		}
		return runEffect, true
	case "sudo", "env", "time", "nohup", "timeout", "command", "exec", "nice", "stdbuf", "xargs", "builtin", "doas":
		for i, w := range args {
			t := w.Text
			option := strings.HasPrefix(t, "-") || strings.Contains(t, "=") ||
				name == "timeout" && t != "" && text.IsDigitByte(t[0]) ||
				name == "xargs" && len(t) <= 2 && strings.Trim(t, "0123456789{}") == ""
			switch {
			case name == "command" && (t == "-v" || t == "-V"):
				return lookEffect, true
			case !option:
				inner := shell.Command{Words: args[i:], Heredoc: c.Heredoc, Nested: c.Nested, Sep: c.Sep}
				return programEffect(&inner, depth+1), true
			}
		}
		return lookEffect, true
	}
	return shellEffect{}, false
}

// isLiteral reports whether backslashes do not quote in the shell with that name.
func isLiteral(name string) bool { return name == "powershell" || name == "pwsh" || name == "cmd" }

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
	case "tee", "tee-object", "out-file":
		if slices.ContainsFunc(args, func(a string) bool { return a == "-a" || strings.EqualFold(a, "-append") }) {
			return shellEffect{kind: CallEdit, paths: pathOperands(c, operands(args, "", ""), CallEdit)}, true
		}
	case "find":
		return findEffect(c, args), true
	case "sort":
		if slices.Contains(args, "-o") {
			return runEffect, true
		}
	case "apply_patch", "applypatch", "patch":
		return patchEffect(c, args), true
	case "git":
		return gitEffect(c, args), true
	}
	return netProgram(c, name, args)
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
	return slices.ContainsFunc(args, func(a string) bool {
		return text.HasAnyPrefix(a, "--in-place", "-i", "-pi") || a == "-Ei" || a == "-ri" || a == "-ni"
	})
}

func hasCluster(args []string, letter byte) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.IndexByte(a, letter) > 0
	})
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
	e.paths = partsOf(c, ops)
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

func patchEffect(c *shell.Command, args []string) shellEffect {
	patch := c.Heredoc
	if patch == "" && len(args) > 0 && strings.Contains(args[0], "*** ") {
		patch = args[0]
	}
	paths := patchPaths(patch)
	return shellEffect{kind: max(CallEdit, gravest(paths)), paths: paths}
}
