package toolcall

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/shell"
	"github.com/pleat-dev/pleat/internal/text"
)

// ScriptKeeps reports whether a script leaves a file as it is that it does not name: its
// commands only look, change files that they name, or are tests, builds and the like. What
// is not known may do anything.
func ScriptKeeps(script string, literal bool) bool {
	sh := shell.Parse(script, literal)
	if sh.Cut || len(sh.Commands) == 0 {
		return false
	}
	for i := range sh.Commands {
		c := &sh.Commands[i]
		e := commandEffect(c, 0)
		if e.harmless || len(c.Words) == 0 || e.kind != CallRun && e.kind != CallNet && len(e.paths) > 0 {
			continue
		}
		if !commandKeeps(c) {
			return false
		}
	}
	return true
}

// runners run tasks that a project has given names.
var runners = text.WordSet("npm pnpm yarn bun mise make just task npx bunx pnpx rtk")

// databases are programs that do what one of their words says, in a database.
var databases = text.WordSet("psql mysql mariadb")

// taskWords tell tasks that change no source by their names; changeWords those that do.
var (
	taskWords = []string{
		"test", "build", "compile", "check", "lint", "typecheck", "vet", "e2e", "coverage", "dev", "start", "serve",
		"tsc", "vitest", "jest", "eslint", "verify",
	}
	changeWords = []string{
		"fix", "fmt", "format", "gen", "update", "install", "add", "write", "migrate", "codemod", "release", "version",
		"sync", "themes",
	}
)

func commandKeeps(c *shell.Command) bool {
	name, args := strings.ToLower(c.Name()), c.Args()
	if slices.ContainsFunc(args, writesInPlace) {
		return false
	}
	// What formatters and others call looking.
	if slices.Contains(args, "--check") || slices.Contains(args, "--dry-run") {
		return true
	}
	if runners[name] {
		line := strings.ToLower(strings.Join(args, " "))
		return text.ContainsAny(line, taskWords...) && !text.ContainsAny(line, changeWords...)
	}
	if databases[name] { // but their own commands, which begin with a backslash, and scripts may do anything
		return text.ContainsAny(" "+strings.Join(args, " "), " -c", " -e") &&
			!text.ContainsAny(" "+strings.Join(args, " "), "\\", " -f", " -o", " -L", " --output", " --file", " --tee")
	}
	command, _ := suites[name].commandOf(args)
	return has(suites[name].keeps, command)
}

// writesInPlace reports whether an argument makes a program change the files it looks at.
func writesInPlace(arg string) bool {
	return slices.Contains([]string{"-w", "-i", "--write", "--fix", "--in-place"}, arg) || strings.HasPrefix(arg, "-i.")
}
