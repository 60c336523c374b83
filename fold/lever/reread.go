package lever

import (
	"context"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// KeepReread keeps the newest reads of files that the agent has read again after each of
// the last two epochs: it needs them, and folding them once more costs a round each time. One
// that a page shows is folded: the page stands for it.
type KeepReread struct {
	Files  int `json:"files"`  // most files that are kept; 0: 1
	Tokens int `json:"tokens"` // most tokens of a read that is kept; 0: no read is kept
}

// Name returns "keep-reread".
func (KeepReread) Name() string { return "keep-reread" }

// Check refuses negative numbers.
func (k KeepReread) Check() error {
	return fold.CheckNumbers("files and tokens", k.Files, k.Tokens)
}

// Pull marks the reads, and folds those that a page shows.
func (k KeepReread) Pull(ctx context.Context, d *fold.Draft) error {
	files := rereadFiles(d)
	for _, f := range files[max(0, len(files)-max(k.Files, 1)):] {
		d.Reread = append(d.Reread, f.path)
		e := d.Source.Ledger().Entry(f.read)
		if e.Outcome != toolcall.Succeeded || int(d.Facts().Block(e.Result).Tokens) > max(k.Tokens, 1) {
			continue
		}
		if err := k.once(ctx, d, e.Result); err != nil {
			return err
		}
		d.Keep[e.Result] = true
	}
	return nil
}

// once folds a read if a page in force shows the same.
func (k KeepReread) once(ctx context.Context, d *fold.Draft, ref transcript.BlockRef) error {
	if len(d.Folds().Spans()) == 0 || !d.Maskable(ref, nil) {
		return nil
	}
	read, err := d.Source.Block(ctx, ref)
	if err != nil {
		return err
	}
	whole := strings.TrimRight(annotate.Output(transcript.BlockText(read)), "\n")
	for _, page := range d.Folds().Spans() {
		if !strings.Contains(page.Stub, whole) {
			continue
		}
		stub, err := d.Stub(ctx, ref, "", fold.OnPage)
		if err != nil {
			return err
		}
		if f := d.FoldBlock(ref, k, fold.OnPage, stub); f != nil {
			f.Final = true
		}
	}
	return nil
}

// rereadEpochs is after how many epochs in a row a file has to be read again.
const rereadEpochs = 2

type rereadFile struct {
	path string
	read int // number of the newest call that read it
}

// rereadFiles finds the files that were known shortly before each of the newest epochs and
// read again after it, oldest first.
func rereadFiles(d *fold.Draft) []rereadFile {
	if len(d.Epochs) < rereadEpochs {
		return nil
	}
	starts := d.Epochs[len(d.Epochs)-rereadEpochs:]
	type seen struct {
		rereadFile
		known bool
		again [rereadEpochs]bool
	}
	var table ledger.PathTable
	files := make(map[int]*seen)
	var order []*seen
	led := d.Source.Ledger()
	for seq := led.Recently(starts[0]); seq <= led.Len(); seq++ {
		e := led.Entry(seq)
		if e.Outcome == toolcall.Failed || e.Kind != toolcall.CallRead || len(e.Paths) != 1 {
			continue
		}
		id := table.File(e.DirOf(e.Paths[0]), e.Paths[0].Path)
		f := files[id]
		if f == nil {
			f = &seen{rereadFile: rereadFile{path: e.Paths[0].Path}, known: e.Call.Message < starts[0]}
			files[id] = f
			order = append(order, f)
		}
		if !e.Unchanged || f.read == 0 { // a note that the file is unchanged shows nothing of it
			f.read = seq
		}
		for k := len(starts) - 1; k >= 0; k-- {
			if e.Call.Message >= starts[k] {
				f.again[k] = true
				break
			}
		}
	}
	var out []rereadFile
	for _, f := range order {
		if f.known && !slices.Contains(f.again[:], false) {
			out = append(out, f.rereadFile)
		}
	}
	return out
}
