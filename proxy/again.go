package proxy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
)

// sendUntilTaken sends the turn, and again if a refusal can be mended or waited out.
func (x *exchange) sendUntilTaken() (*http.Response, error) {
	for {
		resp, err := x.send(x.ctx)
		if err == nil && resp.StatusCode < 400 {
			return resp, nil
		}
		e := errReach
		if err == nil {
			body, failed := readAll(resp.Body, resp.ContentLength, maxError, x.take)
			resp.Body.Close()
			if failed != nil {
				return nil, fmt.Errorf("read refusal: %w", failed)
			}
			setBody(resp, body)
			e = model.ClassifyError(resp.StatusCode, resp.Header.Get("Retry-After"), body)
		}
		if !x.refused(e) && !x.outwait(e) {
			return resp, err
		}
	}
}

// errReach stands for an upstream that was not reached, or whose reply broke off.
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

// explain is an error of the provider for a client that already gets a stream: in the wire's own
// form, also where the provider said something else, or nothing.
func (p *protocol) explain(e *model.APIError) []byte {
	own := jsonspan.Value(e.Body).Get("error").Kind() == jsonspan.Object && json.Valid(e.Body)
	text := e.Error()
	if own {
		text = cmp.Or(e.Message, text)
	}
	switch {
	case e.Retryable(): // this is the one that clients try again after, whatever the status was
		return p.Refuse("overloaded_error", text)
	case own:
		return e.Body
	case e.Status < 400:
		return p.Refuse("api_error", text)
	}
	return p.Refuse(cmp.Or(errorTypes[e.Kind], "invalid_request_error"), text)
}

var errorTypes = map[model.ErrorKind]string{
	model.ErrorAuth: "authentication_error", model.ErrorPermission: "permission_error",
	model.ErrorBilling: "billing_error", model.ErrorNotFound: "not_found_error", model.ErrorTooLarge: "request_too_large",
}
