// Package exchange answers the requests of clients. Each is read, finds its conversation, becomes a turn
// that is rewritten with the view of a session, and is sent. Calls of pleat's own tools in the answer are
// answered here, in hidden rounds; the rest of the answer passes to the client. Begin with
// exchange.run, and with Rewriter.rewrite for what happens between a request and its view.
package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// exchange is one request of a client: what came, what goes out for it, and what comes
// back.
type exchange struct {
	rw       *Rewriter
	in       *http.Request   // as the client sent it, for the upstream
	raw      []byte          // its body, undecoded
	kept     *httpbody.Lease // of the memory of raw
	on       *protocol.Protocol
	req      request
	turn     *turn         // nil if passed on unchanged
	neighbor *conversation // of a request without tools: the conversation it goes beside, nil if unknown

	ctx     context.Context
	cancel  context.CancelCauseFunc
	idle    *time.Timer
	report  Report
	began   model.Usage // of the first request that went out and was answered
	said    int         // output tokens of the last answer
	hidden  int
	replies []model.Reply // whose calls were answered here: what follows continues them
	retried int           // refusals that were mended
	pause   time.Duration // before the newest request that was tried again in a hidden round
	until   time.Time     // when it is no longer tried
	over    bool
	held    int64 // of the memory for what is under way
}

// request is a request of a client as it was decoded, who sends it, and what happens to it.
type request struct {
	*protocol.Request // nil if it was not understood
	from              lineage.Caller
	report            *Report
}

// RoundTrip sends a request to where its URL says, rewritten if it is one of ours.
func (rw *Rewriter) RoundTrip(r *http.Request) (*http.Response, error) {
	on, at := protocol.Route(r)
	if on == nil || r.Body == nil {
		return rw.unknown(r)
	}
	x := &exchange{rw: rw, in: r, on: on, report: Report{Format: on.Format, Began: rw.o.Now()}}
	x.req.report = &x.report
	x.ctx, x.cancel = context.WithCancelCause(r.Context())
	x.idle = time.AfterFunc(rw.o.Timeout, func() { x.cancel(httpbody.ErrIdle) })
	resp, err := x.run(at)
	if err != nil {
		x.report.Status = 0
		x.finish(err)
		return nil, x.cause(err)
	}
	return resp, nil
}

// unknown passes on a request to a path that belongs to no wire. A POST may be a
// conversation, and is reported.
func (rw *Rewriter) unknown(r *http.Request) (*http.Response, error) {
	began := rw.o.Now()
	resp, err := rw.o.Transport.RoundTrip(r)
	if r.Method != http.MethodPost {
		return resp, err
	}
	rw.WarnOnce("requests to this path are passed on, not compacted", r.URL.Path)
	x := &exchange{rw: rw, report: Report{Began: began, Passed: true, Sent: 1}}
	x.req.from.Scope.Tenant = rw.o.Principal(r, nil)
	if err == nil {
		x.report.Status = resp.StatusCode
	}
	x.sendReport(err)
	return resp, err
}

// notRead passes on a request that the proxy does not understand.
func (x *exchange) notRead(why string) (*http.Response, error) {
	x.report.Passed = true
	x.rw.WarnOnce("requests are passed on, not compacted: "+why, x.in.URL.Path)
	return x.pass()
}

// cause returns [httpbody.ErrIdle] for an error that came from the upstream's silence.
func (x *exchange) cause(err error) error {
	if cause := context.Cause(x.ctx); errors.Is(cause, httpbody.ErrIdle) && err != io.EOF {
		return cause
	}
	return err
}

// run takes a request from its bytes to the reply. It reads the request, makes it a turn of its session and
// sends the turn. A request that belongs to no session is sent unchanged. How a turn gets its view is in
// [Rewriter.rewrite], which begin calls once it has found the session.
func (x *exchange) run(at protocol.Address) (*http.Response, error) {
	resp, err := x.read(at)
	if resp == nil && err == nil {
		resp, err = x.begin(at.Counts)
	}
	switch {
	case resp != nil || err != nil:
		return resp, err
	case x.turn == nil:
		return x.pass()
	}
	return x.exchange()
}

// read decodes the request. A response means that the request was refused, or was passed on because it
// cannot be understood.
func (x *exchange) read(at protocol.Address) (*http.Response, error) {
	o, on := &x.rw.o, x.on
	var err error
	x.raw, err = httpbody.ReadAll(x.in.Body, x.in.ContentLength, o.MaxBody, x.take)
	x.in.Body.Close()
	if err != nil {
		return x.notTaken(err)
	}
	x.idle.Reset(o.Timeout)
	x.kept = httpbody.NewLease(x.raw)
	body, err := o.Decoders.Decompress(x.in.Header.Get("Content-Encoding"), x.raw, o.MaxBody, x.take)
	x.req.from.Scope = lineage.Scope{Tenant: o.Principal(x.in, body), Upstream: x.in.URL.Host, Format: on.Format}
	x.req.from.Hint, x.req.from.Child = lineage.Hint(x.in.Header)
	why := "they cannot be decompressed" // the provider says what is wrong with it
	if err == nil {
		x.report.BytesIn = len(body)
		why = "they cannot be read"
		x.req.Request, err = x.rw.known.Read(on, x.req.from.Hint, body, x.take)
	}
	switch {
	case errors.Is(err, httpbody.ErrTooLarge), errors.Is(err, httpbody.ErrMemory):
		return x.notTaken(err)
	case errors.Is(err, httpbody.ErrEncoding): // what cannot be read cannot be kept inside its window
		body := on.Refuse("invalid_request_error", "pleat cannot read the request: "+err.Error())
		resp := x.refuse(http.StatusUnsupportedMediaType, body)
		resp.Header["Accept-Encoding"] = o.Decoders.Names()
		return resp, nil
	case err != nil:
		return x.notRead(why)
	}
	x.req.Model = cmp.Or(x.req.Model, at.Model)
	x.report.Model, x.report.Messages = x.req.Model, len(x.req.Messages)
	if x.req.Partial || len(x.req.Messages) == 0 {
		return x.notRead("the provider holds their conversation")
	}
	return nil, nil
}

