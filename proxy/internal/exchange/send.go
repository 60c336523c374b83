package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// send sends the turn.
func (x *exchange) send(ctx context.Context) (*http.Response, error) {
	out := x.in.Clone(ctx)
	body := x.turn.out
	if len(body) == len(x.req.Body) && &body[0] == &x.req.Body[0] {
		body = x.raw // in the client's own encoding
		x.kept.Send(out)
	} else {
		out.Header.Del("Content-Encoding")
		x.held += int64(len(body)) // it is there already
		x.rw.flight.Add(int64(len(body)))
		httpbody.SetRequestBody(out, body)
	}
	out.Header.Set("Accept-Encoding", "identity")
	if x.turn.drop && x.req.Protocol == protocol.Messages {
		betas := strings.Join(out.Header.Values("Anthropic-Beta"), ",")
		if !strings.Contains(betas, anthropic.BindingBeta) {
			out.Header.Set("Anthropic-Beta", strings.TrimPrefix(betas+","+anthropic.BindingBeta, ","))
		}
	}
	x.report.BytesOut += len(body)
	x.report.Sent++
	resp, err := x.rw.o.Transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	if err := x.rw.o.Decoders.PlainReply(resp); err != nil && (x.hidden > 0 || !errors.Is(err, httpbody.ErrEncoding)) {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// sendUntilAccepted sends the turn, and again if a refusal can be mended or waited out.
func (x *exchange) sendUntilAccepted() (*http.Response, error) {
	for {
		resp, err := x.send(x.ctx)
		if err == nil && resp.StatusCode < 400 {
			return resp, nil
		}
		e := errReach
		if err == nil {
			body, failed := httpbody.ReadAll(resp.Body, resp.ContentLength, maxError, x.take)
			resp.Body.Close()
			if failed != nil {
				return nil, fmt.Errorf("read refusal: %w", failed)
			}
			httpbody.SetBody(resp, body)
			e = model.ClassifyError(resp.StatusCode, resp.Header.Get("Retry-After"), body)
		}
		if !x.mend(e) && !x.waitOut(e) {
			return resp, err
		}
	}
}

// errReach is the error for an upstream that was not reached, or whose reply broke off.
var errReach = &model.APIError{Kind: model.ErrorServer}

// pauseFor says how long to wait before the turn is sent again after an error. Outside of
// hidden rounds, and for what does not pass, it is not: clients do that as they see fit, but
// they do not know of hidden rounds.
func (x *exchange) pauseFor(e *model.APIError) (pause time.Duration, again bool) {
	if !e.Retryable() || x.hidden == x.turn.resumed || x.ctx.Err() != nil {
		return 0, false
	}
	most, now := x.rw.o.Patience, x.rw.o.Now()
	if x.until.IsZero() {
		x.until = now.Add(most)
	}
	x.pause = max(2*x.pause, most/128)
	pause = max(x.pause, e.Wait(now))
	return pause, !now.Add(pause).After(x.until)
}

// waitOut waits before the turn is sent again, if it should be.
func (x *exchange) waitOut(e *model.APIError) (again bool) {
	pause, again := x.pauseFor(e)
	if again {
		x.sleep(pause)
	}
	return again
}

func (x *exchange) sleep(pause time.Duration) {
	if pause == 0 {
		return
	}
	x.idle.Reset(pause + x.rw.o.Timeout)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.ctx.Done():
	}
}

// maxError is how large the body of a refusal may be.
const maxError = 8 << 20

// mend reacts to an error of the provider: to a prompt that is too long as often as the
// policy says; one that does not say means once. It reports whether the turn should be sent again:
// folded harder, or with permission to drop thinking.
func (x *exchange) mend(e *model.APIError) (again bool) {
	tooLong := e.Overflow() && x.retried < max(x.rw.o.Policy.Retries, 1)
	unbound := e.Kind == model.ErrorThinkingBinding && !x.turn.drop
	if !tooLong && !unbound || x.turn.conv == nil {
		return false
	}
	if tooLong {
		x.retried++
	}
	log := x.rw.o.Logger.With("session", x.turn.conv.key.String(), "kind", e.Kind.String())
	t := x.turn
	err := x.rw.onTurn(x.ctx, t, func(c *conversation) (err error) {
		v := inside.Of(c.sess).CurrentView()
		if tooLong {
			v, err = t.view(func(s *pleat.Session) (transcript.View, error) { return s.Refused(x.ctx, e) })
		} else {
			err = c.record(x.ctx, []string{""}, &lineage.Mark{Mode: c.track.Mode, Drop: true}, time.Time{})
		}
		if err != nil {
			return err
		}
		return x.rw.write(x.ctx, t, v)
	})
	if err != nil {
		log.Warn("the provider refused a request and it could not be mended", "err", err)
		return false
	}
	log.Info("the provider refused a request; sent again")
	return true
}

// whole reads a complete reply and answers our calls in it before the client gets it. One that
// is too large for that is passed on as it comes.
func (x *exchange) whole(resp *http.Response) (*http.Response, error) {
	var bodies [][]byte
	cut := false
	for {
		body, reply, err := x.readWhole(resp)
		if len(bodies) == 0 && (errors.Is(err, httpbody.ErrTooLarge) || errors.Is(err, httpbody.ErrMemory)) {
			both := io.NopCloser(io.MultiReader(bytes.NewReader(body), resp.Body))
			return x.passOn(resp, httpbody.Closers{ReadCloser: both, From: resp.Body}), nil
		}
		resp.Body.Close()
		if err != nil && !x.waitOut(errReach) {
			return nil, fmt.Errorf("read reply: %w", err)
		}
		if err == nil {
			bodies = append(bodies, body)
			again, err := x.answerOwnCalls(x.ctx, reply)
			if err != nil && (x.ctx.Err() == nil || errors.Is(err, errRounds)) {
				x.rw.o.Logger.Error("a hidden round could not be kept", fault.Log(err)...)
				x.report.Err = err
				return x.cannotFold(err, notKept), nil
			}
			if err != nil {
				return nil, err
			}
			if !again {
				if cut = severed(reply, x.own()); reply.Err != nil {
					x.report.Err = reply.Err
				}
				x.settle(x.ctx, reply, reply.Err == nil)
				break
			}
		}
		if resp, err = x.sendUntilAccepted(); err != nil {
			return nil, err
		}
		if x.report.Status = resp.StatusCode; resp.StatusCode >= 300 {
			return x.passOn(resp, resp.Body), nil
		}
	}
	if x.hidden > 0 || cut {
		bodies[0] = x.req.Protocol.Join(bodies, x.own())
	}
	httpbody.SetBody(resp, bodies[0])
	return x.passOn(resp, resp.Body), nil
}

// passOn gives a reply a body that is passed on as it comes.
func (x *exchange) passOn(resp *http.Response, from io.ReadCloser) *http.Response {
	resp.Body = &passing{x: x, from: from}
	return resp
}

// readWhole reads a complete reply. One that cannot be understood has an error of its own.
func (x *exchange) readWhole(resp *http.Response) (body []byte, reply model.Reply, err error) {
	body, err = httpbody.ReadAll(resp.Body, resp.ContentLength, int64(x.rw.o.MaxEvent), x.take)
	if err != nil {
		return body, reply, err
	}
	reply, err = x.req.Protocol.Reply(body)
	x.addUsage(reply.Usage)
	if err != nil && reply.Err == nil {
		reply.Err = &model.APIError{Message: err.Error()}
	}
	return body, reply, nil
}

// passing is a reply that is passed on as it comes.
type passing struct {
	x    *exchange
	from io.ReadCloser
	rec  protocol.Recorder // reads what it cost, nil if that is not recorded
}

func (p *passing) Read(b []byte) (int, error) {
	p.x.idle.Reset(p.x.rw.o.Timeout)
	n, err := p.from.Read(b)
	p.x.noteFirstByte(n)
	if p.rec != nil {
		_, _ = p.rec.Write(b[:n]) // what it cannot read costs nothing
	}
	if err != nil {
		err = p.x.cause(err)
		p.finish(err)
	}
	return n, err
}

func (p *passing) finish(err error) {
	if p.rec != nil {
		reply, err := p.rec.Reply()
		p.x.addUsage(reply.Usage)
		p.rec = nil
		ctx, done := p.x.recordingContext()
		defer done()
		p.x.settle(ctx, reply, err == nil && reply.Err == nil)
	}
	p.x.finish(err)
}

func (p *passing) Close() error {
	p.finish(nil)
	return p.from.Close()
}
