package digester

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/summarizer"
	"github.com/pleat-dev/pleat/transcript"
)

// digest asks the model, with the lock free, and stores what came of it.
func (d *Digester) digest(ctx context.Context, need fold.Need, f *flight) {
	src, err := d.source(ctx, need)
	if err != nil {
		d.o.Warn(ctx, nil, fmt.Sprintf("a digest could not be asked for: %v", err))
		return
	}
	held := d.claim(ctx, need, f.background)
	if held == nil {
		return
	}
	defer held.end()
	d.o.Writing(ctx, d.asked(need, f.background))
	var text string
	var report digest.Origin
	job := d.job(need, src, f)
	d.unlocked(func() { text, report, err = summarizer.Write(ctx, job) })
	if errors.As(err, new(*fault.Panic)) {
		d.o.Logger.Error("the model of digests could not be asked", append(fault.Log(err), d.session()...)...)
	}
	if d.ctx.Err() != nil && f.background {
		return
	}
	stopped := errors.Is(ctx.Err(), context.Canceled) // by the caller
	if !stopped && (err == nil || !errors.Is(err, summarizer.ErrSpent)) {
		d.guard.Ended(err == nil)
	}
	report.Background = f.background
	d.keep(context.WithoutCancel(ctx), report, src.Hash, text)
	if warning := report.Unwritten(); warning != "" && !stopped {
		d.o.Warn(ctx, &report, warning)
	}
}

// job is what the model is asked.
func (d *Digester) job(need fold.Need, src *summarizer.Source, f *flight) summarizer.Job {
	ask := need.Ask
	return summarizer.Job{
		Ask: summarizer.Ask{
			Prompt: ask.Prompt, Opening: ask.Opening, Closing: ask.Closing, JSON: ask.JSON, Source: ask.Source,
			Retries: ask.Retries, ZeroTemp: ask.ZeroTemp, Trust: ask.AsIs,
		},
		Source: src, Options: d.o.Digest, Live: d.o.Live, Rates: d.o.Rates(),
		Count: d.o.Journal.State().Tokens().CountText, Key: d.o.Journal.Key().Session, Allow: d.guard.Allow,
		Heard: sync.OnceFunc(func() { close(f.heard) }),
	}
}

// asked is the origin of a digest that a model is asked for.
func (d *Digester) asked(need fold.Need, background bool) *digest.Origin {
	return &digest.Origin{
		Start: need.Start, End: need.End, Model: d.o.Digest.Model.ID, Focus: need.Focus, Background: background,
	}
}

// keep stores a digest, or that there is none, and takes it in.
func (d *Digester) keep(ctx context.Context, o digest.Origin, source transcript.Hash, text string) {
	if err := d.o.Journal.Digest(ctx, o, source, text); err != nil {
		d.o.Logger.Warn("a digest could not be stored and is not used", append(d.session(), "err", err)...)
		return
	}
	if o.Background {
		d.o.Written(ctx, &o)
	}
}
