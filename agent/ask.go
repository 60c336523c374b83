package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/digester"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// ask sends the view to the model and records its answer.
func (r *run) ask(ctx context.Context) (model.Reply, error) {
	now, idle := r.o.Now(), time.Duration(0)
	if r.last.IsZero() { // another program may have asked before
		r.last = inside.Of(r.session).LastAnswerTime()
	}
	if !r.last.IsZero() {
		idle = max(now.Sub(r.last), 0)
	}
	r.last = now
	view, err := r.session.View(ctx, pleat.Turn{Idle: idle})
	if err != nil {
		return model.Reply{}, err
	}
	r.res.Turns++
	r.turn.Store(int64(r.res.Turns))
	reply, err := r.generate(ctx, view)
	if err != nil {
		return model.Reply{}, err
	}
	if err := r.append(ctx, reply.Messages...); err != nil {
		return model.Reply{}, errors.Join(err, r.used(ctx, reply.Usage)) // it was paid for
	}
	if reply.Stop != model.StopMaxTokens && reply.Stop != model.StopWindow {
		r.cuts = 0
	}
	return reply, r.used(ctx, reply.Usage)
}

// generate asks until there is an answer: folded harder, as often as the policy says, when
// the request was too long. Errors that may pass are for the generator to retry.
func (r *run) generate(ctx context.Context, view transcript.View) (model.Reply, error) {
	refused, empty := 0, 0
	for {
		req, err := r.request(ctx, view)
		if err != nil {
			return model.Reply{}, err
		}
		reply, err := r.o.Generator.Generate(ctx, req, r.sink)
		if err == nil && reply.Err != nil {
			err = reply.Err
		}
		if err == nil {
			// No provider takes back a message without content.
			empty := func(m transcript.Message) bool { return m.Blocks().Len() == 0 }
			reply.Messages = slices.DeleteFunc(slices.Clone(reply.Messages), empty)
			if len(reply.Messages) > 0 || reply.Stop == model.StopRefusal {
				return reply, nil
			}
			err = errNothing
		}
		var api *model.APIError
		isAPI := errors.As(err, &api)
		switch {
		case ctx.Err() != nil:
			return model.Reply{}, fmt.Errorf("ask the model: %w", context.Cause(ctx))
		case isAPI && api.Overflow() && refused < max(r.o.Session.Policy.Retries, 1):
			refused++
			r.tellError(err)
			if view, err = r.session.Refused(ctx, api); err != nil {
				return model.Reply{}, err
			}
		case errors.Is(err, errNothing) && empty == 0:
			empty++
			r.tellError(err)
		default:
			return model.Reply{}, fmt.Errorf("ask the model: %w", err)
		}
	}
}

// request is the template with the view's messages in it.
func (r *run) request(ctx context.Context, view transcript.View) (*model.Request, error) {
	msgs, err := r.session.Resolve(ctx, view)
	if err != nil {
		return nil, fmt.Errorf("apply view: %w", err)
	}
	req := r.o.Request
	req.Messages, req.Tools, req.Stream = msgs, r.defs, true
	req.Marker, _ = r.warm.Next(view, func(i int) (blocks, weight int) {
		for _, b := range msgs[i].Blocks().All() {
			blocks, weight = blocks+1, weight+len(transcript.BlockText(b))
		}
		return blocks, weight
	})
	if req.MaxTokens == 0 {
		l := r.session.Snapshot().Limits
		req.MaxTokens = int(l.Window - l.Max)
		if most := r.o.Session.Model.MaxOutput; most > 0 {
			req.MaxTokens = min(req.MaxTokens, most)
		}
	}
	return &req, nil
}

func (r *run) sink(d model.Delta) {
	switch d.Kind {
	case transcript.KindText:
		r.tell(Event{Kind: EventText, Text: d.Text})
	case transcript.KindThinking:
		r.tell(Event{Kind: EventThinking, Text: d.Text})
	}
}

var errNothing = errors.New("the model answered with nothing")

// meterDigests counts what digests cost into what the run has spent.
func (a *Agent) meterDigests(o *pleat.Options) {
	writer, m := o.Digest.Generator, digester.Asked(o.Digest, o.Model)
	if writer == nil {
		return
	}
	generate := func(ctx context.Context, req *model.Request, to func(model.Delta)) (model.Reply, error) {
		reply, err := writer.Generate(ctx, req, to)
		if u := reply.Usage; u != (model.Usage{}) {
			usd, _ := m.Cost(u)
			a.paid(u, usd, true)
		}
		return reply, err
	}
	o.Digest.Generator, o.Digest.Model = model.GeneratorFunc(generate), m
}

// used records what the request cost by the provider's report.
func (r *run) used(ctx context.Context, u model.Usage) error {
	if u == (model.Usage{}) || u.Check() != nil {
		return nil
	}
	before := r.session.Spent()
	if err := r.session.Used(context.WithoutCancel(ctx), u); err != nil {
		return err
	}
	r.paid(u, r.session.Spent()-before, false)
	return nil
}

// paid counts what a request took, and tells of it.
func (a *Agent) paid(u model.Usage, usd float64, digest bool) {
	s := Spent{u.Input, u.CacheRead, u.CacheWrite + u.CacheWrite1h, u.Output, usd}
	a.spend(s)
	a.tell(Event{Kind: EventUsage, Usage: &s, Digest: digest})
}
