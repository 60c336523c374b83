package pleat

// missed is what a model's digest of messages start ≤ i < end does not tell and should:
// lines, word for word, that hold names which are likely to be needed again.
func (s *miner) missed(start, end int, text string, room int, recall func(string) string) string {
	in := pageInput{s: s, start: start, end: end, recall: recall, named: text, small: true}
	said, lines := in.narrate(room)
	if said != "" {
		said = "#" + said // one level down
	}
	if lines != "" {
		lines = "#" + lines
	}
	return joinSections(said, lines)
}

// writeRestored writes the files and the state of tasks that come back beside a summary.
func writeRestored(in pageInput) string {
	files, state := "", ""
	if in.restore.Files > 0 {
		files = in.files(in.room.files)
	}
	if in.restore.State {
		state = in.openState(in.room.total/8, in.s.count.CountText)
	}
	return joinSections(files, state)
}
