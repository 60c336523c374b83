package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// recordingContext is the context for what is left to do when the client has its answer and may go.
func (x *exchange) recordingContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(x.ctx), 10*time.Second)
}

// settle records what the provider reported and, where there were hidden rounds, the whole
// answer, so that it is known when it comes back.
func (x *exchange) settle(ctx context.Context, last model.Reply, complete bool) {
	if !complete || x.conversation() == nil {
		return
	}
	var err error
	if x.turn != nil && x.turn.conv != nil {
		err = x.recordAnswer(ctx, last)
	} else {
		err = x.recordAside(ctx, x.neighbor, last)
	}
	err = errors.Join(err, x.recordSummary(ctx, x.conversation(), last))
	c := x.conversation() // perhaps a fork by now
	if !c.stays() && err == nil {
		err = c.behind.Wait(ctx) // the next request may go to another replica
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

// conversation is the one that the request belongs to, or is beside; nil if none is known.
func (x *exchange) conversation() *conversation {
	if x.turn != nil && x.turn.conv != nil {
		return x.turn.conv
	}
	return x.neighbor
}

// recordAnswer records an answer, and what it used.
func (x *exchange) recordAnswer(ctx context.Context, last model.Reply) error {
	t := x.turn
	var err error
	if last.Messages, err = x.asClientSees(last); err != nil {
		return fmt.Errorf("read what the client got: %w", err)
	}
	first := func(said string) (labels []string) { // what it answered may come again otherwise
		if !lineage.Answered(t.req.Request) {
			labels = append(labels, t.req.from.Scope.FirstLabel(said))
		}
		return labels
	}
	if x.hidden == 0 {
		t.conv.mu.Lock()
		defer t.conv.unlock()
		said := lineage.SaidHash(last.Messages, t.mode.Own)
		if labels := first(said); labels != nil {
			if err := t.conv.record(ctx, labels, &lineage.Mark{Mode: t.mode}, time.Time{}); err != nil {
				return err
			}
		}
		t.conv.track.Answered(t.mark, said)
		return t.conv.recordUsage(ctx, last)
	}
	if ours, _ := ownCalls(last, t.mode.Own); len(ours) == 0 || isCut(last) {
		t.hidden = append(t.hidden, last.Messages...)
	}
	var said []transcript.Message
	for _, r := range append(x.replies, last) {
		said = append(said, r.Messages...)
	}
	return x.rw.onTurn(ctx, t, func(c *conversation) error {
		answer := lineage.Reply{From: t.mark.At, To: t.at, Said: lineage.SaidHash(said, t.mode.Own)}
		m := lineage.Mark{Mode: t.mode, Reply: &answer}
		prefix := t.req.Prefixes[len(t.req.Prefixes)-1]
		labels := append(first(answer.Said), t.req.from.Scope.AnswerLabel(prefix, answer.Said))
		if by := lineage.Proof(said, t.mode.Own); by != "" {
			labels = append(labels, t.req.from.Scope.AnswerLabel(transcript.Hash{}, by))
		}
		if err := c.record(ctx, labels, &m, time.Time{}); err != nil {
			return err
		}
		if err := c.behind.Wait(ctx); err != nil {
			return err
		}
		c.track.Answered(t.mark, answer.Said)
		return c.recordUsage(ctx, last)
	})
}

// recordAside records what a request beside a conversation used: the bill has it in the conversation's row, too.
func (x *exchange) recordAside(ctx context.Context, c *conversation, r model.Reply) error {
	if r.Usage.Prompt() == 0 || r.Usage.Check() != nil {
		return nil
	}
	c.mu.Lock()
	defer c.unlock()
	m, _ := x.rw.o.Models.Lookup(x.report.Model)
	if err := inside.Of(c.sess).UsedAside(ctx, m, r.Usage); err != nil {
		return err
	}
	c.wrote(inside.Of(c.sess).LastSeq() - 1)
	return nil
}

// recordSummary remembers an answer without calls, which may be a summary that the client begins
// its next conversation with.
func (x *exchange) recordSummary(ctx context.Context, c *conversation, reply model.Reply) error {
	if len(transcript.Unanswered(reply.Messages...)) > 0 {
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
	c.mu.Lock()
	defer c.unlock()
	if c.track.Mode.Recall != lineage.RecallByTools {
		return nil
	}
	return c.record(ctx, labels, &lineage.Mark{Mode: c.track.Mode}, time.Time{})
}

// addUsage puts what the provider reported for one request on the exchange's account.
func (x *exchange) addUsage(u model.Usage) {
	if u.Prompt() == 0 && u.Output == 0 {
		return
	}
	m, _ := x.rw.o.Models.Lookup(x.report.Model)
	usd, _ := m.Cost(u)
	r := &x.report
	if r.Usage.Prompt() == 0 {
		x.began = u
	}
	x.said = u.Output
	r.Usage = r.Usage.Plus(u)
	r.USD += usd
}

// client is what a turn's request takes as the client sent it, by our count.
type client struct {
	prompt int  // all of it
	cached int  // what begins an earlier request, unless the provider's cache has forgotten it
	tools  int  // ours, which it does not have
	view   int  // what went out for it
	hidden bool // the view has messages that the client has not, or not whole
}

// without is about what the exchange would have cost without us: the client's own bytes, of
// which the cache has what it was sent before.
func (x *exchange) without() float64 {
	m, _ := x.rw.o.Models.Lookup(x.report.Model)
	u, t := x.began, x.turn
	if t == nil || t.size.view == 0 || u.Prompt() == 0 {
		return x.report.USD
	}
	scale := float64(u.Prompt()) / float64(t.size.view)
	count := func(n int) int { return int(float64(n)*scale + 0.5) }
	if !t.folded && !t.size.hidden {
		for _, part := range []*int{&u.CacheRead, &u.CacheWrite1h, &u.CacheWrite, &u.Input} {
			if n := count(t.size.tools); *part >= n {
				*part -= n
				break
			}
		}
	} else {
		all, cached := count(t.size.prompt), count(t.size.cached)
		if u.CacheRead+u.CacheWrite+u.CacheWrite1h == 0 {
			cached = 0
		}
		fresh := all - cached
		switch {
		case u.CacheWrite1h > 0:
			u = model.Usage{CacheRead: cached, CacheWrite1h: fresh}
		case u.CacheWrite > 0:
			u = model.Usage{CacheRead: cached, CacheWrite: fresh}
		default:
			u = model.Usage{CacheRead: cached, Input: fresh}
		}
	}
	u.Output = x.said // of the answer that the client got
	usd, _ := m.Cost(u)
	return usd
}

// measure takes the size of the turn's request as the client sent it. The caller holds the
// conversation's lock.
func (t *turn) measure(before lineage.Place, cold bool) {
	c := t.conv
	view := t.meter.Parts
	head := view.System + view.Tools - c.setup.ours
	t.size = client{
		prompt: head + c.size(t.mark.At), tools: c.setup.ours, view: view.Total(),
		hidden: slices.Contains(t.client(), -1),
	}
	if known := min(before.Mark.At, t.mark.At); known > 0 && !cold {
		t.size.cached = head + c.size(known)
	}
}

// charge puts the exchange on the bill.
func (x *exchange) charge() {
	r := &x.report
	row := bill.Row{Tenant: x.req.from.Scope.Tenant, Model: r.Model}
	if x.neighbor != nil {
		row.Session = x.neighbor.key.Session
	}
	if t := x.turn; t != nil {
		row.Session = t.key.Session
	}
	r.Without = x.without()
	u := r.Usage
	m, _ := x.rw.o.Models.Lookup(r.Model)
	_, priced := m.Cost(u)
	row.Tally = bill.Tally{
		Requests: 1, Failed: one(r.Status == 0 || r.Status >= 400), Sent: r.Sent, Passed: one(r.Passed),
		Folded: one(r.Folded), Stored: r.Stored, Epochs: r.Epochs, Hidden: r.Hidden, Retried: one(r.Retried),
		BytesIn: int64(r.BytesIn), BytesOut: int64(r.BytesOut),
		Prompt: int64(u.Prompt()), CacheRead: int64(u.CacheRead),
		CacheWrite: int64(u.CacheWrite + u.CacheWrite1h), Output: int64(u.Output),
		USD: r.USD, Without: r.Without, Unpriced: one(!priced && u.Prompt()+u.Output > 0),
	}
	x.rw.book.Charge(row)
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// wholeRecorder reads a reply that comes as a whole.
type wholeRecorder struct {
	bytes.Buffer
	read func(body []byte) (model.Reply, error)
	take func(n int64) bool
}

func (r *wholeRecorder) Write(b []byte) (int, error) {
	if r.Len() > maxError || !r.take(int64(len(b))) {
		return 0, io.ErrShortBuffer
	}
	return r.Buffer.Write(b)
}

func (r *wholeRecorder) Reply() (model.Reply, error) { return r.read(r.Bytes()) }
