package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// rewriteAside makes what goes out for a request beside a conversation: it gets the folds in
// force, nothing is stored and no epoch opens. The turn is nil if there is nothing to
// change. begin says that the request must be treated as a conversation of its own, because that
// conversation has no tools at all, or because it does not fit as it is. One that counts tokens never is.
func (rw *Rewriter) rewriteAside(
	ctx context.Context, req request, counts bool,
) (t *turn, neighbor *conversation, begin bool, err error) {
	alone := lineage.Answered(req.Request) && !counts
	key, known, err := rw.locate(ctx, req)
	if err != nil || !known {
		return nil, nil, alone, err
	}
	c, err := rw.open(ctx, key, req)
	if err != nil {
		return nil, nil, false, err
	}
	c.mu.Lock()
	defer c.unlock()
	switch err := c.refresh(ctx); {
	case errors.Is(err, store.ErrNotFound):
		rw.pool.lost(c)
		return nil, nil, alone, nil
	case err != nil:
		return nil, nil, false, err
	case !c.track.Tools && !counts:
		return nil, nil, alone, nil
	}
	t, fits := rw.withoutNewFolds(ctx, c, req)
	return t, c, !fits && !counts, nil
}

// withoutNewFolds makes the request that goes out if nothing more is folded: the session's view of
// the messages that it knows, and the newer ones whole. It stores nothing, and reports
// whether that fits. The turn is nil if the session does not know the conversation, if nothing in
// it has to change, or if that would not be legal: then it reports whether the request fits as it is.
func (rw *Rewriter) withoutNewFolds(ctx context.Context, c *conversation, req request) (t *turn, fits bool) {
	p, err := c.track.Find(ctx, c.sess, req.Request, true)
	v := inside.Of(c.sess).CurrentView()
	v.DropThinking = v.DropThinking || c.track.Drop
	mode, folded := c.track.Mode.Free(req.Request), !v.IsWhole(p.At)
	if err != nil || !folded && !c.track.Drop && len(p.Aliases) == 0 && !slices.Contains(c.track.Client, -1) &&
		len(mode.Tools(req.Request)) == 0 {
		return nil, rw.fitsWhole(req)
	}
	rest := len(req.Messages) - p.Client
	t = &turn{req: req, key: c.key, mode: mode, at: p.At + rest, meter: c.sess.Snapshot()}
	client, _ := lineage.Extend(slices.Clone(c.track.Client[:p.Mark.At]), p.Mark.Client, p.Aliases, t.at)
	v.Messages = slices.DeleteFunc(slices.Clone(v.Messages), func(vm transcript.ViewMessage) bool {
		return vm.Source >= p.Back.From && p.Back.Count > 0
	})
	for i := range rest {
		v.Messages = append(v.Messages, transcript.ViewMessage{Source: p.At + i})
	}
	own, err := c.view(ctx, v, req, client)
	if err == nil {
		t.out, err = req.Splice(own, t.mode.Tools(req.Request)...)
	}
	if err != nil || !rw.legal(req, t.out) {
		return nil, rw.fitsWhole(req)
	}
	t.drop, t.folded = v.DropThinking, folded
	return t, inside.Of(c.sess).ProviderTokens(t.meter.Parts.Total()+rw.count(req, p.Client)) <= t.meter.Limits.Max
}

// legal reports whether what goes out for a request breaks no rule that the request does not.
func (rw *Rewriter) legal(req request, out []byte) bool {
	m, _ := rw.o.model(req.Model)
	m.Thinking.First = req.Manual
	sent, err := req.Protocol.Read(out)
	return err == nil && len(transcript.NewViolations(req.Check(m), sent.Check(m))) == 0
}

// count estimates the tokens of texts and of a request's messages from one on.
func (rw *Rewriter) count(req request, from int, texts ...string) (total int) {
	model, _ := rw.o.Models.Lookup(req.Model)
	count := tokens.NewTokenizer(model, nil)
	for _, t := range texts {
		total += count.CountText(t)
	}
	for _, m := range req.Messages[from:] {
		total += count.CountMessage(m)
	}
	return total
}

