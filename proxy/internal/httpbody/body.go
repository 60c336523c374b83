// Package httpbody reads bodies of requests and replies within limits, undoes their encodings, and uses
// the memory of large ones again.
package httpbody

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// ErrUnread says that a client's request broke off.
var ErrUnread = errors.New("read request")

// ErrIdle ends requests whose upstream fell silent.
var ErrIdle = errors.New("the upstream was silent for too long")

var ErrTooLarge = errors.New("the request is larger than the proxy takes")

// ErrMemory says that what is under way takes all the memory that it may.
var ErrMemory = errors.New("the proxy has no memory left")

// ReadAll reads at most limit bytes. Size is how many to expect, if that is known. Anybody can
// announce a large size, so the buffer grows with what comes: to at most 64 times as much.
// Take is asked for more memory before it grows; it may get a quarter more. With ErrTooLarge and ErrMemory
// it returns what it has read.
func ReadAll(r io.Reader, size, limit int64, take func(n int64) bool) (buf []byte, err error) {
	if size > limit {
		return nil, ErrTooLarge
	}
	for {
		if len(buf) == cap(buf) {
			have := int64(len(buf))
			more := max(have, 64<<10)
			if rest := size + 1 - have; size > 0 && rest > 0 { // one byte more finds the end
				more = min(max(63*have, 64<<10), rest)
			}
			more = min(more, limit+1-have)
			if !take(more) {
				return buf, ErrMemory
			}
			small := buf
			buf = append(newRoom(int(have+more)), small...)
			leaveRoom(small)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return buf, ErrTooLarge
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}

// Decoders undo content encodings by their names in lower case.
type Decoders map[string]func(packed io.Reader) (io.ReadCloser, error)

var ErrEncoding = errors.New("no decoder for content encoding")

// Names lists the encodings.
func (d Decoders) Names() []string { return slices.Sorted(maps.Keys(d)) }

// open undoes the content encoding of a body. With errEncoding nothing was read.
func (d Decoders) open(encoding string, body io.ReadCloser) (io.ReadCloser, error) {
	name := strings.ToLower(encoding)
	if name == "" || name == "identity" {
		return body, nil
	}
	decode, ok := d[name]
	if !ok {
		have := strings.Join(d.Names(), ", ")
		return nil, fmt.Errorf("%w %q (Options.Decoders has %s)", ErrEncoding, encoding, have)
	}
	r, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", encoding, err)
	}
	return Closers{r, body}, nil
}

// maxRatio is how many times its compressed size a request may become: text that people and
// programs write does not shrink to a hundredth.
const maxRatio = 100

// Decompress undoes the content encoding of a request.
func (d Decoders) Decompress(
	encoding string, body []byte, limit int64, take func(n int64) bool,
) ([]byte, error) {
	if encoding == "" {
		return body, nil
	}
	r, err := d.open(encoding, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	plain, err := ReadAll(r, 0, min(limit, maxRatio*int64(len(body))+1<<20), take)
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", encoding, err)
	}
	return plain, nil
}

type Closers struct {
	io.ReadCloser
	From io.Closer
}

func (c Closers) Close() error { return errors.Join(c.ReadCloser.Close(), c.From.Close()) }

// PlainReply undoes the content encoding of a reply that has to be read here.
func (d Decoders) PlainReply(resp *http.Response) error {
	r, err := d.open(resp.Header.Get("Content-Encoding"), resp.Body)
	if err != nil {
		return fmt.Errorf("read reply: %w", err)
	}
	if r != resp.Body {
		resp.Body, resp.ContentLength = r, -1
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
	}
	return nil
}

// Packed reports whether a reply is still in an encoding.
func Packed(resp *http.Response) bool {
	name := resp.Header.Get("Content-Encoding")
	return name != "" && !strings.EqualFold(name, "identity")
}

// SetBody gives a reply a body that was made here.
func SetBody(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	resp.TransferEncoding = nil
}

// SetRequestBody gives a request a body that was made here.
func SetRequestBody(r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.ContentLength, r.TransferEncoding = int64(len(body)), nil
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
}

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

// newRoom returns memory for n bytes. What is in it is another request's.
func newRoom(n int) []byte {
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
