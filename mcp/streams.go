package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves one client over streams, a JSON object a line, until the input or ctx ends.
func Serve(ctx context.Context, srv *sdk.Server, in io.Reader, out io.Writer) error {
	p := &pending{answered: make(chan struct{}, 1)}
	err := srv.Run(ctx, &sdk.IOTransport{Reader: &requests{in: in, pending: p}, Writer: &replies{out: out, pending: p}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) {
		return nil
	}
	return err
}

// lastAnswers is how long the end of the input waits for answers to what came before it,
// so that requests can be piped in from a file. Cancelled requests get none.
const lastAnswers = 10 * time.Second

// pending counts requests that have not been answered.
type pending struct {
	mu       sync.Mutex
	n        int
	answered chan struct{}
}

func (p *pending) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n += n; p.n <= 0 {
		select {
		case p.answered <- struct{}{}:
		default:
		}
	}
}

func (p *pending) wait() {
	limit := time.After(lastAnswers)
	for {
		p.mu.Lock()
		n := p.n
		p.mu.Unlock()
		if n <= 0 {
			return
		}
		select {
		case <-p.answered:
		case <-limit:
			return
		}
	}
}

// lines reads the messages that come in pieces, one a line.
type lines struct{ rest []byte }

// count returns how many of the messages that the next piece completes have an ID, and a
// method as requests have, or none as answers have.
func (l *lines) count(piece []byte, method bool) (n int) {
	l.rest = append(l.rest, piece...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return n
		}
		var m struct{ ID, Method json.RawMessage }
		if json.Unmarshal(line, &m) == nil && m.ID != nil && (m.Method != nil) == method {
			n++
		}
		l.rest = append([]byte(nil), rest...)
	}
}

// requests is the input.
type requests struct {
	in      io.Reader
	pending *pending
	lines   lines
}

func (r *requests) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	r.pending.add(r.lines.count(b[:n], true))
	if n == 0 && errors.Is(err, io.EOF) {
		r.pending.wait()
	} else if n > 0 {
		err = nil // it comes again
	}
	return n, err
}

func (*requests) Close() error { return nil }

// replies is the output.
type replies struct {
	out     io.Writer
	pending *pending
	lines   lines
}

func (r *replies) Write(b []byte) (int, error) {
	n, err := r.out.Write(b)
	r.pending.add(-r.lines.count(b[:n], false))
	return n, err
}

func (*replies) Close() error { return nil }
