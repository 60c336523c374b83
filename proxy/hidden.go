package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// ownCalls returns the calls of an answer to our tools, and how many there are to others.
func ownCalls(reply model.Reply, own func(name string) bool) (ours []transcript.ToolCall, others int) {
	switch reply.Stop {
	case model.StopMaxTokens, model.StopWindow, model.StopRefusal:
		return nil, 0 // the answer was cut off: its calls may be incomplete
	}
	for _, c := range transcript.Unanswered(reply.Messages...) {
		if own(c.Name) {
			ours = append(ours, c)
		} else {
			others++
		}
	}
	return ours, others
}

// hide answers the calls of an answer to our tools and adds both to the session. If the
// answer called no other tools it is not over: the turn is rewritten, and again reports
// that it should be sent.
func (x *exchange) hide(ctx context.Context, reply model.Reply) (again bool, err error) {
	rw, t := x.rw, x.turn
	ours, others := ownCalls(reply, x.own())
	if len(ours) == 0 {
		return false, nil
	}
	x.hidden++
	news := reply.Messages
	if slices.ContainsFunc(ours, func(c transcript.ToolCall) bool { return c.Name == t.mode.Prefix+recall.ToolCompact }) {
		// The answer is there first: what its thinking is bound to is about to change.
		if err := rw.appendHidden(ctx, t, x.req, news); err != nil {
			return false, fmt.Errorf("keep hidden round: %w", err)
		}
		news = nil
	}
	results := make([]transcript.ToolResult, len(ours))
	for i, c := range ours {
		if x.hidden > rw.o.Rounds {
			results[i] = transcript.ErrorResult(c.ID, "No more of this in this turn: go on with what you have.")
			continue
		}
		name := strings.TrimPrefix(c.Name, t.mode.Prefix)
		text, failed := rw.recall(ctx, t, name, c.Input.String())
		results[i] = transcript.Result(c.ID, text)
		results[i].Error = failed
	}
	answers, err := x.req.on.results(ours, results)
	if err != nil {
		return false, fmt.Errorf("answer recall: %w", err)
	}
	if err := rw.appendHidden(ctx, t, x.req, slices.Concat(news, answers)); err != nil {
		return false, fmt.Errorf("keep hidden round: %w", err)
	}
	if others > 0 {
		return false, nil
	}
	return x.hidden <= rw.o.Rounds+2, rw.again(ctx, t)
}

// appendHidden adds messages that the client does not see to the turn's session, or to a
// fork of it if others have written to the session meanwhile.
func (rw *rewriter) appendHidden(ctx context.Context, t *turn, req *request, msgs []transcript.Message) error {
	for range 10 {
		c := t.conv
		c.mu.Lock()
		err := errMoved
		last := c.sess.Last()
		if c.sess.Len() == t.at {
			err = c.sess.Append(ctx, msgs...)
		}
		if err == nil {
			c.wrote(last)
			t.at = c.sess.Len()
			for range msgs {
				t.client = append(t.client, -1)
			}
		}
		c.unlock()
		if err == nil || !errors.Is(err, errMoved) && !errors.Is(err, store.ErrConflict) {
			return err
		}
		if t.at != t.mark.At {
			return err // somebody wrote between our own rounds
		}
		key, err := rw.fork(ctx, c, t.mark, req, t.from.scope, t.prefixes)
		if err != nil {
			return err
		}
		if t.conv, err = rw.open(ctx, key, req, t.from); err != nil {
			return err
		}
		t.forked = true
	}
	return errMoved
}

// again writes the turn with the hidden rounds so far.
func (rw *rewriter) again(ctx context.Context, t *turn) error {
	t.conv.mu.Lock()
	defer t.conv.unlock()
	v, err := t.view(func(s *pleat.Session) (transcript.View, error) { return s.View(ctx, pleat.Turn{}) })
	if err != nil {
		return err
	}
	return rw.write(ctx, t, v)
}

// settle records what the provider reported and, where there were hidden rounds, the whole
// answer, so that it is known when it comes back.
func (x *exchange) settle(ctx context.Context, replies []model.Reply, last model.Reply, complete bool) {
	t, c := x.turn, x.near
	if !complete {
		return
	}
	var err error
	if t != nil && t.conv != nil {
		c, err = t.conv, x.keep(ctx, replies, last)
	}
	err = errors.Join(err, x.heard(ctx, c, last))
	if err == nil && c != nil {
		err = c.behind.wait(ctx) // the next request may go to another replica
	}
	if err != nil {
		x.rw.o.Logger.Warn("what the provider answered could not be recorded", "session", c.key.String(), "err", err)
	}
}

func (x *exchange) keep(ctx context.Context, replies []model.Reply, last model.Reply) error {
	t := x.turn
	c := t.conv
	from := t.mark.At
	if x.hidden > 0 {
		if ours, _ := ownCalls(last, t.mode.own); len(ours) == 0 && len(last.Messages) > 0 {
			if err := x.rw.appendHidden(ctx, t, x.req, last.Messages); err != nil {
				return err
			}
		}
	}
	c.mu.Lock()
	defer c.unlock()
	if x.hidden > 0 {
		if c.sess.Len() != t.at {
			return errMoved
		}
		var said []transcript.Message
		for _, r := range replies {
			said = append(said, r.Messages...)
		}
		said = append(said, last.Messages...)
		if err := c.record(ctx, []string{""}, &mark{mode: t.mode, Reply: &reply{from, t.at, saidHash(said, t.mode.own)}}, time.Time{}); err != nil {
			return err
		}
	}
	if last.Usage.Prompt() == 0 || last.Err != nil {
		return nil
	}
	if err := c.sess.Used(ctx, last.Usage); err != nil {
		return err
	}
	c.wroteOne()
	return nil
}
