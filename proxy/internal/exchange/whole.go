package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// whole reads a complete reply and answers our calls in it before the client gets it. One that
// is too large for that is passed on as it comes.
func (x *exchange) whole(resp *http.Response) (*http.Response, error) {
	var bodies [][]byte
	var replies []model.Reply
	cut := false
	for {
		body, reply, err := x.readWhole(resp)
		if len(bodies) == 0 && (errors.Is(err, httpbody.ErrTooLarge) || errors.Is(err, httpbody.ErrMemory)) {
			resp.Body = &passing{
				x: x, from: httpbody.Closers{
					ReadCloser: io.NopCloser(io.MultiReader(bytes.NewReader(body), resp.Body)), From: resp.Body,
				},
			}
			return resp, nil
		}
		resp.Body.Close()
		if err != nil && !x.outwait(errReach) {
			return nil, fmt.Errorf("read reply: %w", err)
		}
		if err == nil {
			bodies = append(bodies, body)
			again, err := x.hide(x.ctx, reply)
			if body := x.tooLong(err); body != nil {
				return x.refuse(http.StatusBadRequest, body), nil
			}
			if err != nil && x.ctx.Err() == nil {
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
				x.settle(x.ctx, replies, reply, reply.Err == nil)
				break
			}
			replies = append(replies, reply)
		}
		if resp, err = x.sendUntilTaken(); err != nil {
			return nil, err
		}
		if x.report.Status = resp.StatusCode; resp.StatusCode >= 300 {
			resp.Body = &passing{x: x, from: resp.Body}
			return resp, nil
		}
	}
	if x.hidden > 0 || cut {
		bodies[0] = x.req.Protocol.Join(bodies, x.own())
	}
	httpbody.SetBody(resp, bodies[0])
	resp.Body = &passing{x: x, from: resp.Body}
	return resp, nil
}

// readWhole reads a complete reply. One that cannot be understood has an error of its own.
func (x *exchange) readWhole(resp *http.Response) (body []byte, reply model.Reply, err error) {
	body, err = httpbody.ReadAll(resp.Body, resp.ContentLength, int64(x.rw.o.MaxEvent), x.take)
	if err != nil {
		return body, reply, err
	}
	reply, err = x.req.Protocol.Reply(body)
	x.used(reply.Usage)
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
	p.x.first(n)
	if p.rec != nil {
		_, _ = p.rec.Write(b[:n]) // what it cannot read costs nothing
	}
	if err != nil {
		err = p.x.cause(err)
		p.finish(notEOF(err))
	}
	return n, err
}

func (p *passing) finish(err error) {
	if p.rec != nil {
		reply, err := p.rec.Reply()
		p.x.used(reply.Usage)
		p.rec = nil
		ctx, done := p.x.afterwards()
		defer done()
		p.x.settle(ctx, nil, reply, err == nil && reply.Err == nil)
	}
	p.x.finish(err)
}

func (p *passing) Close() error {
	p.finish(nil)
	return p.from.Close()
}
