package pleat

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// How many messages are prepared at a time, in bytes and number: enough to be worth
// starting others, and little enough to hold.
const (
	preparedLeast = 32 << 10
	preparedMost  = 1 << 20
	preparedCount = 64
)

// prepared is a message that was prepared, or why it cannot be.
type prepared struct {
	newMessage
	err error
}

// prepareSome prepares the first of msgs, on all processors if they are many: reading a
// message back and counting it depend on nothing but the message. It returns at least one.
func (s *Session) prepareSome(msgs []Message) []prepared {
	n, size := 0, 0
	for n < len(msgs) && n < preparedCount && size < preparedMost {
		size += len(msgs[n].Raw()) // without a wire form they are few and short
		n++
	}
	out := make([]prepared, n)
	one := func(i int) {
		out[i].newMessage, out[i].err = s.prepare(msgs[i])
		if t, ok := s.o.Tokens.(*Tokenizer); ok && out[i].err == nil { // others may not be safe for it
			out[i].count(t)
		}
	}
	workers := runtime.GOMAXPROCS(0)
	if size < preparedLeast {
		workers = 1
	}
	inParallel(n, workers, one).Wait()
	return out
}

// inParallel calls do for each i < n, in so many goroutines. All calls have returned when
// the group that it returns has been waited for.
func inParallel(n, workers int, do func(i int)) *sync.WaitGroup {
	var working sync.WaitGroup
	if workers = min(workers, n); workers < 2 {
		for i := range n {
			do(i)
		}
		return &working
	}
	var next atomic.Int64
	for range workers {
		working.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	return &working
}

// count notes how many tokens the blocks have.
func (n *newMessage) count(t *Tokenizer) {
	for i, b := range n.m.Blocks().All() {
		n.shapes[i].tokens, n.shapes[i].counted = t.CountBlock(b), true
	}
}
