package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/library"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
)

// replayedJSON compares what agents sent with what they would have sent through the proxy, and
// with what they would have sent had nobody compacted.
type replayedJSON struct {
	Window   int     `json:"window"`
	Sessions int     `json:"sessions"`
	Requests int     `json:"requests"`
	Sent     int     `json:"prompt_tokens"`       // as providers reported
	Would    int     `json:"prompt_tokens_with"`  // about
	Whole    int     `json:"prompt_tokens_whole"` // had nobody compacted, about
	USD      float64 `json:"usd"`                 // saved of what was spent on input, about; negative: lost
	USDSent  float64 `json:"usd_sent"`            // spent on input, of requests whose price is known
	USDWith  float64 `json:"usd_with"`
	USDWhole float64 `json:"usd_whole"`
	Failed   int     `json:"failed"` // sessions that could not be replayed
}

// replay counts a session that has requests, and replays it under the proxy's policy if there
// is a window. Only the requests in counted, without a model's name, are added up.
func (j *usageJSON) replay(
	ctx context.Context, p *term.Console, file string, window int, counted map[library.Request]bool,
) error {
	if len(counted) == 0 {
		return nil
	}
	if j.Sessions++; window == 0 {
		return nil
	}
	if j.Saved == nil {
		j.Saved = &replayedJSON{Window: window}
	}
	f, err := sessionfile.Read(ctx, p, file, sessionfile.Flags{})
	if err == nil {
		defer f.Close()
		err = j.Saved.add(ctx, f, counted)
	}
	if err != nil && ctx.Err() == nil {
		j.Saved.Failed++
		return nil
	}
	return errors.Join(err, ctx.Err())
}

func (j *replayedJSON) add(ctx context.Context, f *sessionfile.File, counted map[library.Request]bool) error {
	opts := f.Options()
	opts.Policy, opts.Budget = policy.Pays(policy.Default()), fold.Budget{Window: j.Window}
	again := 0
	opts.Observe = func(_ context.Context, _ store.SessionKey, e pleat.Event) {
		if e.Kind == pleat.EventEpoch {
			again += e.Plan.Cache.Rewritten
		}
	}
	s, err := pleat.OpenSession(ctx, store.NewMemory(), f.Key(), &opts)
	if err != nil {
		return err
	}
	around, before, last, sum := -1, 0, time.Time{}, *j
	for rec, err := range f.Records() {
		if err != nil {
			return err
		}
		if u := rec.Usage; u != nil && u.Prompt() > 0 && s.Len() > 0 {
			idle := max(rec.Time.Sub(last), 0)
			if last.IsZero() || rec.Time.IsZero() {
				idle = 0
			}
			if _, err := s.View(ctx, pleat.Turn{Idle: idle}); err != nil {
				return err
			}
			snap := s.Snapshot()
			if around < 0 { // the system prompt and the tools, which files do not have
				around = max(u.Prompt()-snap.Whole, 0)
			}
			with, whole := around+snap.Tokens, around+snap.Whole
			fresh := whole - before // since the request before
			if before == 0 || len(f.Model.Cache.TTL) > 0 && idle > f.Model.Cache.TTL[0] {
				fresh, again = whole, 0 // the cache has nothing
			}
			if counted[library.Request{Time: rec.Time, Usage: *u}] {
				sum.Requests++
				sum.Sent, sum.Would, sum.Whole = sum.Sent+u.Prompt(), sum.Would+with, sum.Whole+whole
				sum.price(f.Model, *u, input{with, fresh + again}, input{whole, fresh})
			}
			before, again, last = whole, 0, rec.Time
		}
		if err := s.Append(ctx, rec.Message); err != nil {
			return err
		}
	}
	sum.Sessions++
	*j = sum
	return nil
}

// input is the prompt of a request; fresh are its tokens that the cache does not have.
type input struct{ tokens, fresh int }

// price adds what a request cost without its answer, as it was and as it would have been.
func (j *replayedJSON) price(m model.Model, sent model.Usage, with, whole input) {
	cost := func(i input) float64 {
		fresh := min(i.fresh, i.tokens)
		usd, _ := m.Cost(model.Usage{CacheRead: i.tokens - fresh, CacheWrite: fresh})
		return usd
	}
	sent.Output, sent.Reasoning = 0, 0
	if usd, known := m.Cost(sent); known {
		j.USDSent, j.USDWith, j.USDWhole = j.USDSent+usd, j.USDWith+cost(with), j.USDWhole+cost(whole)
		j.USD = j.USDSent - j.USDWith
	}
}

func (j *replayedJSON) Print(p *term.Page) {
	p.Head("With the proxy", "about, by replay in a window of "+term.Short(j.Window)+" tokens")
	p.Hang("  ", fmt.Sprintf("%s of %s under its policy; answers are not counted", term.Plural(j.Requests, "request"),
		term.Plural(j.Sessions, "session")))
	p.Line("%s", p.Dim(fmt.Sprintf("  %-20s%7s%7s%9s%9s%6s", "against", "tokens", "with", "USD", "with", "ratio")))
	row := func(name string, tokens int, usd float64) {
		ratio := "–"
		if usd > 0 {
			ratio = fmt.Sprintf("%.2f", j.USDWith/usd)
		}
		p.Line("  %-20s%7s%7s%9s%9s%6s", name, term.Short(tokens), term.Short(j.Would), term.Cents(usd),
			term.Cents(j.USDWith), ratio)
	}
	row("no compaction at all", j.Whole, j.USDWhole)
	row("what the agents sent", j.Sent, j.USDSent)
	if j.Failed > 0 {
		p.Line("  %s not replayed", term.Verb(j.Failed, "session", "was", "were"))
	}
}
