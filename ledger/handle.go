package ledger

import (
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// HandleIn returns the handle that tells most about the call: of what it changed in files, or
// else of its result; empty if there is none. The facts are those of the conversation.
func (e *Entry) HandleIn(facts transcript.Facts) string {
	if IsFileCall(e) && e.Outcome == toolcall.Succeeded {
		if h := facts.Block(e.Call).Handle.String(); h != "" {
			return h
		}
	}
	if e.Outcome == toolcall.Unanswered {
		return ""
	}
	return facts.Block(e.Result).Handle.String()
}

// SelectNamed returns the calls that the filter chooses, with their handles.
func (l *Ledger) SelectNamed(f Filter, facts transcript.Facts) []Entry {
	out := l.Select(f)
	for i := range out {
		out[i].Handle = out[i].HandleIn(facts)
	}
	return out
}
