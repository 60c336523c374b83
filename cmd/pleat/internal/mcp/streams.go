package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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

// take passes on a line that is a message, and answers any other, at which the SDK would end. It would also
// round an id that is not legal, so that the client does not know the answer.
func (r *requests) take(line []byte) {
	var parts map[string]json.RawMessage
	err := json.Unmarshal(line, &parts)
	m, wrong := jsonrpc.DecodeMessage(line)
	request, _ := m.(*jsonrpc.Request)
	id, given := parts["id"]
	if parts["method"] == nil || !legalID(id) { // the number in an answer is not one of a request
		id = []byte("null")
	}
	switch {
	case len(line) > maxLine:
		r.replies.refuse(id, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a request has at most %d bytes", maxLine))
	case !json.Valid(line):
		r.replies.refuse(id, jsonrpc.CodeParseError, "the line is not JSON")
	case err != nil || wrong != nil || request != nil && given && !legalID(parts["id"]):
		r.replies.refuse(id, jsonrpc.CodeInvalidRequest, "the line is not a message of JSON-RPC 2.0")
	default:
		if request != nil && request.IsCall() {
			r.pending.add(1)
		}
		r.line = append(bytes.TrimRight(line, "\r\n"), '\n') // the last one may have no end
	}
}

// legalID reports whether a request's id is a string, or an integer that survives as a floating-point number.
func legalID(id json.RawMessage) bool {
	const most = 1 << 53
	n, err := strconv.ParseInt(string(id), 10, 64)
	return bytes.HasPrefix(id, []byte(`"`)) || err == nil && -most <= n && n <= most
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
		m, _ := jsonrpc.DecodeMessage(line)
		if _, ok := m.(*jsonrpc.Response); ok {
			r.pending.add(-1)
		}
		r.rest = append([]byte(nil), rest...)
	}
}

// refuse answers a line that is not passed on.
func (r *replies) refuse(id json.RawMessage, code int, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, why)
}

func (*replies) Close() error { return nil }

// NewHandler serves a server over streamable HTTP. With a token every request needs it, as
// a bearer token. Without one only requests to this machine by its own names are answered:
// a web page that has another name lead here is refused, and so is a proxy that asks for
// others. Requests that a page of another origin makes are refused in any case.
func NewHandler(srv *sdk.Server, token string) http.Handler {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv },
		&sdk.StreamableHTTPOptions{SessionTimeout: time.Hour, DisableLocalhostProtection: token != ""})
	var tokens local.Tokens
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		ok, wait := token == "", time.Duration(0)
		if !ok && bearer {
			ok, wait = tokens.Check(r, given, token)
		}
		switch {
		case wait > 0:
			http.Error(w, local.TooMany(w.Header(), wait), http.StatusTooManyRequests)
		case !ok:
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
