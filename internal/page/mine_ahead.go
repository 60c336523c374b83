package page

import (
	"runtime"
	"slices"
	"sync"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/transcript"
)

// mining is a block that is being mined.
type mining struct {
	ref   transcript.BlockRef
	texts []blockPart
	parts []minedPart
}

// How much text is mined at a time: enough to be worth starting goroutines, and little
// enough to hold.
const (
	aheadLeast = 64 << 10
	aheadMost  = 2 << 20
)

// mineAhead mines what the page will need on all processors, because that takes most of the
// time of writing a page. The caller must call wait, which returns when all is mined.
func (in *input) mineAhead() (wait func()) {
	s := in.Writer
	wait = func() {}
	workers := runtime.GOMAXPROCS(0)
	if workers < 2 || in.Room.Plain || in.pool != nil {
		return wait
	}
	var jobs []mining
	size := 0
	for i := slices.Min(in.mineFrom[:]); i < in.End; i++ {
		for b := range s.Facts()[i].Blocks {
			ref := transcript.BlockRef{Message: i, Block: b}
			if s.minedAt(ref) != nil || !in.isSource(ref) || s.unanswered(ref) {
				continue
			}
			job := mining{ref: ref, texts: in.textsOf(ref)}
			for _, t := range job.texts {
				size += len(t.text)
			}
			jobs = append(jobs, job)
		}
		if size >= aheadMost || i == in.End-1 && size >= aheadLeast {
			wait()
			wait = in.mineAll(jobs, workers)
			jobs, size = nil, 0
		}
	}
	return wait
}

// isSource reports whether lines of a block may be on the page.
func (in *input) isSource(ref transcript.BlockRef) bool {
	if in.tooOld(ref) {
		return false
	}
	bf := in.Facts().Block(ref)
	if bf.Call == 0 {
		return true
	}
	return counts(bf.Kind, &in.Ledger().Entries[bf.Call-1])
}

// mineAll begins to mine blocks; wait returns when all are mined.
func (in *input) mineAll(jobs []mining, workers int) (wait func()) {
	working := conv.InParallel(len(jobs), workers, func(i int) { jobs[i].parts = mineTexts(jobs[i].texts) })
	return sync.OnceFunc(func() {
		working.Wait()
		for _, job := range jobs {
			if in.err == nil { // else some may be of what could not be read
				in.keepMined(job.ref, job.texts, job.parts)
			}
		}
	})
}
