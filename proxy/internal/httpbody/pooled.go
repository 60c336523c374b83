package httpbody

import (
	"bytes"
	"io"
	"math/bits"
	"net/http"
	"sync"
	"sync/atomic"
)

// To get memory for a large request costs more than to read it. So the memory of one serves
// for the next, whoever sends it, once it is no longer read: neither the exchange nor a
// transport, which may read a body after its answer has come. Nothing that is kept of a
// request may point into it.

// Bytes of memory that is used again. Tests also reuse smaller pieces, and overwrite them, to find
// what is still read.
var (
	LeastRoom, mostRoom = 64 << 10, 16 << 20
	Garble              = func([]byte) {}
)

// rooms is unused memory, by size: four for each power of two, so that a small
// request holds no large room. The collector takes what is there for long.
var rooms [4 * bits.UintSize]sync.Pool

// roomOf returns the size of the smallest room for n bytes, and where such rooms are.
func roomOf(n int) (size int, free *sync.Pool) {
	shift := max(bits.Len(uint(n-1))-3, 0)
	eighths := (n-1)>>shift + 1
	return eighths << shift, &rooms[4*shift+eighths%4]
}

// NewRoom returns memory for n bytes. What is in it is another request's.
func NewRoom(n int) []byte {
	if n < LeastRoom || n > mostRoom {
		return make([]byte, 0, n)
	}
	size, free := roomOf(n)
	if b, ok := free.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, size)
}

// leaveRoom gives memory back that is no longer read.
func leaveRoom(b []byte) {
	if cap(b) < LeastRoom || cap(b) > mostRoom {
		return
	}
	if size, free := roomOf(cap(b)); size == cap(b) {
		Garble(b[:size])
		free.Put(&b)
	}
}

// chunks is memory for what is read of a reply at a time. It implements [httputil.BufferPool].
type chunks struct{ free sync.Pool }

const chunk = 32 << 10

var ReplyChunks chunks

func (c *chunks) Get() []byte {
	if b, ok := c.free.Get().(*[chunk]byte); ok {
		return b[:]
	}
	return make([]byte, chunk)
}

func (c *chunks) Put(b []byte) {
	Garble(b)
	c.free.Put((*[chunk]byte)(b))
}

// Lease counts the readers of a request's body.
type Lease struct {
	body  []byte
	users atomic.Int32
}

func NewLease(body []byte) *Lease {
	l := &Lease{body: body}
	l.users.Store(1)
	return l
}

func (l *Lease) Leave() {
	if l.users.Add(-1) == 0 {
		leaveRoom(l.body)
	}
}

// Send makes the body that of a request. The caller is one of its readers.
func (l *Lease) Send(r *http.Request) {
	if SetRequestBody(r, l.body); cap(l.body) < LeastRoom {
		return // net/http knows how to send a short one at once
	}
	r.GetBody = func() (io.ReadCloser, error) {
		for {
			switch n := l.users.Load(); {
			case n == 0:
				return nil, http.ErrBodyReadAfterClose
			case l.users.CompareAndSwap(n, n+1):
				return &leased{lease: l, rest: *bytes.NewReader(l.body)}, nil
			}
		}
	}
	r.Body, _ = r.GetBody()
}

// leased is a body on its way. A transport may close it while it reads.
type leased struct {
	mu    sync.Mutex
	lease *Lease // nil if closed
	rest  bytes.Reader
}

func (b *leased) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lease == nil && b.rest.Len() > 0 {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.rest.Read(p)
}

func (b *leased) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lease != nil {
		b.lease.Leave()
		b.lease = nil
	}
	return nil
}
