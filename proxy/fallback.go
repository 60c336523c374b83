package proxy

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// beside makes the request that goes out for one beside a conversation: it gets the
// folds in force, nothing is stored and no epoch opens. The turn is nil if there is
// nothing to change. begin says that it has to be taken as a conversation of its own:
// it is one that has no tools at all, or it does not fit as it is.
func (rw *rewriter) beside(ctx context.Context, req *request, from caller) (t *turn, begin bool, err error) {
	prefixes := rw.memo.prefixes(req)
	key, known, err := rw.locate(ctx, from, prefixes)
	if err != nil || !known {
		return nil, answered(req), err
	}
	c, err := rw.open(ctx, key, req, from)
	if err != nil {
		return nil, false, err
	}
	c.mu.Lock()
	defer c.unlock()
	if err := c.refresh(ctx, rw.o.Store); err != nil {
		return nil, false, err
	}
	if !c.tools {
		return nil, answered(req), nil
	}
	t, fits := rw.asIs(ctx, c, req, from, prefixes)
	if t == nil {
		return nil, !rw.fitsWhole(req), nil
	}
	return t, !fits, nil
}

// asIs makes a request from what the conversation's session knows, and the rest of the
// request whole. It stores nothing. The turn is nil if the conversation is not known in
// the session, or nothing of it is folded.
func (rw *rewriter) asIs(ctx context.Context, c *conversation, req *request, from caller, prefixes []transcript.Hash) (t *turn, fits bool) {
	p, err := c.find(ctx, rw.memo, req, prefixes)
	v := c.sess.InForce()
	if err != nil || v.IsWhole(p.at) && len(p.aliases) == 0 && !slices.Contains(c.client, -1) {
		return nil, false
	}
	rest := len(req.messages) - p.client
	t = &turn{req: req, from: from, at: p.at + rest, meter: c.sess.Snapshot()}
	t.client, _ = extend(slices.Clone(c.client[:p.mark.At]), p.mark.Client, p.aliases, t.at)
	v.Messages = slices.Clone(v.Messages)
	for i := range rest {
		v.Messages = append(v.Messages, transcript.ViewMessage{Source: p.at + i})
	}
	own, err := c.view(ctx, v, req, t.client)
	if err != nil {
		return nil, false
	}
	t.drop, t.folded = v.DropThinking, true
	if t.out, err = req.SpliceWith(own, c.mode.tools(req)); err != nil {
		return nil, false
	}
	count := rw.counter(req)
	extra := 0
	for _, m := range req.messages[p.client:] {
		extra += count.CountMessage(m)
	}
	return t, t.meter.Tokens+extra <= t.meter.Limits.Max
}

func (rw *rewriter) counter(req *request) tokens.MessageCounter {
	model, _ := rw.o.Models.Lookup(req.model)
	return tokens.NewTokenizer(model, nil)
}

// failed decides what happens to a request that could not be rewritten. With a response
// that is the answer; with neither the turn, or none, goes out.
func (x *exchange) failed(err error, from caller) (*http.Response, error) {
	log := x.rw.o.Logger
	var big *pleat.CannotFitError
	if errors.As(err, &big) {
		log.Warn("a request cannot fit", "err", err)
		return x.refuse(http.StatusBadRequest, x.req.on.tooLong(big.Parts.Total(), big.Max)), nil
	}
	log.Error("a request could not be rewritten", "err", err)
	x.report.Err = err
	if x.rw.o.ObserveOnly {
		x.turn = nil
		return nil, nil
	}
	t, fits := x.rw.remembered(x.ctx, x.req, from)
	if t == nil {
		fits = x.rw.fitsWhole(x.req)
	}
	if !fits {
		resp := x.refuse(http.StatusServiceUnavailable, x.req.on.refuse("overloaded_error",
			"pleat cannot keep what it would have to fold to make this request fit: "+reason(err)))
		resp.Header.Set("Retry-After", "5")
		return resp, nil
	}
	x.turn = t // nil: nothing is folded and it fits, so it goes out as it came
	return nil, nil
}

// reason says what went wrong without naming sessions, which are the owner's business.
func reason(err error) string {
	switch {
	case errors.Is(err, transcript.ErrIllegal):
		return "no legal view was found"
	case errors.Is(err, store.ErrConflict):
		return "too many writers"
	}
	return "the store is not available; try again later"
}

// remembered makes a request from what is in memory alone, for when the store fails.
func (rw *rewriter) remembered(ctx context.Context, req *request, from caller) (*turn, bool) {
	prefixes := rw.memo.prefixes(req)
	key, _ := rw.lookup(from.scope, prefixes)
	rw.mu.Lock()
	e, ok := rw.sessions[key]
	rw.mu.Unlock()
	if !ok {
		return nil, false
	}
	c := e.Value.(*conversation)
	c.mu.Lock()
	defer c.unlock()
	return rw.asIs(ctx, c, req, from, prefixes)
}

// fitsWhole estimates whether a request fits its model's window as it is.
func (rw *rewriter) fitsWhole(req *request) bool {
	model, window := rw.o.model(req.model)
	count := rw.counter(req)
	total := count.CountText(req.system)
	for _, t := range req.tools {
		total += count.CountText(t.Raw)
	}
	for _, m := range req.messages {
		total += count.CountMessage(m)
	}
	return total <= fold.Budget{Window: or(window, model.Window)}.Limits().Max
}

// refused folds harder, or asks for thinking to be dropped, and writes the turn anew.
func (rw *rewriter) refused(ctx context.Context, t *turn, e *model.APIError) error {
	c := t.conv
	c.mu.Lock()
	defer c.unlock()
	if c.sess.Len() != t.at {
		return errMoved
	}
	if !e.Overflow() {
		v := c.sess.InForce()
		v.DropThinking = true
		return rw.write(ctx, t, v)
	}
	v, err := rw.viewAgain(ctx, t, func(s *pleat.Session) (transcript.View, error) { return s.Refused(ctx, e) })
	if err != nil {
		return err
	}
	if t.at == t.mark.At { // no hidden rounds yet: what is in force now belongs to the request
		if err := rw.mark(ctx, c, t); err != nil {
			return err
		}
	}
	return rw.write(ctx, t, v)
}