// failed decides what happens to a request that could not be rewritten. A response is the
// answer to it; without one, the turn goes out, or the request unchanged.
func (x *exchange) failed(err error) *http.Response {
	x.report.Err = err
	if status, body := x.ownError(err, ""); status == http.StatusBadRequest {
		return x.refuse(status, body)
	}
	x.rw.o.Logger.Error("a request could not be rewritten", fault.Log(err)...)
	x.turn = nil
	if isNoView(err) { // the provider says what is wrong, in words that the client knows
		return nil
	}
	if errors.As(err, new(*fault.Options)) { // noticed at once, and not when a conversation no longer fits
		return x.cannotFold(err, "")
	}
	t, fits := x.rw.fromMemory(x.ctx, x.req)
	if !fits {
		return x.cannotFold(err, "pleat cannot fold this request, which does not fit as it is: ")
	}
	x.turn = t // if nil, nothing is folded and the request fits, so it goes out unchanged
	return nil
}

// isNoView reports whether an error says that no view of the session can be sent, which stays so.
func isNoView(err error) bool {
	return errors.Is(err, transcript.ErrIllegal) || errors.Is(err, transcript.ErrBadView) ||
		errors.Is(err, transcript.ErrNotEditable) || errors.Is(err, transcript.ErrNoSuchBlock)
}

// cannotFold answers a request that could not be folded.
func (x *exchange) cannotFold(err error, about string) *http.Response {
	status, body := x.ownError(err, about)
	resp := x.refuse(status, body)
	switch status {
	case http.StatusServiceUnavailable:
		resp.Header.Set("Retry-After", "5")
	case http.StatusInternalServerError:
		resp.Header.Set("X-Should-Retry", "false")
	}
	return resp
}

const notKept = "pleat cannot go on after what the model looked up: "

// ownError is an error of our own as the client gets it. The status is 400, with the provider's own refusal, if
// nothing fits or the model does not come to an end; else 503 if trying again later may help, and 500 if not.
func (x *exchange) ownError(err error, about string) (status int, body []byte) {
	var big *pleat.CannotFitError
	switch log := x.rw.o.Logger; {
	case errors.Is(err, errRounds):
		log.Warn("a turn was given up", "err", err)
		return http.StatusBadRequest, x.req.Protocol.Refuse("invalid_request_error", err.Error())
	case errors.As(err, &big):
		log.Warn("a request cannot fit", "err", err)
		return http.StatusBadRequest, x.req.Protocol.TooLong(int(big.Reported), int(big.Limit))
	}
	why, passes := reason(err)
	if passes {
		return http.StatusServiceUnavailable, x.req.Protocol.Refuse("overloaded_error", about+why)
	}
	return http.StatusInternalServerError, x.req.Protocol.Refuse("api_error", about+why)
}

// reason says what went wrong without naming sessions, which clients need not know, and
// whether trying again later may help.
func reason(err error) (why string, passes bool) {
	var wrong *fault.Options
	switch {
	case errors.As(err, &wrong):
		return fmt.Sprintf("pleat is not set up right: %v", wrong), false
	case isNoView(err):
		return "no legal view was found", false
	case errors.Is(err, store.ErrConflict):
		return "too many writers", true
	case errors.Is(err, store.ErrFull):
		return "the disk of the store is full: free space on it", true
	case errors.Is(err, store.ErrReadOnly):
		return "the store takes no writes, or its file was moved or deleted: see to it, and start the proxy " +
			"again", false
	case errors.Is(err, store.ErrCorrupt):
		return "the store is damaged: \"pleat store verify\" says where", false
	case errors.As(err, new(*fault.Hook)):
		return "a hook of this program failed; its log says why", true
	}
	return "the store, or something else that the log names, failed; try again later", true
}

// fromMemory makes a request from what is in memory alone, for when the store fails.
func (rw *Rewriter) fromMemory(ctx context.Context, req request) (*turn, bool) {
	c, _, _ := rw.pool.lookup(req.from.Scope, req.Prefixes)
	if c == nil {
		return nil, rw.fitsWhole(req)
	}
	c.mu.Lock()
	defer c.unlock()
	return rw.withoutNewFolds(ctx, c, req)
}

// fitsWhole estimates whether a request fits its model's window as it is.
func (rw *Rewriter) fitsWhole(req request) bool {
	model, window := rw.o.model(req.Model)
	texts := []string{req.System}
	for _, t := range req.Tools {
		texts = append(texts, t.Raw)
	}
	return rw.count(req, 0, texts...) <= fold.Budget{Window: cmp.Or(window, model.Window)}.Limits().Max
}
