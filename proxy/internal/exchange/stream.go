package exchange

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// stream is a reply that the client reads while the provider writes it: passed on as it
// comes, without our own calls, which are answered on the way.
type stream struct {
	mu      sync.Mutex // Close may be called while Read waits
	x       *exchange
	from    io.ReadCloser
	split   sse.Splitter
	relayed relay.Stream
	rec     protocol.Recorder // of the answer, nil once what it cost is on the account
	buf     []byte            // nil once the stream is closed
	out     []byte
	ended   bool // the client has got the end of the answer
	err     error
	next    chan sent // another request is under way
	settle  func()    // to be done before the end of the stream
}

type sent struct {
	resp *http.Response
	err  error
}

func (x *exchange) stream(resp *http.Response) *http.Response {
	s := &stream{x: x, from: resp.Body, rec: x.req.Protocol.Record(), buf: make([]byte, 32<<10)}
	s.split.Limit = x.rw.o.MaxEvent
	s.relayed = x.req.Protocol.Stream(x.own())
	resp.Body, resp.ContentLength = s, -1
	resp.Header.Del("Content-Length")
	return resp
}

func (x *exchange) own() func(name string) bool {
	if x.turn == nil || !x.req.HasTools() {
		return func(string) bool { return false }
	}
	return x.turn.mode.Own
}

// Read returns what there is for the client, and waits if there is nothing.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buf == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	for len(s.out) == 0 {
		if s.err != nil {
			s.x.finish(s.err)
			return 0, s.err
		}
		s.more()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	s.x.noteFirstByte(n)
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
			s.out = append(s.out, s.x.req.Protocol.Ping...)
		}
		return
	}
	s.record() // the client has its answer
	n, err := s.from.Read(s.buf)
	if n > 0 {
		if !s.ended && !s.x.take(int64(n)) {
			s.fail(s.x.req.Protocol.Refuse("overloaded_error", httpbody.ErrMemory.Error()), httpbody.ErrMemory)
			return
		}
		s.out = slices.Grow(s.out, n)
		if !s.ended {
			s.rec.Write(s.buf[:n])
		}
		if err := s.split.Feed(s.buf[:n], s.event); err != nil {
			s.fail(s.x.req.Protocol.Refuse("api_error", err.Error()), err)
			return
		}
	}
	if err == nil || s.next != nil || s.err != nil {
		return
	}
	if err != io.EOF && !s.ended {
		if !s.again(errReach) {
			s.cutOff(s.x.cause(err))
		}
		return
	}
	rest, data := s.split.Rest()
	if json.Valid(data) || string(data) == "[DONE]" { // only the line that ends the event is missing
		s.event(append(rest, "\n\n"...), data)
		rest = nil
	}
	switch {
	case s.ended:
		s.out = append(s.out, rest...)
	case s.next == nil:
		s.over(rest)
	}
	if s.next == nil && s.settle == nil && s.err == nil {
		s.err = io.EOF
	}
}

func (s *stream) event(raw, data []byte) {
	if s.next != nil || s.err != nil {
		return
	}
	if s.ended { // some servers write more
		s.out = append(s.out, raw...)
		return
	}
	out, over := s.relayed.Event(raw, bytes.TrimSpace(data))
	s.out = append(s.out, out...)
	if over {
		s.over(nil)
	}
}

// over is called at the end of an answer: the client gets its end, and the rest of its bytes,
// unless there is more to come.
func (s *stream) over(rest []byte) {
	x := s.x
	reply, err := s.count()
	if err == nil && reply.Err != nil && s.again(reply.Err) {
		return
	}
	if err != nil && len(x.replies) > 0 { // what the client has of the answers before must not look complete
		if !s.again(errReach) {
			s.fail(x.req.Protocol.Refuse("overloaded_error", "the provider's answer broke off"), err)
		}
		return
	}
	if err == nil && reply.Err == nil {
		again, err := x.answerOwnCalls(x.ctx, reply)
		if err != nil {
			if status, body := x.ownError(err, notKept); status == http.StatusBadRequest {
				s.say(body, err)
			} else {
				s.fail(body, err)
			}
			return
		}
		if again {
			s.send(0)
			return
		}
	}
	s.ended = true
	s.settle = func() {
		ctx, done := x.recordingContext()
		defer done()
		x.settle(ctx, reply, err == nil && reply.Err == nil)
	}
	if x.hidden > 0 { // the client must not come back before what it did not see is kept
		s.record()
	}
	s.out = append(append(s.out, rest...), s.relayed.End()...)
}

// again sends the turn again after an error in an answer of which the client has nothing, if
// that can be mended or waited out.
func (s *stream) again(e *model.APIError) bool {
	if s.relayed.Begun() {
		return false
	}
	pause, again := s.x.pauseFor(e)
	if again = again || s.x.mend(e); again {
		s.send(pause)
	}
	return again
}

// count puts what this answer cost on the account, once, even if it is not complete.
func (s *stream) count() (reply model.Reply, err error) {
	if s.rec != nil {
		reply, err = s.rec.Reply()
		s.x.addUsage(reply.Usage)
		s.rec = nil
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
	s.out = append(s.out, s.x.req.Protocol.ErrorEvent(body)...)
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
		var got sent
		got.err = fault.Caught(func() (err error) { // here nobody else can
			s.x.sleep(pause)
			got.resp, err = s.x.sendUntilAccepted()
			return err
		})
		next <- got
	}(s.next)
}

// resume continues the stream with the answer to another request.
func (s *stream) resume(got sent) {
	if got.err != nil {
		s.cutOff(got.err)
		return
	}
	s.from, s.rec = got.resp.Body, s.x.req.Protocol.Record()
	s.split = sse.Splitter{Limit: s.x.rw.o.MaxEvent}
	if got.resp.StatusCode < 300 && isStream(got.resp) {
		return
	}
	body, err := httpbody.ReadAll(got.resp.Body, got.resp.ContentLength, maxError, s.x.take)
	if err != nil {
		s.cutOff(err)
		return
	}
	e := model.ClassifyError(got.resp.StatusCode, "", body)
	if e.Kind == model.ErrorUnknown {
		e.Message = "the provider's answer is no stream but " + cmp.Or(got.resp.Header.Get("Content-Type"), "untyped")
	}
	s.say(s.x.req.Protocol.Explain(e), e)
}

// Close ends the exchange: what is under way is cancelled and waited for.
func (s *stream) Close() error {
	s.x.cancel(context.Canceled)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buf == nil {
		return nil
	}
	s.buf = nil
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
	s.x.finish(s.err)
	return err
}
