package mcp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pleat-dev/pleat/internal/local"
)

// Serve serves one client over streams, a JSON object a line, until the input or ctx ends. A line
// that is no request gets an error for an answer and changes nothing else.
func Serve(ctx context.Context, srv *sdk.Server, in io.Reader, out io.Writer) error {
	p := &pending{answered: make(chan struct{}, 1)}
	answers := &replies{out: out, pending: p}
	err := srv.Run(ctx, &sdk.IOTransport{
		Reader: &requests{in: bufio.NewReader(in), pending: p, replies: answers}, Writer: answers,
	})
	if ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) {
		return nil
	}
	return err
}

const (
	// lastAnswers is how long the end of the input waits for answers to what came before it,
	// so that requests can be piped in from a file. Cancelled requests get none.
	lastAnswers = 10 * time.Second
	maxLine     = 4 << 20 // bytes of a request
)

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

// message is what is looked at of a line.
type message struct {
	Version    string          `json:"jsonrpc"`
	ID, Method json.RawMessage // requests have both, answers have no method
}

// requests is the input, a line at a time.
type requests struct {
	in      *bufio.Reader
	pending *pending
	replies *replies
	line    []byte // the rest of it
	read    sync.Mutex
}

func (r *requests) Read(b []byte) (int, error) {
	r.read.Lock()
	defer r.read.Unlock()
	for len(r.line) == 0 {
		line, err := r.next()
		if len(bytes.TrimSpace(line)) > 0 {
			r.take(line)
		}
		if err != nil && len(r.line) == 0 {
			r.pending.wait()
			return 0, err
		}
	}
	n := copy(b, r.line)
	r.line = r.line[n:]
	return n, nil
}

// take passes on a line that is a message, and answers any other.
func (r *requests) take(line []byte) {
	var m message
	switch err := json.Unmarshal(line, &m); {
	case len(line) > maxLine:
		r.replies.refuse(-32600, fmt.Sprintf("a request has at most %d bytes", maxLine))
	case !json.Valid(line):
		r.replies.refuse(-32700, "the line is not JSON")
	case err != nil || m.Version != "2.0" || m.ID == nil && m.Method == nil:
		r.replies.refuse(-32600, "the line is not a message of JSON-RPC 2.0")
	default:
		if m.ID != nil && m.Method != nil {
			r.pending.add(1)
		}
		r.line = append(bytes.TrimRight(line, "\r\n"), '\n') // the last one may have no end
	}
}

// next reads a line. Of one that is too long it keeps only the beginning.
func (r *requests) next() (line []byte, err error) {
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (*requests) Close() error { return nil }

type replies struct {
	mu      sync.Mutex
	out     io.Writer
	pending *pending
	rest    []byte // of a message that is not complete
}

func (r *replies) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.out.Write(b)
	r.rest = append(r.rest, b[:n]...)
	for {
		line, rest, ok := bytes.Cut(r.rest, []byte("\n"))
		if !ok {
			return n, err
		}
		var m message
		if json.Unmarshal(line, &m) == nil && m.ID != nil && m.Method == nil {
			r.pending.add(-1)
		}
		r.rest = append([]byte(nil), rest...)
	}
}

// refuse answers a line that no request was found in.
func (r *replies) refuse(code int, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, why)
}

func (*replies) Close() error { return nil }

// NewHandler serves a server over streamable HTTP. With a token every request needs it, as
// a bearer token. Without one only requests to this machine by its own names are answered:
// a web page that has another name lead here is refused, and so is a proxy that asks for
// others. Requests that a page of another origin makes are refused in any case.
func NewHandler(srv *sdk.Server, token string) http.Handler {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv },
		&sdk.StreamableHTTPOptions{SessionTimeout: time.Hour, DisableLocalhostProtection: token != ""})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case token != "" && !hasToken(r, token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
		case token == "" && !local.Name(r.Host):
			http.Error(w, "requests must name this machine: localhost or its address", http.StatusForbidden)
		case token == "" && local.Forwarded(r):
			http.Error(w, "a proxy asks for somebody else; that needs a token", http.StatusForbidden)
		case !local.SameOrigin(r):
			http.Error(w, "requests of other origins are refused", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// hasToken compares in a time that does not depend on the token.
func hasToken(r *http.Request, token string) bool {
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(token))
	return ok && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
