package fold

// settled reports whether an epoch was opened for the transcript as it is now: then
// planning again would give up more without anything new to make room for, and the same
// request would not get the same bytes twice.
func (s *Folding) Settled() bool {
	n := len(s.History)
	return n > 0 && s.History[n-1].Messages == s.Transcript.Len()
}
