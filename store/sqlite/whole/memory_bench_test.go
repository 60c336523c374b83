package whole_test

import (
	"runtime"
	"testing"
)

// BenchmarkTinyMessages is how many bytes a proxy keeps of each message of a conversation whose
// messages have a few bytes.
func BenchmarkTinyMessages(b *testing.B) {
	const n = 40_000
	for b.Loop() {
		ours := newSides(b, 0, 1<<30)[1]
		ours.send(b)
		for range n / 2 {
			ours.talk.buf.WriteString(`,{"role":"assistant","content":"a"},{"role":"user","content":"b"}`)
		}
		before := liveHeap()
		ours.send(b)
		b.ReportMetric(float64(liveHeap()-before)/n, "bytes/message")
		b.ReportMetric(0, "ns/op")
	}
}

func liveHeap() uint64 {
	for range 3 { // pools are emptied bit by bit
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
