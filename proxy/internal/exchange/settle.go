package exchange

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// afterwards is the context for what is left to do when the client has its answer and may go: it
// ends a while after that of the exchange.
func (x *exchange) afterwards() (context.Context, context.CancelFunc) {
	const grace = 5 * time.Second
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.ctx))
	stop := context.AfterFunc(x.ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
	return ctx, func() { stop(); cancel() }
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
		err = x.keep(ctx, replies, last)
		c = t.conv
	}
	err = errors.Join(err, x.heard(ctx, c, last))
	if t != nil && t.conv != nil {
		c = t.conv
	}
	if c != nil {
		if c.stays() {
			c.behind.Soon()
		} else if err == nil {
			err = c.behind.Wait(ctx) // the next request may go to another replica
		}
	}
	if err != nil {
		level := slog.LevelWarn
		if errors.Is(err, store.ErrConflict) { // another replica was faster: the next request brings it
			level = slog.LevelDebug
		}
		const text = "what the provider answered could not be recorded"
		x.rw.o.Logger.Log(ctx, level, text, "session", c.key.String(), "err", err)
	}
}

// keep records an answer, and what it used.
func (x *exchange) keep(ctx context.Context, replies []model.Reply, last model.Reply) error {
	t := x.turn
	var err error
	if last.Messages, err = x.seen(last); err != nil {
		return fmt.Errorf("read what the client got: %w", err)
	}
	if x.hidden == 0 {
		t.conv.mu.Lock()
		defer t.conv.unlock()
		said := lineage.SaidHash(last.Messages, t.mode.Own)
		t.conv.track.Answer = lineage.Reply{From: t.mark.At, Said: said}
		x.ended(t.conv, said)
		return t.conv.used(ctx, last)
	}
	if ours, _ := ownCalls(last, t.mode.Own); len(ours) == 0 {
		t.hidden = append(t.hidden, last.Messages...)
	}
	var said []transcript.Message
	for _, r := range append(replies, last) {
		said = append(said, r.Messages...)
	}
	return x.rw.onTurn(ctx, t, func(c *conversation) error {
		answer := lineage.Reply{From: t.mark.At, To: t.at, Said: lineage.SaidHash(said, t.mode.Own)}
		m := lineage.Mark{Mode: t.mode, Reply: &answer}
		var labels []string
		for _, prefix := range lineage.ComesAgain(t.req.Request) {
			labels = append(labels, t.req.from.Scope.AnswerLabel(prefix, answer.Said))
		}
		if by := lineage.Proof(said, t.mode.Own); by != "" {
			labels = append(labels, t.req.from.Scope.AnswerLabel(transcript.Hash{}, by))
		}
		if err := c.record(ctx, labels, &m, time.Time{}); err != nil {
			return err
		}
		if err := c.behind.Wait(ctx); err != nil {
			return err
		}
		x.ended(c, answer.Said)
		return c.used(ctx, last)
	})
}

// ended notes the answer to the newest request of a conversation.
func (x *exchange) ended(c *conversation, said string) {
	e := lineage.LastExchange{Client: x.turn.mark.Client, Said: said, Own: x.turn.mode.Own}
	x.rw.pool.update(c, func(s *slot) {
		if s.newest.Client == 0 || s.newest.Client == e.Client { // 0: it was just opened
			s.newest = e
		}
	})
}

// heard remembers an answer without calls, which may be a summary that the client begins
// its next conversation with.
func (x *exchange) heard(ctx context.Context, c *conversation, reply model.Reply) error {
	if c == nil || len(transcript.Unanswered(reply.Messages...)) > 0 {
		return nil
	}
	var text strings.Builder
	for _, m := range reply.Messages {
		if text.Len()+len(m.Raw()) > lineage.LongestSummary {
			return nil
		}
		text.WriteString(m.Text() + "\n")
	}
	labels := x.req.from.SaidLabels(text.String(), lineage.ProofLines, func(line string) bool {
		return lineage.Quotes(x.req.Request, line)
	})
	if len(labels) == 0 {
		return nil
	}
	if c.past {
		found, err := x.rw.o.Store.Find(ctx, x.req.from.Scope.Tenant, store.EntryPrefix, labels...)
		if err != nil || len(found) == len(labels) { // it was said before
			return err
		}
		if err := x.rw.onTurn(ctx, x.turn, func(*conversation) error { return nil }); err != nil {
			return err
		}
		c = x.turn.conv
	}
	c.mu.Lock()
	defer c.unlock()
	if c.track.Mode.Recall != lineage.RecallByTools {
		return nil
	}
	return c.record(ctx, labels, &lineage.Mark{Mode: c.track.Mode}, time.Time{})
}
