package ledger

import (
	"fmt"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// OutcomeText says how a call ended, in a few words; a plain success needs none.
func (e Entry) OutcomeText() string {
	switch {
	case e.Outcome == toolcall.Failed && e.ErrorLine != "":
		return "failed: " + e.ErrorLine
	case e.Outcome == toolcall.Failed && e.ExitCode != nil:
		return fmt.Sprintf("exit %d", *e.ExitCode)
	case e.Outcome == toolcall.Failed:
		return "failed"
	}
	return ""
}

// WentWell reports whether the call ran something that ended well by its own exit code:
// a state that the work goes on from, unlike that of a file that could be read.
func (e Entry) WentWell() bool {
	return e.Kind == toolcall.CallRun && e.Outcome == toolcall.Succeeded && !e.Filtered
}
