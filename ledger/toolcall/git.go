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
	if len(files) == 0 || sub == "restore" && slices.Contains(args, "--staged") && !slices.Contains(args, "--worktree") {
		return runEffect
	}
	return shellEffect{kind: CallEdit, paths: pathOperands(c, files, CallEdit)}
}
