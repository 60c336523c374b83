package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves one client over streams, a JSON object a line, until the input or ctx ends. A line
// that is no request gets an error for an answer and changes nothing else.
func Serve(ctx context.Context, srv *sdk.Server, in io.Reader, out io.Writer) error {
	passed, pass := io.Pipe()
	l := &lines{in: bufio.NewReader(in), passed: passed, pass: pass, out: out}
	err := srv.Run(ctx, l)
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

// lines passes on the lines that are messages: the SDK would end at the first one that is none.
type lines struct {
	in     *bufio.Reader
	passed io.ReadCloser // by pass, to the SDK
	pass   *io.PipeWriter
	open   sync.WaitGroup // requests that have not been answered

	mu  sync.Mutex
	out io.Writer
}

// Connect begins to read. Nothing interrupts a read from a terminal, so the end of the connection
// does not wait for that.
func (l *lines) Connect(ctx context.Context) (sdk.Connection, error) {
	go l.readAll()
	c, err := (&sdk.IOTransport{Reader: l.passed, Writer: l}).Connect(ctx)
	return answering{c, &l.open}, err
}

// answering is the connection of the SDK, and notes which requests were answered.
type answering struct {
	sdk.Connection
	open *sync.WaitGroup
}

func (a answering) Write(ctx context.Context, m jsonrpc.Message) error {
	err := a.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		a.open.Done()
	}
	return err
}

func (l *lines) readAll() {
	var end error
	for end == nil {
		var line []byte
		if line, end = l.next(); !l.accepts(line) {
			continue
		}
		if _, err := l.pass.Write(append(line, '\n')); err != nil { // the connection is closed
			return
		}
	}
	answered := make(chan struct{})
	go func() {
		l.open.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(lastAnswers):
	}
	_ = l.pass.CloseWithError(end)
}

// next reads a line. Of one that is too long it keeps only the beginning.
func (l *lines) next() (line []byte, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// accepts reports whether a line is a message. Any other line it answers, unless it is blank.
func (l *lines) accepts(line []byte) bool {
	m, err := jsonrpc.DecodeMessage(line)
	switch {
	case len(bytes.TrimSpace(line)) == 0:
	case len(line) > maxLine:
		l.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("a request has at most %d bytes", maxLine))
	case !json.Valid(line):
		l.refuse(jsonrpc.CodeParseError, "the line is not JSON")
	case err != nil:
		l.refuse(jsonrpc.CodeInvalidRequest, "the line is not a message of JSON-RPC 2.0")
	default:
		if request, ok := m.(*jsonrpc.Request); ok && request.IsCall() {
			l.open.Add(1)
		}
		return true
	}
	return false
}

// refuse answers a line that is not passed on.
func (l *lines) refuse(code int, why string) {
	_, _ = fmt.Fprintf(l, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, why)
}

// Write writes whole lines, of the SDK or of refuse.
func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(line)
}

func (l *lines) Close() error { return nil }
