package toolcall

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/shell"
	"github.com/pleat-dev/pleat/internal/text"
)

// suite is what the commands of a program do that has several, by their first word. The
// others are runs that may change anything.
type suite struct {
	looks string // only look
	nets  string // talk to other machines
	keeps string // run something, but change no file of the work
	nouns string // come before the command: gh pr view
	far   bool   // all of them talk to other machines
}

const (
	packageNets = "install i add ci update up upgrade publish login get fetch pull push"
	npmLooks    = "ls list view info why outdated root bin config help search"
	pipLooks    = "list show freeze info search check"
	hubLooks    = "view list status checks diff search watch browse ls"
	hubNouns    = "pr mr issue run repo release workflow ci label auth"
	boxNouns    = "compose image container network volume"
	boxLooks    = "ps images logs inspect version info get describe top stats status"
)

// suites has the programs with several commands, and those that always talk to other machines.
var suites = byName(map[suite]string{
	{
		looks: `status log diff show blame annotate ls-files ls-tree rev-parse describe grep cat-file reflog shortlog
			rev-list merge-base name-rev for-each-ref symbolic-ref version help whatchanged show-ref show-branch
			check-ignore check-attr diff-tree diff-index diff-files count-objects cherry range-diff var hash-object`,
		nets:  "push fetch pull clone submodule lfs ls-remote",
		keeps: "add commit push fetch branch tag config remote init stage worktree notes gc",
	}: "git",
	{
		looks: "list doc env version", nets: "get",
		keeps: "test build vet list env doc version tool install clean",
	}: "go",
	{
		looks: "tree metadata search version", nets: packageNets,
		keeps: "test build check clippy doc bench nextest",
	}: "cargo",
	{looks: npmLooks, nets: packageNets, nouns: "pm"}:  "npm pnpm yarn bun",
	{looks: pipLooks, nets: packageNets, nouns: "pip"}: "uv poetry bundle",
	{looks: pipLooks, nets: packageNets, far: true}:    "pip pip3 gem brew apt conda",

	{looks: hubLooks, nouns: hubNouns, far: true}:         "gh glab",
	{looks: boxLooks, nouns: boxNouns, nets: packageNets}: "docker podman",
	{looks: boxLooks, far: true}:                          "kubectl helm",
	{far: true}: `curl wget http https invoke-webrequest invoke-restmethod ssh scp rsync sftp ftp nc telnet aws gcloud az
		heroku vercel fly flyctl netlify terraform ping dig nslookup host whois traceroute apt-get dnf yum apk pacman`,
})

// has reports whether one of the commands in a list is meant.
func has(list, command string) bool { return slices.Contains(strings.Fields(list), command) }

// commandOf finds the command among the words of a call, and what comes after it.
func (s suite) commandOf(args []string) (command string, rest []string) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-C" || a == "-c" || a == "-R":
			i++
		case !strings.HasPrefix(a, "-") && !has(s.nouns, a):
			return a, args[i+1:]
		}
	}
	return "", nil
}

// suiteEffect reads a command of a suite.
func suiteEffect(c *shell.Command, name string, s suite, args []string) shellEffect {
	command, rest := s.commandOf(args)
	if name == "git" {
		if e, ok := gitEffect(c, command, rest); ok {
			return e
		}
	}
	e := shellEffect{kind: CallRun, harmless: has(s.looks, command)}
	switch {
	case s.far || has(s.nets, command):
		e.kind = CallNet
		e.harmless = e.harmless || name == "curl" && !slices.ContainsFunc(args, sends)
	case e.harmless:
		e.kind = CallRead
	}
	if !e.harmless {
		e.paths = outputOptions(c, args)
	}
	return e
}

// gitEffect reads the commands of git that name files. Its index and history are not files
// of the work: changing them is a run.
func gitEffect(c *shell.Command, command string, args []string) (shellEffect, bool) {
	var after []string // after --
	if i := slices.Index(args, "--"); i >= 0 {
		after = args[i+1:]
	}
	p := program{change: CallEdit, values: "s"}
	switch command {
	case "mv":
		return copyEffect(c, "mv", args), true
	case "apply", "am":
		paths := patchPaths(c.Heredoc)
		return shellEffect{kind: gravest(paths), paths: paths}, len(paths) > 0
	case "rm":
		p.change = CallDelete
		return listedEffect(c, p, args), !slices.Contains(args, "--cached")
	case "restore":
		index := slices.Contains(args, "--staged") && !slices.Contains(args, "--worktree")
		return listedEffect(c, p, args), !index
	case "checkout": // of files, or of a branch
		if !slices.Contains(args, "--theirs") && !slices.Contains(args, "--ours") {
			args = after
		}
		return listedEffect(c, p, args), len(args) > 0
	}
	e := lookEffect
	e.paths = pathOperands(c, after, PathChange{Change: CallRead, Some: true})
	return e, command == "" || has(suites["git"].looks, command)
}

// sends reports whether an option of curl sends or stores something.
func sends(arg string) bool {
	long := text.HasAnyPrefix(arg, "--data", "--json", "--form", "--upload", "--output", "--remote-name", "--request")
	return long || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.ContainsAny(arg, "XdFToO")
}

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
