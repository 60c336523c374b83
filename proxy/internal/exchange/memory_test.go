package exchange

import (
	"runtime"
	"testing"
)

// What many requests and replies took goes back to the system when the last of them is over.
func TestMemoryAfterBurst(t *testing.T) {
	rw := New(Options{Memory: 1 << 30})
	collected := func(each int64) uint32 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		xs := []*exchange{{rw: rw}, {rw: rw}}
		for _, x := range xs {
			if !x.take(each) {
				t.Fatal("no room")
			}
		}
		for _, x := range xs {
			x.release()
		}
		rw.closing.Wait()
		runtime.ReadMemStats(&after)
		return after.NumForcedGC - before.NumForcedGC
	}
	if few, many := collected(1<<20), collected(200<<20); few != 0 || many != 1 {
		t.Errorf("collected %d times after little, %d times after much", few, many)
	}
}
