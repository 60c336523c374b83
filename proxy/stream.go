package proxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/relay"
	"github.com/pleat-dev/pleat/internal/sse"
	"github.com/pleat-dev/pleat/model"
)

// stream is a reply that the client reads while the provider writes it: passed on as it
// comes, without our own calls, which are answered on the way.
type stream struct {
	mu      sync.Mutex // Close may be called while Read waits
	x       *exchange
	from    io.ReadCloser
	split   sse.Splitter
	relayed relay.Stream
	rec     recorder
	buf     []byte
	out     []byte
	replies []model.Reply // before the one that is under way
	ended   bool          // the client has got the end of the answer
	err     error
	next    chan sent // another request is under way
	settle  func()    // to be done before the end of the stream
	counted bool      // what this answer cost is on the account
	closed  bool
}

type sent struct {
	resp *http.Response
	err  error
}

func (x *exchange) stream(resp *http.Response) *http.Response {
	s := &stream{x: x, from: resp.Body, rec: x.req.on.record(), buf: replyChunks.Get()}
	s.split.Limit = x.rw.o.MaxEvent
	s.relayed = x.req.on.Stream(x.own())
	resp.Body, resp.ContentLength = s, -1
	resp.Header.Del("Content-Length")
	return resp
}

func (x *exchange) own() func(name string) bool {
	if x.turn == nil || x.turn.conv == nil || !x.req.hasTools() || x.rw.o.ObserveOnly {
		return func(string) bool { return false }
	}
	return x.turn.mode.own
}

// Read returns what there is for the client, and waits if there is nothing.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	for len(s.out) == 0 {
		if s.err != nil {
			s.x.finish(notEOF(s.err))
			return 0, s.err
		}
		s.more()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	s.x.first(n)
	return n, nil
}

// more waits for the provider's next bytes, or for a ping while a request is under way.
func (s *stream) more() {
	s.out = s.out[:0]
	s.x.idle.Reset(s.x.rw.o.Timeout)
	if s.next != nil {
		timer := time.NewTimer(s.x.rw.o.Ping)
		defer timer.Stop()
		select {
		case got := <-s.next:
			s.next = nil
			s.resume(got)
		case <-timer.C:
			s.out = append(s.out, s.x.req.on.Ping...)
		}
		return
	}
	s.record() // the client has its answer
	n, err := s.from.Read(s.buf)
	if n > 0 && !s.ended {
		if !s.x.takeFor(n) {
			s.fail(s.x.req.on.Refuse("overloaded_error", errMemory.Error()), errMemory)
			return
		}
		s.out = slices.Grow(s.out, n)
		s.rec.Write(s.buf[:n])
		if err := s.split.Feed(s.buf[:n], s.event); err != nil {
			s.fail(s.x.req.on.Refuse("api_error", err.Error()), err)
			return
		}
	}
	if err == nil || s.next != nil {
		return
	}
	if err != io.EOF && !s.ended {
		if !s.again(errReach) {
			s.cutOff(s.x.cause(err))
		}
		return
	}
	if !s.ended {
		rest, _ := s.split.Rest()
		s.out = append(s.out, rest...)
		s.over()
	}
	if s.next == nil && s.settle == nil && s.err == nil {
		s.err = io.EOF
	}
}

func (s *stream) event(raw, data []byte) {
	if s.ended || s.next != nil {
		return
	}
	out, over := s.relayed.Event(raw, data)
	s.out = append(s.out, out...)
	if over {
		s.over()
	}
}

// over is called at the end of an answer: the client gets its end, unless there is more
// to come.
func (s *stream) over() {
	x := s.x
	reply, err := s.count()
	if err == nil && reply.Err != nil && s.again(reply.Err) {
		return
	}
	if err != nil && len(s.replies) > 0 { // what the client has of the answers before must not look complete
		if !s.again(errReach) {
			s.fail(x.req.on.Refuse("overloaded_error", "the provider's answer broke off"), err)
		}
		return
	}
	if err == nil && reply.Err == nil {
		again, err := x.hide(x.ctx, reply)
		if body := x.tooLong(err); body != nil {
			s.say(body, err)
			return
		}
		if err != nil {
			body, _ := x.told(err, notKept)
			s.fail(body, err)
			return
		}
		if again {
			s.replies = append(s.replies, reply)
			s.send(0)
			return
		}
	}
	s.ended = true
	ctx := context.WithoutCancel(x.ctx) // the client has its answer and may go
	s.settle = func() { x.settle(ctx, s.replies, reply, err == nil && reply.Err == nil) }
	if x.hidden > 0 { // the client must not come back before what it did not see is kept
		s.record()
	}
	s.out = append(s.out, s.relayed.End()...)
}

