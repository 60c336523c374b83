package sessionlog

// TauBench is the format of tau-bench result files.
const TauBench Format = "tau-bench"

var tauFormat = format{
	name: TauBench,
	document: func(doc value) bool {
		if doc.isArray() {
			doc = doc.at(0)
		}
		return doc.get("traj").isArray()
	},
	several: func(value) bool { return true },
	read:    readTau,
}

// readTau reads one dialogue of a tau-bench result file: Chat Completions messages with a
// reward. A model plays the user, so nothing in it is typed.
func readTau(l *Log, s *sink) error {
	l.info.Agent = "tau-bench"
	if id := l.doc.get("task_id"); id.exists() {
		l.info.Title = "task " + id.raw()
	}
	return readMessages(l, s, l.doc.get("traj"), chatMessage)
}
