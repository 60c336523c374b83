package page

import (
	"github.com/pleat-dev/pleat/internal/text"
)

// missed is what a model's digest of messages start ≤ i < end does not tell and should:
// lines, word for word, that hold names which are likely to be needed again.
func (m *Miner) Missed(start, end int, txt string, room int, recall func(string) string) string {
	in := Input{Miner: m, Start: start, End: end, Recall: recall, named: txt, small: true}
	said, lines := in.narrate(room)
	if said != "" {
		said = "#" + said // one level down
	}
	if lines != "" {
		lines = "#" + lines
	}
	return text.JoinSections(said, lines)
}

// writeRestored writes the files and the state of tasks that come back beside a summary.
func WriteRestored(in Input) string {
	files, state := "", ""
	if in.Restore.Files > 0 {
		files = in.files(in.Room.Files)
	}
	if in.Restore.State {
		state = in.openState(in.Room.Total/8, in.Count.CountText)
	}
	return text.JoinSections(files, state)
}
