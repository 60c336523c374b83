package exchange

import (
	"runtime/debug"
)

// One bound covers what the proxy holds: the bodies of requests and replies under way, the
// sessions, and what is kept of earlier requests. Sessions make room for what is under way:
// those used least recently leave memory, and come back from the store.

// Memory returns how many bytes the proxy holds, by its own count, and how many it may.
func (rw *Rewriter) Memory() (used, limit int64) { return rw.flight.Load() + rw.kept(), rw.o.Memory }

// kept is what sessions and earlier requests take.
func (rw *Rewriter) kept() int64 { return rw.known.Bytes() + rw.pool.weight.Load() }

// fit drops sessions until everything fits, and reports whether it does.
func (rw *Rewriter) fit() bool {
	left := rw.o.Memory - rw.flight.Load()
	if left < 0 {
		return false // no session could make room for that
	}
	if rw.kept() <= left {
		return true
	}
	rw.pool.shrink(left - rw.known.Bytes())
	if rw.kept() > left {
		rw.known.Clear()
	}
	return true
}

// take takes memory for the exchange, which gives it back when it is over.
func (x *exchange) take(n int64) bool {
	if x.rw.flight.Add(n); !x.rw.fit() {
		x.rw.flight.Add(-n)
		return false
	}
	x.held += n
	if x.rw.flight.Load() > burst {
		x.rw.burst.Store(true)
	}
	return true
}

// burst is how much has to be under way at once for its memory to go back to the system as
// soon as all of it is over: left to the collector it stays for minutes.
const burst = 256 << 20

// step is how much memory is taken at once for what comes bit by bit.
const step = 64 << 10

// takeFor takes memory for n more bytes of a reply that comes bit by bit.
func (x *exchange) takeFor(n int) bool {
	if x.spare -= int64(n); x.spare >= 0 {
		return true
	}
	more := step - x.spare
	x.spare += more
	return x.take(more)
}

func (x *exchange) release() {
	left := x.rw.flight.Add(-x.held)
	x.held, x.spare = 0, 0
	x.rw.fit()
	if left == 0 && x.rw.burst.CompareAndSwap(true, false) {
		x.rw.closing.Go(debug.FreeOSMemory)
	}
}
