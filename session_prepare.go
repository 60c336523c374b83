package pleat

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// How many messages are prepared at a time, in bytes and number: enough to be worth
// starting others, and little enough to hold.
const (
	preparedLeast = 32 << 10
	preparedMost  = 1 << 20
	preparedCount = 64
)

type prepared struct {
	newMessage
	err error
}

// prepareSome prepares the first of msgs, on all processors if they are many: reading a
// message back and counting it depend on nothing but the message. It returns at least one.
func (s *Session) prepareSome(msgs []transcript.Message) []prepared {
	n, size := 0, 0
	for n < len(msgs) && n < preparedCount && size < preparedMost {
		size += len(msgs[n].Raw()) // 0 for messages that came off no wire: those are bounded by number
		n++
	}
	out := make([]prepared, n)
	one := func(i int) {
		out[i].err = fault.Caught(func() (err error) { // nobody could recover where a codec panics
			out[i].newMessage, err = s.prepare(msgs[i])
			return err
		})
		if t, ok := s.o.Tokens.(*tokens.Tokenizer); ok && out[i].err == nil { // others may not be safe for it
			out[i].count(t)
		}
	}
	workers := min(runtime.GOMAXPROCS(0), n)
	if size < preparedLeast {
		workers = 1
	}
	var next atomic.Int64
	var others sync.WaitGroup
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			one(i)
		}
	}
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return out
}

// count notes how many tokens the blocks have.
func (n *newMessage) count(t *tokens.Tokenizer) {
	for i, b := range n.m.Blocks().All() {
		n.shapes[i].Tokens, n.shapes[i].Counted = t.CountBlock(b), true
	}
}
