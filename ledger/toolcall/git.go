package toolcall

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/shell"
	"github.com/pleat-dev/pleat/internal/text"
)

// gitLooks has the git commands that only look.
var gitLooks = text.WordSet(`status log diff show blame annotate ls-files ls-tree rev-parse describe grep cat-file
	reflog shortlog rev-list merge-base name-rev for-each-ref symbolic-ref version help whatchanged show-ref show-branch
	check-ignore check-attr diff-tree diff-index diff-files count-objects cherry range-diff var hash-object`)

// pastOptions returns the arguments from the command of a program like git on.
func pastOptions(args []string) []string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		n := 1
		if args[0] == "-C" || args[0] == "-c" {
			n = 2
		}
		args = args[min(n, len(args)):]
	}
	return args
}

// gitEffect reads a git command. Its index and history are not files of the work: changing
// them is a run.
func gitEffect(c *shell.Command, args []string) shellEffect {
	sub := ""
	if args = pastOptions(args); len(args) > 0 {
		sub, args = args[0], args[1:]
	}
	ops := operands(args, "mFCcbBnuts", "message author date format pretty")
	var after []string // after --
	if i := slices.Index(args, "--"); i >= 0 {
		after = args[i+1:]
	}
	if sub == "" || gitLooks[sub] {
		e := lookEffect
		e.paths = partsOf(c, after)
		return e
	}
	switch sub {
	case "push", "fetch", "pull", "clone", "submodule", "lfs":
		return netEffect
	case "ls-remote":
		return netLook
	case "mv":
		return copyEffect(c, "mv", args)
	case "rm":
		if !slices.Contains(args, "--cached") {
			return shellEffect{kind: CallDelete, paths: pathOperands(c, ops, CallDelete)}
		}
	case "apply", "am":
		if p := patchPaths(c.Heredoc); len(p) > 0 {
			return shellEffect{kind: gravest(p), paths: p}
		}
	case "checkout", "restore":
		return gitRestore(c, sub, args, ops, after)
	}
	return runEffect
}

// gitRestore reads checkout and restore, which put back files or switch branches.
func gitRestore(c *shell.Command, sub string, args, ops, after []string) shellEffect {
	files := after
	if sub == "restore" || slices.Contains(args, "--theirs") || slices.Contains(args, "--ours") {
		files = ops
	}
	if len(files) == 0 ||
		sub == "restore" && slices.Contains(args, "--staged") && !slices.Contains(args, "--worktree") {
		return runEffect
	}
	return shellEffect{kind: CallEdit, paths: pathOperands(c, files, CallEdit)}
}

// remotes has the programs that always talk to other machines.
var remotes = text.WordSet(`curl wget http https invoke-webrequest invoke-restmethod gh glab ssh scp rsync sftp ftp
	nc telnet aws gcloud az heroku vercel fly flyctl netlify terraform ping dig nslookup host whois traceroute helm
	kubectl pip pip3 gem brew apt apt-get dnf yum apk pacman conda`)

// lookups has the commands with which programs only look something up.
var lookups = byName(map[string]string{
	"view list status checks diff search watch browse ls":               "gh glab",
	"ls list view info why outdated root bin config help search":        "npm pnpm yarn bun",
	"list show freeze info search check":                                "pip pip3 uv poetry gem bundle brew apt conda",
	"list doc env version tree metadata search":                         "go cargo",
	"ps images logs inspect version info get describe top stats status": "docker podman kubectl helm",
})

// downloads has the commands with which programs fetch something from other machines.
var downloads = text.WordSet("install i add ci update up upgrade publish login get fetch pull push")

// netProgram reads programs that talk to other machines, or look things up.
func netProgram(c *shell.Command, name string, args []string) (shellEffect, bool) {
	words, looks := lookups[name]
	if !looks && !remotes[name] {
		return shellEffect{}, false
	}
	ops := operands(args, "CRHqtfF", "dir filter prefix repo json jq template")
	ops = ops[:min(2, len(ops))]
	e := shellEffect{kind: CallRun}
	if remotes[name] || len(ops) > 0 && downloads[ops[0]] && !(name == "go" && ops[0] == "install") {
		e.kind = CallNet
	}
	known := strings.Fields(words)
	switch {
	case name == "curl":
		e.harmless = !slices.ContainsFunc(args, sends)
	case slices.ContainsFunc(ops, func(op string) bool { return slices.Contains(known, op) }):
		e.harmless = true
		if e.kind == CallRun {
			e.kind = CallRead
		}
	}
	if !e.harmless {
		e.paths = outputOptions(c, args)
	}
	return e, true
}

// sends reports whether an option of curl sends or stores something.
func sends(arg string) bool {
	long := text.HasAnyPrefix(arg, "--data", "--json", "--form", "--upload", "--output", "--remote-name", "--request")
	return long || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.ContainsAny(arg, "XdFToO")
}
