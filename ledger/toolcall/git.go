package toolcall

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/shell"
	"github.com/pleat-dev/pleat/internal/text"
)

// gitLooks has the git commands that only look.
var gitLooks = text.WordSet(`status log diff show blame annotate ls-files ls-tree rev-parse describe grep cat-file reflog shortlog rev-list
	merge-base name-rev for-each-ref symbolic-ref version help whatchanged show-ref show-branch check-ignore check-attr diff-tree
	diff-index diff-files count-objects cherry range-diff var hash-object --version`)

// gitEffect reads a git command. Its index and history are not files of the work: changing
// them is a run.
func gitEffect(c *shell.Command, args []string) shellEffect {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--version" {
		n := 1
		if args[0] == "-C" || args[0] == "-c" {
			n = 2
		}
		args = args[min(n, len(args)):]
	}
	sub := ""
	if len(args) > 0 {
		sub, args = args[0], args[1:]
	}
	ops := operands(args, "mFCcbBnuts", "message author date format pretty")
	var after []string // after --
	if i := slices.Index(args, "--"); i >= 0 {
		after = args[i+1:]
	}
	switch {
	case sub == "" || gitLooks[sub]:
		e := lookEffect
		e.paths = partsOf(c, after)
		return e
	case gitListing(sub, args, ops):
		return lookEffect
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

// gitListing reports whether a command that can do more only lists.
func gitListing(sub string, args, ops []string) bool {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch sub {
	case "branch":
		return len(ops) == 0 || slices.ContainsFunc(args, func(a string) bool {
			return a == "-a" || a == "-r" || a == "--list" || a == "--contains" || a == "--show-current" || a == "--merged"
		})
	case "tag":
		return len(ops) == 0 || first == "-l" || first == "--list"
	case "remote":
		return len(args) == 0 || first == "-v" || first == "show" || first == "get-url"
	case "stash", "worktree", "notes", "bisect":
		return first == "list" || first == "show" || first == "log"
	case "config":
		return first == "--get" || first == "-l" || first == "--list" || first == "--get-all" || len(ops) == 1
	}
	return false
}

// gitRestore reads checkout and restore, which put back files or switch branches.
func gitRestore(c *shell.Command, sub string, args, ops, after []string) shellEffect {
	files := after
	if sub == "restore" || slices.Contains(args, "--theirs") || slices.Contains(args, "--ours") {
		files = ops
	}
	if len(files) == 0 || sub == "restore" && slices.Contains(args, "--staged") && !slices.Contains(args, "--worktree") {
		return runEffect
	}
	return shellEffect{kind: CallEdit, paths: pathOperands(c, files, CallEdit)}
}

// netProgram reads commands that talk to other machines.
func netProgram(c *shell.Command, name string, args []string) (shellEffect, bool) {
	sub := ""
	if ops := operands(args, "C", "dir filter prefix"); len(ops) > 0 {
		sub = ops[0]
	}
	in := func(list ...string) bool { return slices.Contains(list, sub) }
	switch name {
	case "curl", "wget", "http", "https", "invoke-webrequest", "invoke-restmethod":
		return fetchEffect(c, name, args), true
	case "gh", "glab":
		return forgeEffect(args), true
	case "npm", "pnpm", "yarn", "bun":
		switch {
		case in("install", "i", "add", "ci", "update", "up", "upgrade", "remove", "uninstall", "publish", "login", "dlx", "audit"), sub == "" && name == "yarn":
			return netEffect, true
		case in("ls", "list", "view", "info", "why", "outdated", "root", "bin", "config", "help", "search"):
			return lookEffect, true
		}
		return runEffect, true
	case "pip", "pip3", "uv", "poetry", "gem", "bundle", "composer", "brew", "apt", "apt-get", "dnf", "yum", "apk", "pacman", "conda":
		switch {
		case in("list", "show", "freeze", "info", "search", "check"):
			return lookEffect, true
		case in("run"):
			return runEffect, true
		}
		return netEffect, true
	case "go", "cargo":
		switch {
		case in("get", "add", "fetch", "publish", "update") || sub == "install" && name == "cargo":
			return netEffect, true
		case in("list", "doc", "env", "version", "tree", "metadata", "search"):
			return lookEffect, true
		}
		return shellEffect{kind: CallRun, paths: outputOptions(c, args)}, true
	case "docker", "podman", "kubectl", "helm":
		switch {
		case in("ps", "images", "logs", "inspect", "version", "info", "get", "describe", "top", "stats"):
			return lookEffect, true
		case in("pull", "push", "login") || name == "kubectl" || name == "helm":
			return netEffect, true
		}
		return runEffect, true
	case "ssh", "scp", "rsync", "sftp", "ftp", "nc", "telnet", "aws", "gcloud", "az", "heroku", "vercel", "fly", "flyctl", "netlify", "terraform":
		return netEffect, true
	case "ping", "dig", "nslookup", "host", "whois", "traceroute":
		return netLook, true
	}
	return shellEffect{}, false
}

// fetchEffect reads curl and wget: they only look unless they send or store something.
func fetchEffect(c *shell.Command, name string, args []string) shellEffect {
	e := netLook
	e.harmless = name != "wget"
	for i, a := range args {
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch {
		case a == "-o" || a == "--output" || a == "-O" && name == "wget" || a == "--output-document":
			if next == "-" || strings.HasPrefix(next, "/dev/") {
				e.harmless = true
			} else {
				e.harmless = false
				e.paths = append(e.paths, pathOperands(c, []string{next}, CallCreate)...)
			}
		case a == "-X" || a == "--request":
			e.harmless = e.harmless && (next == "GET" || next == "HEAD")
		case text.HasAnyPrefix(a, "-d", "--data", "--json", "-XP", "-XD"),
			a == "-F", a == "--form", a == "-T", a == "--upload-file", name == "curl" && (strings.HasPrefix(a, "--remote-name") || shortOption(a, "O")):
			e.harmless = false
		case name == "wget" && (a == "-qO-" || a == "-O-" || a == "--spider"):
			e.harmless = true
		}
	}
	return e
}

// shortOption reports whether a word is short options with one of the letters among them.
func shortOption(word, letters string) bool {
	return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.ContainsAny(word, letters)
}

// forgeEffect reads the commands of GitHub and GitLab.
func forgeEffect(args []string) shellEffect {
	ops := operands(args, "RHqtfF", "repo json jq template paginate")
	if len(ops) == 0 {
		return netLook
	}
	if ops[0] != "api" {
		verb := ops[0]
		if len(ops) > 1 {
			verb = ops[1]
		}
		if slices.Contains([]string{"view", "list", "status", "checks", "diff", "search", "watch", "browse", "ls"}, verb) || ops[0] == "search" || ops[0] == "browse" {
			return netLook
		}
		return netEffect
	}
	if len(ops) > 1 && ops[1] == "graphql" {
		if strings.Contains(strings.Join(args, " "), "mutation") {
			return netEffect
		}
		return netLook
	}
	method, sends := "", false
	for i, a := range args {
		switch {
		case (a == "-X" || a == "--method") && i+1 < len(args):
			method = args[i+1]
		case a == "-f" || a == "-F" || a == "--field" || a == "--raw-field" || a == "--input":
			sends = true
		}
	}
	if method == "GET" || method == "" && !sends {
		return netLook
	}
	return netEffect
}
