package pleat

import (
	"runtime"
	"sync"
)

// mining is a block that is being mined.
type mining struct {
	ref   BlockRef
	texts []blockPart
	parts []minedPart
}

// How much text is mined at a time: enough to be worth starting others, and little enough
// to hold.
const (
	aheadLeast = 64 << 10
	aheadMost  = 2 << 20
)

// mineAhead mines what the page will ask for, on all processors: most of the time that
// writing a page takes. It changes nothing but how long that is. The last of it is done
// when the function that it returns is called, which must not be left out.
func (in *pageInput) mineAhead() (wait func()) {
	s := in.s
	wait = func() {}
	workers := runtime.GOMAXPROCS(0)
	if workers < 2 || in.room.plain || in.narrative != nil {
		return wait
	}
	var jobs []mining
	size := 0
	for i := in.mined; i < in.end; i++ {
		for b := range s.facts[i].blocks {
			ref := BlockRef{i, b}
			if _, ok := s.mines[ref]; ok || !in.isSource(ref) || s.unanswered(ref) {
				continue
			}
			job := mining{ref: ref, texts: s.textsOf(ref)}
			for _, t := range job.texts {
				size += len(t.text)
			}
			jobs = append(jobs, job)
		}
		if size >= aheadMost || i == in.end-1 && size >= aheadLeast {
			wait()
			wait = s.mineAll(jobs, workers)
			jobs, size = nil, 0
		}
	}
	return wait
}

// isSource reports whether lines of a block may stand on the page.
func (in *pageInput) isSource(ref BlockRef) bool {
	bf := &in.s.facts[ref.Message].blocks[ref.Block]
	if bf.call == 0 {
		return true
	}
	e := in.s.ledger.Entry(int(bf.call))
	return counts(bf.kind, &e)
}

// mineAll begins to mine blocks. All are mined when the function that it returns has
// returned.
func (s *miner) mineAll(jobs []mining, workers int) (wait func()) {
	working := inParallel(len(jobs), workers, func(i int) { jobs[i].parts = mineTexts(jobs[i].texts) })
	return sync.OnceFunc(func() {
		working.Wait()
		for _, job := range jobs {
			s.keepMined(job.ref, job.texts, job.parts)
		}
	})
}