// notTaken answers a request that takes more memory than it may, or that broke off.
func (x *exchange) notTaken(err error) (*http.Response, error) {
	switch {
	case errors.Is(err, httpbody.ErrTooLarge):
		return x.refuse(http.StatusRequestEntityTooLarge, x.on.Refuse("request_too_large", err.Error())), nil
	case errors.Is(err, httpbody.ErrMemory):
		return x.refuse(http.StatusServiceUnavailable, x.on.Refuse("overloaded_error", err.Error()+"; try again later")), nil
	}
	return nil, fmt.Errorf("%w: %w", httpbody.ErrUnread, err)
}

// begin makes the turn that goes out; x.turn stays nil if the request goes out unchanged. A response means that
// nothing goes out. Requests without tools, such as for titles and summaries, and those that only count tokens
// get the folds of the conversation that they belong to and add nothing to it.
func (x *exchange) begin(counts bool) (resp *http.Response, err error) {
	begin := true
	if counts || !x.req.HasTools() {
		x.turn, x.neighbor, begin, err = x.rw.rewriteAside(x.ctx, x.req, counts)
		begin = begin && err == nil
	}
	if begin {
		if x.turn, err = x.rw.begin(x.ctx, x.req, true); x.turn != nil {
			x.hidden = x.turn.resumed
		}
	}
	if err != nil {
		if x.ctx.Err() != nil {
			return nil, context.Cause(x.ctx)
		}
		if resp = x.failed(err); resp != nil {
			return resp, nil
		}
	}
	x.report.Added = x.rw.o.Now().Sub(x.report.Began)
	return nil, nil
}

// pass sends the request unchanged and passes the reply on as it comes.
func (x *exchange) pass() (*http.Response, error) {
	out := x.in.Clone(x.ctx)
	x.kept.Send(out)
	out.Header.Set("Accept-Encoding", "identity")
	x.report.BytesOut = len(x.raw)
	x.report.Sent++
	resp, err := x.rw.o.Transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	x.report.Status = resp.StatusCode
	var read protocol.Recorder // of what it cost
	if resp.StatusCode < 300 && x.rw.o.Decoders.PlainReply(resp) == nil {
		if read = x.on.Record(); !isStream(resp) {
			read = &wholeRecorder{read: x.on.Reply, take: x.take}
		}
	}
	resp.Body = &passing{x: x, from: resp.Body, rec: read}
	return resp, nil
}

// exchange sends the turn and prepares the reply for the client.
func (x *exchange) exchange() (*http.Response, error) {
	resp, err := x.sendUntilAccepted()
	if err != nil {
		return nil, err
	}
	x.report.Status = resp.StatusCode
	switch {
	case resp.StatusCode >= 300:
		return x.passOn(resp, resp.Body), nil
	case httpbody.Packed(resp): // nobody asked for it, and it cannot be read
		x.rw.WarnOnce("replies are passed on unread: they are in an encoding that was not asked for", x.in.URL.Path)
		return x.passOn(resp, resp.Body), nil
	case isStream(resp):
		return x.stream(resp), nil
	}
	return x.whole(resp)
}

func isStream(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
}

// finish reports the exchange, once. The end of the reply is no error.
func (x *exchange) finish(err error) {
	if x.over {
		return
	}
	if err == io.EOF {
		err = nil
	}
	x.over = true
	if c := x.conversation(); c != nil && x.hidden > 0 { // the same request goes on after them, here or at a replica
		ctx, done := x.recordingContext()
		_ = c.behind.Wait(ctx) // its error is logged
		done()
	}
	x.release()
	x.idle.Stop()
	x.cancel(nil)
	x.sendReport(err)
	if x.req.Request != nil && x.req.Apart { // else the request's messages are in that memory
		x.kept.Leave()
	}
}

// sendReport makes the report and puts it on the bill.
func (x *exchange) sendReport(err error) {
	r := &x.report
	r.Took, r.Err, r.Hidden, r.Retried = x.rw.o.Now().Sub(r.Began), cmp.Or(err, r.Err), x.hidden, x.retried > 0
	if t := x.turn; t != nil {
		r.Hidden -= t.resumed
		r.Session, r.Folded, r.Snapshot, r.NoRecall = t.key, t.folded, t.meter, t.mode.Why
		if t.conv != nil {
			r.Session = t.conv.key
		}
	}
	x.charge()
	if x.rw.o.Report != nil {
		x.rw.o.Report(*r)
	}
}

// noteFirstByte notes when the first byte of the reply came.
func (x *exchange) noteFirstByte(n int) {
	if n > 0 && x.report.FirstAt == 0 {
		x.report.FirstAt = x.rw.o.Now().Sub(x.report.Began)
	}
}

// refuse answers instead of the provider.
func (x *exchange) refuse(status int, body []byte) *http.Response {
	x.report.Status = status
	x.finish(nil)
	resp := &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: x.in,
		Header: http.Header{"Content-Type": {"application/json"}},
	}
	httpbody.SetBody(resp, body)
	return resp
}
