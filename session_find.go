package pleat

import (
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/transcript"
)

// finder finds things in the session. The lock is held.
func (s *Session) finder() *recall.Finder {
	x := &recall.Finder{
		Conversation: s.st, Call: s.calls(),
		Folded: func(handle string) bool {
			return slices.ContainsFunc(s.st.Folds, func(f *fold.Fold) bool { return f.Handle == handle })
		},
	}
	switch {
	case s.o.Ended:
		x.Shown = func(transcript.BlockRef) bool { return false }
	case s.st.Folded():
		x.Shown = s.st.Layout.Shows
	}
	return x
}

// calls is how this session's model is told to call.
func (s *Session) calls() recall.Call {
	if s.o.Recall("x") == "" {
		return fold.UnfoldCall
	}
	return s.o.Recall
}
