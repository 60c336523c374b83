package exchange

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
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
		addBeta(out.Header, anthropic.BindingBeta)
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

// addBeta adds a value to the anthropic-beta header, unless it is there already.
func addBeta(h http.Header, value string) {
	for v := range strings.SplitSeq(strings.Join(h.Values("Anthropic-Beta"), ","), ",") {
		if strings.TrimSpace(v) == value {
			return
		}
	}
	if line := h.Get("Anthropic-Beta"); line != "" {
		value = line + "," + value
	}
	h.Set("Anthropic-Beta", value)
}

// sendUntilTaken sends the turn, and again if a refusal can be mended or waited out.
func (x *exchange) sendUntilTaken() (*http.Response, error) {
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
		if !x.refused(e) && !x.outwait(e) {
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

// outwait waits before the turn is sent again, if it should be.
func (x *exchange) outwait(e *model.APIError) (again bool) {
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

// refused reacts to an error of the provider: to a prompt that is too long as often as the
// policy says; one that does not say means once. It reports whether the turn should be sent again:
// folded harder, or with permission to drop thinking.
func (x *exchange) refused(e *model.APIError) (again bool) {
	tooLong := e.Overflow() && x.retried < max(x.rw.o.Policy.Retries, 1)
	unbound := e.Kind == model.ErrorThinkingBinding && !x.turn.drop
	if x.rw.o.ObserveOnly || !tooLong && !unbound || x.turn.conv == nil {
		return false
	}
	if tooLong {
		x.retried++
	}
	log := x.rw.o.Logger.With("session", x.turn.conv.key.String(), "kind", e.Kind.String())
	if err := x.rw.refused(x.ctx, x.turn, e); err != nil {
		log.Warn("the provider refused a request and it could not be mended", "err", err)
		return false
	}
	log.Info("the provider refused a request; sent again")
	return true
}
