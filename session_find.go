package pleat

// finder finds things in the session. The lock is held.
func (s *Session) finder() *finder {
	x := &finder{conversation: s.st.conversation}
	if s.st.anyFold() {
		x.shown = s.st.inView
	}
	return x
}

// calls is how this session's model is told to call.
func (s *Session) calls() recallCall {
	if s.o.Recall("x") == "" {
		return UnfoldCall
	}
	return s.o.Recall
}
