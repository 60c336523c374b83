package call

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
)

// answer is a response in the course of being read.
type answer struct {
	c    *caller
	resp *http.Response
	wire Wire
	body *bufio.Reader
}

// form reports whether the answer comes whole or as a stream, and whether it is one. Some servers send one
// piece although they were asked for a stream, and some send the wrong content type for either.
func (a *answer) form() (whole, ok bool) {
	typ, _, _ := mime.ParseMediaType(a.resp.Header.Get("Content-Type"))
	switch {
	case typ == "text/event-stream":
		return false, true
	case typ == "application/json", strings.HasSuffix(typ, "+json"):
		return true, true
	case typ == "text/html", strings.HasPrefix(typ, "image/"):
		return false, false
	}
	first, err := a.body.Peek(1)
	return err == nil && first[0] == '{', true
}

func (a *answer) stream(
	ctx, watched context.Context, timer *time.Timer, sink func(model.Delta),
) (model.Reply, *failure) {
	rec := a.wire.Record(sink, a.c.limit())
	buf := make([]byte, 32<<10)
	left := overhead * int64(a.c.limit())
	var readErr error
	for readErr == nil && left > 0 {
		var n int
		n, readErr = a.body.Read(buf)
		rec.Write(buf[:n])
		left -= int64(n)
		if rec.Done() { // only the end is missing, which lets the connection be used again
			timer.Reset(lastWords)
			left = min(left, 1<<10)
		}
	}
	reply, err := rec.Reply()
	switch {
	case reply.Err != nil:
		return reply, a.reported(reply.Err)
	case err == nil:
		return reply, nil
	case errors.Is(err, wire.ErrTooLarge):
		return reply, &failure{err: err}
	case left <= 0:
		return reply, &failure{err: fmt.Errorf("%w: the stream does not end", wire.ErrTooLarge)}
	}
	return reply, a.brokeOff(ctx, watched, readErr, err)
}

// whole reads an answer that comes in one piece. A sink gets its blocks as pieces.
func (a *answer) whole(ctx, watched context.Context, sink func(model.Delta)) (model.Reply, *failure) {
	limit := a.c.limit()
	body, err := io.ReadAll(io.LimitReader(a.body, int64(limit)+1))
	switch {
	case err != nil:
		return model.Reply{}, a.brokeOff(ctx, watched, err, io.ErrUnexpectedEOF)
	case len(body) > limit:
		return model.Reply{}, &failure{err: fmt.Errorf("%w: more than %d bytes", wire.ErrTooLarge, limit)}
	}
	reply, err := a.wire.Decode(body)
	switch {
	case err != nil:
		return reply, &failure{err: err}
	case reply.Err != nil:
		return reply, a.reported(reply.Err)
	}
	if sink != nil {
		reply.Stream(sink)
	}
	return reply, nil
}

// reported is an error that the server sent inside an answer.
func (a *answer) reported(e *model.APIError) *failure {
	a.identify(e)
	e.Message, e.Body = string(a.c.redact([]byte(e.Message))), a.c.redact(e.Body)
	return &failure{err: e, again: e.Retryable(), wait: e.Wait(time.Now())}
}

// maxErrorBody bounds how much of an error is read.
const maxErrorBody = 1 << 20

func (a *answer) refusal() *failure {
	h := a.resp.Header
	body, _ := io.ReadAll(io.LimitReader(a.body, maxErrorBody)) // if it breaks off, the status still counts
	e := model.ClassifyError(a.resp.StatusCode, h.Get("Retry-After"), a.c.redact(body))
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		e.RetryAfter, e.RetryAt = time.Duration(ms*float64(time.Millisecond)), time.Time{}
	}
	a.identify(e)
	f := &failure{err: e, again: e.Retryable(), wait: e.Wait(time.Now())}
	switch h.Get("X-Should-Retry") {
	case "true":
		f.again = !e.Overflow() // the same bytes stay too long
	case "false":
		f.again = false
	}
	return f
}

func (a *answer) identify(e *model.APIError) {
	h := a.resp.Header
	e.RequestID = cmp.Or(e.RequestID, h.Get("Request-Id"), h.Get("X-Request-Id"))
}

// redact takes the key out of what the server says.
func (c *caller) redact(body []byte) []byte {
	if len(c.Key) < 4 {
		return body
	}
	return bytes.ReplaceAll(body, []byte(c.Key), []byte("[key]"))
}

func (a *answer) redirect() *failure {
	where := "elsewhere"
	if u, err := a.resp.Location(); err == nil {
		where = "to " + (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	return &failure{err: fmt.Errorf("status %d: the server at %s sends on %s, "+
		"which is not followed [hint: if that is right, set the base URL to it]",
		a.resp.StatusCode, a.resp.Request.URL.Host, where)}
}

func (a *answer) notAnAnswer() *failure {
	return &failure{err: fmt.Errorf("the server at %s answered with %s instead of a model's answer "+
		"[hint: check the base URL]", a.resp.Request.URL.Host, a.resp.Header.Get("Content-Type"))}
}

// ended is the failure of a context that is over: by the caller, or by silence of the server.
func ended(ctx, watched context.Context) *failure {
	switch {
	case ctx.Err() != nil:
		return &failure{err: ctx.Err()}
	case watched.Err() != nil:
		return &failure{err: context.Cause(watched), again: true}
	}
	return nil
}

func (a *answer) brokeOff(ctx, watched context.Context, read, record error) *failure {
	if f := ended(ctx, watched); f != nil {
		f.err = fmt.Errorf("answer broke off: %w", f.err)
		return f
	}
	if read != nil && !errors.Is(read, io.EOF) && !errors.Is(read, io.ErrUnexpectedEOF) {
		record = fmt.Errorf("%w: %w", read, record)
	}
	return &failure{err: fmt.Errorf("answer broke off: %w: %w", io.ErrUnexpectedEOF, record), again: true}
}

func unsent(ctx, watched context.Context, host string, err error) *failure {
	if f := ended(ctx, watched); f != nil {
		return f
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = fmt.Errorf("reach %s: %w", host, u.Err)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return &failure{
			err: fmt.Errorf("%w [hint: nothing listens there; start the server or check the base URL]", err),
		}
	}
	return &failure{err: err, again: !hopeless(err)}
}

// hopeless reports whether another try to connect would fail for the same reason.
func hopeless(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound ||
		errors.As(err, new(x509.HostnameError)) || // the certificate is another server's,
		errors.As(err, new(x509.UnknownAuthorityError)) || // nobody vouches for it,
		errors.As(err, new(x509.CertificateInvalidError)) // or it is not valid any more
}