// again sends the turn again after an error in an answer of which the client has nothing, if
// that can be mended or waited out.
func (s *stream) again(e *model.APIError) bool {
	if s.relayed.Begun() {
		return false
	}
	pause, again := s.x.pauseFor(e)
	if again = again || s.x.refused(e); again {
		s.send(pause)
	}
	return again
}

// count puts what this answer cost on the account, once, even if it is not complete.
func (s *stream) count() (reply model.Reply, err error) {
	if !s.counted {
		reply, err = s.rec.Reply()
		s.x.used(reply.Usage)
		s.counted = true
	}
	return reply, err
}

// record does what is left to do at the end of the answer.
func (s *stream) record() {
	if s.settle != nil {
		s.settle()
		s.settle = nil
	}
}

// say ends a stream with an error of the wire's own form.
func (s *stream) say(body []byte, err error) {
	s.out = append(s.out, s.x.req.on.ErrorEvent(body)...)
	s.ended, s.err, s.x.report.Err = true, io.EOF, err
}

// fail says what went wrong here and cuts the stream off: not all clients know such an error.
func (s *stream) fail(body []byte, err error) {
	if s.x.ctx.Err() == nil {
		s.say(body, err)
	}
	s.cutOff(s.x.cause(err))
}

// cutOff ends a stream with an error, so that the client sees that it is incomplete.
func (s *stream) cutOff(err error) {
	_, _ = s.count()
	s.ended, s.err = true, fmt.Errorf("reply broke off: %w", err)
	s.x.rw.o.Logger.Warn("a reply broke off", "err", err)
}

// send sends the turn again, after a pause, while the client waits.
func (s *stream) send(pause time.Duration) {
	_, _ = s.count()
	s.relayed.Next()
	s.from.Close()
	s.from = http.NoBody
	s.next = make(chan sent, 1)
	go func(next chan<- sent) {
		s.x.sleep(pause)
		resp, err := s.x.sendUntilTaken()
		next <- sent{resp, err}
	}(s.next)
}

// resume continues the stream with the answer to another request.
func (s *stream) resume(got sent) {
	if got.err != nil {
		s.cutOff(got.err)
		return
	}
	s.counted, s.from, s.rec = false, got.resp.Body, s.x.req.on.record()
	s.split = sse.Splitter{Limit: s.x.rw.o.MaxEvent}
	if got.resp.StatusCode < 400 && isStream(got.resp) {
		return
	}
	body, err := readAll(got.resp.Body, got.resp.ContentLength, maxError, s.x.take)
	if err != nil {
		s.cutOff(err)
		return
	}
	e := model.ClassifyError(got.resp.StatusCode, "", body)
	if e.Kind == model.ErrorUnknown {
		e.Message = "the provider's answer is no stream but " + cmp.Or(got.resp.Header.Get("Content-Type"), "untyped")
	}
	s.say(s.x.req.on.explain(e), e)
}

// Close ends the exchange: what is under way is cancelled and waited for.
func (s *stream) Close() error {
	s.x.cancel(context.Canceled)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	defer replyChunks.Put(s.buf)
	s.record() // some clients know the end when they see it
	if s.next == nil {
		_, _ = s.count()
	}
	err := s.from.Close()
	if s.next != nil {
		if got := <-s.next; got.resp != nil {
			got.resp.Body.Close()
		}
		s.next = nil
	}
	s.x.finish(notEOF(s.err))
	return err
}

// whole reads a complete reply and answers our calls in it before the client gets it. One that
// is too large for that is passed on as it comes.
func (x *exchange) whole(resp *http.Response) (*http.Response, error) {
	var bodies [][]byte
	var replies []model.Reply
	cut := false
	for {
		body, reply, err := x.readWhole(resp)
		if len(bodies) == 0 && (errors.Is(err, errTooLarge) || errors.Is(err, errMemory)) {
			resp.Body = &passing{
				x: x, from: closers{io.NopCloser(io.MultiReader(bytes.NewReader(body), resp.Body)), resp.Body},
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
		if x.report.Status = resp.StatusCode; resp.StatusCode >= 400 {
			resp.Body = &passing{x: x, from: resp.Body}
			return resp, nil
		}
	}
	if x.hidden > 0 || cut {
		bodies[0] = x.req.on.Join(bodies, x.own())
	}
	setBody(resp, bodies[0])
	resp.Body = &passing{x: x, from: resp.Body}
	return resp, nil
}

// readWhole reads a complete reply. One that cannot be understood has an error of its own.
func (x *exchange) readWhole(resp *http.Response) (body []byte, reply model.Reply, err error) {
	body, err = readAll(resp.Body, resp.ContentLength, int64(x.rw.o.MaxEvent), x.take)
	if err != nil {
		return body, reply, err
	}
	reply, err = x.req.on.reply(body)
	x.used(reply.Usage)
	if err != nil && reply.Err == nil {
		reply.Err = &model.APIError{Message: err.Error()}
	}
	return body, reply, nil
}
