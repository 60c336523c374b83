package ledger

import (
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// Publishes reports whether a call makes the work known to others: commits, pushes, pull
// requests, messages. Its short answer holds the id that later work refers to.
func Publishes(e *Entry) bool {
	switch {
	case e.Harmless || e.Outcome != toolcall.Succeeded:
		return false
	case e.Command == "":
		return e.Kind == toolcall.CallNet
	case e.Kind == toolcall.CallNet:
		return text.ContainsAny(e.Command, "git push", "gh ", "glab ", "curl ", "publish", "deploy", "scp ", "rsync ", "ssh ")
	}
	return text.ContainsAny(e.Command, "git commit", "git tag", "git merge", "git revert", "git cherry-pick")
}
