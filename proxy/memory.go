package proxy

import (
	"bytes"
	"runtime/debug"
)

// One bound covers what the proxy holds: the bodies of requests and replies under way, the
// sessions, and what is kept of earlier requests. Sessions make room for what is under way:
// those used least recently leave memory, and come back from the store.

// Memory is how many bytes a handler holds, by its own count, and how many it may.
type Memory struct {
	Used  int64 `json:"used"`
	Limit int64 `json:"limit"`
}

// Memory returns what the handler holds; see [Options.Memory].
func (h *Handler) Memory() Memory {
	return Memory{Used: h.rw.flight.Load() + h.rw.kept(), Limit: h.rw.o.Memory}
}

// kept is what sessions and earlier requests take.
func (rw *rewriter) kept() int64 { return rw.known.bytes() + rw.pool.weight.Load() }

// fit drops sessions until everything fits, and reports whether it does.
func (rw *rewriter) fit() bool {
	left := rw.o.Memory - rw.flight.Load()
	if left < 0 {
		return false // no session could make room for that
	}
	if rw.kept() <= left {
		return true
	}
	rw.pool.shrink(left - rw.known.bytes())
	if rw.kept() > left {
		rw.known.clear()
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

// perMessage is about what is kept of a message beside its bytes.
const perMessage = 400

// perPart is about what a message, and each of its blocks, takes beside its bytes while it is new.
const perPart = 2_000

// decodedSize is about what becomes of the end of a request's body that is new, beside its bytes. What is
// added to a conversation turn by turn is not worth counting.
func decodedSize(fresh []byte) int64 {
	if len(fresh) < 1<<20 {
		return 0
	}
	return perPart * int64(bytes.Count(fresh, []byte(`"role"`))+bytes.Count(fresh, []byte(`"type"`)))
}
