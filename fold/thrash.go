package fold

import (
	"slices"

	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// Thrash: an agent that reads the same files again after every epoch needs them. Folding
// them once more costs a round each time, so they are kept instead.

// thrashEpochs is after how many epochs in a row a file has to be read again.
const thrashEpochs = 2

// thrashed is a file that was read again after each of the newest epochs.
type thrashed struct {
	path string
	read int // number of the newest call that read it
}

// thrashedFiles finds the files that were known before each of the newest epochs and read
// again after it, oldest first. Its cost grows with the ledger, so it is for planning only.
func (s *Folding) thrashedFiles() []thrashed {
	at := s.inEffect()
	if len(at) < thrashEpochs {
		return nil
	}
	var starts []int // lengths of the transcript at the newest epochs
	for _, k := range at[len(at)-thrashEpochs:] {
		starts = append(starts, s.History[k].Messages)
	}
	type seen struct {
		thrashed
		known bool
		again [thrashEpochs]bool
	}
	var table ledger.PathTable
	files := make(map[int]*seen)
	var order []*seen
	for seq := 1; seq <= s.Ledger.Len(); seq++ {
		e := s.Ledger.Entry(seq)
		if e.Outcome == toolcall.Failed || e.Kind != toolcall.CallRead || len(e.Paths) != 1 {
			continue
		}
		id := table.File(e.Dir, e.Paths[0].Path)
		f := files[id]
		if f == nil {
			f = &seen{thrashed: thrashed{path: e.Paths[0].Path}, known: e.Call.Message < starts[0]}
			files[id] = f
			order = append(order, f)
		}
		f.read = seq
		for k := len(starts) - 1; k >= 0; k-- {
			if e.Call.Message >= starts[k] {
				f.again[k] = true
				break
			}
		}
	}
	var out []thrashed
	for _, f := range order {
		if f.known && !slices.Contains(f.again[:], false) {
			out = append(out, f.thrashed)
		}
	}
	return out
}

// keepThrashed makes the newest reads of such files stay when results are folded, as long
// as they are few.
func (d *Draft) keepThrashed() {
	if !d.p.Guaranteed {
		return // other policies mean what they say
	}
	files := d.s.thrashedFiles()
	for _, f := range files[max(0, len(files)-max(d.p.Restore.Files, 1)):] {
		d.thrash = append(d.thrash, f.path)
		if e := d.s.Ledger.Entry(f.read); e.Outcome == toolcall.Succeeded && int(d.s.Facts[e.Result.Message].Blocks[e.Result.Block].Tokens) <= max(d.p.Restore.PerFile, 1) {
			if d.kept == nil {
				d.kept = make(map[transcript.BlockRef]bool)
			}
			d.kept[e.Result] = true
		}
	}
}
