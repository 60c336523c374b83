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
// wrapped or specialEffect knows them.
var programs = byName(map[program]string{
	{change: CallRead}: `cat less more zcat tac nl bat get-content gc type`,
	{change: CallRead, values: "nc", longs: "lines bytes"}: `head tail`,
	{change: CallRead, some: true}: `strings wc file ls cmp comm md5sum sha256sum shasum readlink realpath column du
		uniq diff xxd hexdump od get-childitem gci dir get-item test-path`,
	{change: CallRead, values: "dfcb", some: true}:   `cut stat`,
	{change: CallRead, values: "LIPktS", some: true}: `sort tree`,

	{change: CallRead, values: "ABCmefdDgtTjM", longs: searchLongs, some: true, skip: 1}: `grep egrep fgrep zgrep rg ag
		fd sed yq select-string`,
	{change: CallRead, values: "FvfL", longs: "indent", some: true, skip: 1}: `awk gawk jq`,

	{change: CallDelete}: `rm rmdir unlink trash shred remove-item ri del erase`,
	{change: CallCreate}: `tee new-item out-file tee-object`,
	{change: CallCreate, values: "dtrm", longs: "mode"}: `touch mkdir`,
	{change: CallCreate, most: 1}:                       `set-content`,
	{change: CallEdit}:                                  `clear-content`,
	{change: CallEdit, most: 1}:                         `add-content`,
	{change: CallEdit, skip: 1}:                         `chmod chown`,
	{change: CallEdit, values: "s", longs: "size"}:      `truncate`,

	{silent: true}: `pwd cd pushd popd echo printf which whereis command env printenv export set unset date whoami id
		uname hostname ps pgrep lsof df free uptime true false : test [ [[ sleep wait seq tr basename dirname for case
		local read break continue return exit shopt trap jobs nproc xmllint base64 ffprobe identify ldd nm
		write-output write-host get-location set-location push-location pop-location get-command select-object where-object
		foreach-object measure-object sort-object format-table format-list convertfrom-json convertto-json out-null
		out-string out-host get-date join-path split-path resolve-path get-process get-filehash measure-command`,
})

// searchLongs has the long options of searches that take a value.
const searchLongs = "include exclude exclude-dir max-count context after-context before-context regexp file glob " +
	"type type-not iglob max-depth sort threads replace encoding expression"

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
	lookEffect = shellEffect{kind: CallRead, harmless: true}
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
	if p, known := programs[name]; known {
		if p.silent {
			return lookEffect
		}
		return listedEffect(c, p, args)
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
	ops := operands(args, p.values, p.longs)
	if p.change != CallRead || !slices.ContainsFunc(args, givesPattern) {
		ops = ops[min(p.skip, len(ops)):]
	}
	if strings.Contains(c.Name(), "-") { // PowerShell's lists
		ops = strings.FieldsFunc(strings.Join(ops, ","), func(r rune) bool { return r == ',' })
	}
	if p.most > 0 {
		ops = ops[:min(p.most, len(ops))]
	}
	like := PathChange{Change: p.change, Some: p.some}
	if n := c.Name(); n == "sed" && p.change == CallRead || n == "head" || n == "tail" {
		like.First, like.Last, like.Some = filterRange(c)
	}
	return shellEffect{kind: p.change, harmless: p.change == CallRead, paths: pathOperands(c, ops, like)}
}

// givesPattern reports whether an option gives a search its pattern, or does without one.
func givesPattern(arg string) bool {
	return slices.Contains([]string{"-e", "-f", "--files", "--regexp", "--expression"}, arg) ||
		strings.EqualFold(arg, "-pattern")
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
			option := t == "" || strings.HasPrefix(t, "-") || strings.Contains(t, "=") ||
				text.IsDigitByte(t[0]) || t == "{}"
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
		if slices.ContainsFunc(args, inPlace) {
			ops := operands(args, "e", "")
			if !slices.ContainsFunc(args, givesScript) {
				ops = ops[min(1, len(ops)):]
			}
			return shellEffect{kind: CallEdit, paths: pathOperands(c, ops, PathChange{Change: CallEdit})}, true
		}
	case "tee", "tee-object", "out-file":
		if slices.ContainsFunc(args, func(a string) bool { return a == "-a" || strings.EqualFold(a, "-append") }) {
			return listedEffect(c, program{change: CallEdit}, args), true
		}
	case "find":
		return findEffect(c, args), true
	case "sort":
		if slices.Contains(args, "-o") {
			return runEffect, true
		}
	case "apply_patch", "applypatch", "patch":
		return patchEffect(c, args), true
	}
	if s, ok := suites[name]; ok {
		return suiteEffect(c, name, s, args), true
	}
	return shellEffect{}, false
}

// copyEffect reads the words of cp and mv: all but the last are sources.
func copyEffect(c *shell.Command, name string, args []string) shellEffect {
	e := shellEffect{kind: CallCreate}
	source := PathChange{Change: CallRead, Some: true}
	if name == "mv" || strings.HasPrefix(name, "mov") || strings.HasPrefix(name, "ren") {
		e.kind, source = CallEdit, PathChange{Change: CallDelete}
	}
	ops := operands(args, "tSm", "target-directory")
	if len(ops) < 2 {
		return e
	}
	last := len(ops) - 1
	e.paths = pathOperands(c, ops[:last], source)
	target := PathChange{Change: CallCreate}
	if last == 1 && isPath(c, ops[0]) {
		target.Source = ops[0]
	}
	e.paths = append(e.paths, pathOperands(c, ops[last:], target)...)
	return e
}

// inPlace reports whether an option makes sed or perl write what it reads.
func inPlace(arg string) bool {
	return text.HasAnyPrefix(arg, "--in-place", "-i", "-pi", "-Ei", "-ri", "-ni")
}

// givesScript reports whether an option of sed or perl gives it its script.
func givesScript(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && arg[len(arg)-1] == 'e'
}

// findEffect reads find: what comes before its first test is where it looks.
func findEffect(c *shell.Command, args []string) shellEffect {
	test := slices.IndexFunc(args, func(a string) bool { return a == "(" || a == "!" || strings.HasPrefix(a, "-") })
	e := lookEffect
	if test < 0 {
		test = len(args)
	}
	e.paths = pathOperands(c, args[:test], PathChange{Change: CallRead, Some: true})
	for _, a := range args[test:] {
		switch a {
		case "-delete":
			e.kind, e.harmless = CallDelete, false
		case "-exec", "-execdir", "-ok":
			e.kind, e.harmless = CallRun, false
		}
	}
	return e
}

func patchEffect(c *shell.Command, args []string) shellEffect {
	patch := c.Heredoc
	if patch == "" && len(args) > 0 {
		patch = args[0]
	}
	paths := patchPaths(patch)
	return shellEffect{kind: max(CallEdit, gravest(paths)), paths: paths}
}
