package pleat

import (
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/recall"
)

// finder finds things in the session. The lock is held.
func (s *Session) finder() *recall.Finder {
	x := &recall.Finder{Conversation: s.st.Conversation}
	if s.st.AnyFold() {
		x.Shown = s.st.InView
	}
	return x
}

// calls is how this session's model is told to call.
func (s *Session) calls() recall.Call {
	if s.o.Recall("x") == "" {
		return conv.UnfoldCall
	}
	return s.o.Recall
}
