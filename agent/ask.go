package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// ask sends the view to the model and records its answer.
func (r *run) ask(ctx context.Context) (model.Reply, error) {
	view, err := r.session.View(ctx, pleat.Turn{Idle: r.idle()})
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
		return model.Reply{}, err
	}
	if reply.Stop != model.StopMaxTokens && reply.Stop != model.StopWindow {
		r.cuts = 0
	}
	return reply, r.used(ctx, reply.Usage)
}

// idle is the time since the last request, 0 if there was none.
func (r *run) idle() time.Duration {
	now := r.o.Now()
	last := r.last
	r.last = now
	if last.IsZero() {
		return 0
	}
	return now.Sub(last)
}

// generate asks until there is an answer: again after a pause when the error may pass,
// and once with a harder fold when the request was too long.
func (r *run) generate(ctx context.Context, view transcript.View) (model.Reply, error) {
	refused, empty, tries := 0, 0, 0
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
			if reply.Messages, err = r.sound(reply); err == nil {
				return reply, nil
			}
		}
		var api *model.APIError
		isAPI := errors.As(err, &api)
		switch {
		case ctx.Err() != nil:
			return model.Reply{}, fmt.Errorf("ask the model: %w", context.Cause(ctx))
		case isAPI && api.Overflow() && refused == 0:
			refused++
			r.tellError(err)
			if view, err = r.session.Refused(ctx, api); err != nil {
				return model.Reply{}, err
			}
		case errors.Is(err, errNothing) && empty == 0:
			empty++
			r.tellError(err)
		case tries < r.o.Retries && isAPI && api.Retryable():
			r.tellError(err)
			if err := r.wait(ctx, api, tries); err != nil {
				return model.Reply{}, err
			}
			tries++
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
			blocks++
			switch b := b.(type) {
			case transcript.Text:
				weight += len(b.Text.String())
			case transcript.ToolCall:
				weight += len(b.Input.String())
			case transcript.ToolResult:
				weight += len(b.Text())
			}
		}
		return blocks, weight
	})
	if req.MaxTokens == 0 {
		l := r.session.Snapshot().Limits
		req.MaxTokens = l.Window - l.Max
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

// sound leaves out messages without content, which no provider takes back.
func (r *run) sound(reply model.Reply) ([]transcript.Message, error) {
	msgs := make([]transcript.Message, 0, len(reply.Messages))
	for _, m := range reply.Messages {
		if m.Blocks().Len() > 0 {
			msgs = append(msgs, m)
		}
	}
	if len(msgs) == 0 && reply.Stop != model.StopRefusal {
		return nil, errNothing
	}
	return msgs, nil
}

// wait waits as long as the provider asks, or a little longer each time.
func (r *run) wait(ctx context.Context, api *model.APIError, tries int) error {
	d := time.Second << tries
	if api != nil {
		d = max(d, min(api.Wait(r.o.Now()), 2*time.Minute))
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait before asking again: %w", context.Cause(ctx))
	}
}

// used records what the provider says the request cost.
func (r *run) used(ctx context.Context, u model.Usage) error {
	if u == (model.Usage{}) {
		return nil
	}
	before := r.session.Spent()
	if err := r.session.Used(context.WithoutCancel(ctx), u); err != nil {
		return err
	}
	s := spentOf(u, r.session.Spent()-before)
	r.spend(s)
	r.tell(Event{Kind: EventUsage, Usage: &s})
	return nil
}
