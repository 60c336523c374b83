package pleat

// MeasureStretch measures a stretch as planning does.
func MeasureStretch(s *Session, start, end int) (h Hash, bytes, lines int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.measure(start, end)
}

// RenderStretch is the text that unfolding a stretch shows.
func RenderStretch(s *Session, start, end int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.renderText(start, end)
}
