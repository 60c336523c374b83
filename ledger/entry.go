package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// Entry is one tool call. Its JSON form is a documented contract.
type Entry struct {
	Seq    int                 `json:"seq"` // 1, 2, 3 … in the order of the calls
	Call   transcript.BlockRef `json:"-"`   // where the call is
	Result transcript.BlockRef `json:"-"`   // meaningful unless Outcome is [toolcall.Unanswered]

	toolcall.CallFacts
	toolcall.ResultFacts

	// Handle is that of the result, or of a call that changed files; empty where no session
	// gave it one.
	Handle       string `json:"handle,omitempty"`
	ResultHandle string `json:"result_handle,omitempty"` // if Handle is that of a command, whose result may show more
	SupersededBy int    `json:"superseded_by,omitempty"` // number of the call that made the result unnecessary
	changed      bool   // that call changed something; otherwise it looked or ran again
	succeeded    bool   // that call succeeded
}

// Stale reports whether a later call changed what the result shows. A call that merely showed
// it again makes it unnecessary, not wrong.
func (e *Entry) Stale() bool { return e.SupersededBy > 0 && e.changed }

// Mended reports whether the call failed and the next one like it succeeded. Of several
// failures before a success only the last is mended; each of the others is superseded by the
// next.
func (e *Entry) Mended() bool {
	return e.SupersededBy > 0 && !e.changed && e.succeeded && e.Outcome == toolcall.Failed
}

// DirOf is the directory from which the call spells a path of it.
func (e *Entry) DirOf(p toolcall.PathChange) string {
	if p.Dir == "" {
		return e.Dir
	}
	return toolcall.Join(e.Dir, p.Dir)
}

// Effective reports whether the call changed what it set out to change, as far as can be
// told: it did not fail, or only some of its steps did.
func (e *Entry) Effective() bool {
	return e.Outcome != toolcall.Failed || e.Steps && e.ExitCode != nil
}

// OutcomeText says in a few words how a call failed; it is empty for any other outcome.
func (e Entry) OutcomeText() string {
	switch {
	case e.Outcome != toolcall.Failed:
		return ""
	case e.ErrorLine != "":
		return "failed: " + e.ErrorLine
	case e.ExitCode != nil:
		return fmt.Sprintf("exit %d", *e.ExitCode)
	}
	return "failed"
}

// CallLabel names what a call does: its kind, where that says enough, else its tool.
func CallLabel(e *Entry) string {
	if e.Kind == toolcall.CallOther || e.Kind == toolcall.CallNet && e.Command == "" {
		return e.Tool
	}
	return e.Kind.String()
}

// Publishes reports whether a call makes the work known to others: commits, pushes, pull
// requests, messages. Its short answer holds the id that later work refers to.
func Publishes(e *Entry) bool {
	switch {
	case e.Harmless || e.Outcome != toolcall.Succeeded:
		return false
	case e.Command == "":
		return e.Kind == toolcall.CallNet
	case e.Kind == toolcall.CallNet:
		return text.ContainsAny(e.Command, "git push", "gh ", "glab ", "curl ", "publish", "deploy", "scp ",
			"rsync ", "ssh ")
	}
	return text.ContainsAny(e.Command, "git commit", "git tag", "git merge", "git revert", "git cherry-pick")
}

// IsFileCall reports whether the list of files says all that the call did.
func IsFileCall(e *Entry) bool {
	switch e.Kind {
	case toolcall.CallCreate, toolcall.CallEdit, toolcall.CallDelete:
		return e.changesFiles()
	}
	return false
}

// plain reports whether the call is a command line of which the exit code tells how all of it
// went: no script, and nothing else had the last word.
func (e *Entry) plain() bool {
	return e.Command != "" && !e.Filtered && !strings.ContainsAny(e.Command, ";|\n") &&
		!strings.Contains(e.Command, "<<")
}

// changesFiles reports whether the call changes files that are known by name: such a
// call keeps its result, whatever else it does.
func (e *Entry) changesFiles() bool { return slices.ContainsFunc(e.Paths, toolcall.PathChange.Changes) }

// cutOff reports whether the call showed only the beginning of a run's output, so that
// nobody saw how it ended.
func (e *Entry) cutOff() bool {
	return e.Kind == toolcall.CallRun && e.Filtered && strings.Contains(e.Args, "| head")
}

// unnamed lists the paths that a call changed and that a text does not contain.
func (e *Entry) unnamed(text string) []string {
	var names []string
	for _, p := range e.Paths {
		if p.Changes() && !strings.Contains(text, p.Path) && !slices.Contains(names, p.Path) {
			names = append(names, p.Path)
		}
	}
	return names
}

// Named returns the call with the handle that tells most about it: of what it changed in files, or
// else of its result. The facts are those of the conversation.
func (e Entry) Named(facts transcript.Facts) Entry {
	if e.Handle = ""; e.Outcome != toolcall.Unanswered {
		e.Handle = facts.Block(e.Result).Handle.String()
	}
	if h := facts.Block(e.Call).Handle.String(); h != "" && IsFileCall(&e) && e.Outcome == toolcall.Succeeded {
		if e.Command != "" {
			e.ResultHandle = e.Handle
		}
		e.Handle = h
	}
	return e
}

// SelectNamed returns the calls that the filter chooses, with their handles.
func (l *Ledger) SelectNamed(f Filter, facts transcript.Facts) []Entry {
	out := l.Select(f)
	for i := range out {
		out[i] = out[i].Named(facts)
	}
	return out
}
