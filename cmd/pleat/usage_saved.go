package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/library"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
)

// replayedJSON compares what agents sent with what they would have sent through pleat.
type replayedJSON struct {
	Window   int     `json:"window"`
	Sessions int     `json:"sessions"`
	Requests int     `json:"requests"`
	Sent     int     `json:"prompt_tokens"`      // as providers reported
	Would    int     `json:"prompt_tokens_with"` // about
	USD      float64 `json:"usd"`                // saved, about; negative: lost
	Failed   int     `json:"failed"`             // sessions that could not be replayed
}

// replay counts a session that has requests, and replays it if there is a window. A request of
// the agent had the prompt that its provider reported; pleat's has the same without what is
// folded. What is not sent is priced as read from the cache, which is the least that it can have
// cost, and what an epoch changes as written to it once more. Only the requests in counted,
// without a model's name, are added up.
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
	opts.Policy, opts.Budget = policy.Default(), fold.Budget{Window: j.Window}
	rewritten := 0
	opts.Observe = func(_ context.Context, _ store.SessionKey, e pleat.Event) {
		if e.Kind == pleat.EventEpoch {
			rewritten += e.Plan.Cache.Rewritten
		}
	}
	s, err := pleat.OpenSession(ctx, store.NewMemory(), f.Key(), &opts)
	if err != nil {
		return err
	}
	around, sum := -1, *j
	for rec, err := range f.Records() {
		if err != nil {
			return err
		}
		if u := rec.Usage; u != nil && u.Prompt() > 0 && s.Len() > 0 {
			if _, err := s.View(ctx, pleat.Turn{}); err != nil {
				return err
			}
			snap := s.Snapshot()
			if around < 0 { // the system prompt and the tools, which files do not have
				around = max(u.Prompt()-snap.Whole, 0)
			}
			with := max(u.Prompt()-(snap.Whole-snap.Tokens), 0)
			if slices.ContainsFunc(f.Info.Compactions, func(c sessionlog.Compaction) bool { return c.At <= s.Len() }) {
				with = around + snap.Tokens // the agent no longer sent all that was said
			}
			in := counted[library.Request{Time: rec.Time, Usage: *u}]
			if in {
				sum.Requests++
				sum.Sent += u.Prompt()
				sum.Would += with
			}
			if price, ok := f.Model.PriceAt(u.Prompt()); ok && in {
				sum.USD += (float64(u.Prompt()-with)*price.CacheRead - float64(rewritten)*(price.CacheWrite-price.CacheRead)) / 1e6
			}
			rewritten = 0
		}
		if err := s.Append(ctx, rec.Message); err != nil {
			return err
		}
	}
	sum.Sessions++
	*j = sum
	return nil
}

func (j *replayedJSON) Print(p *term.Page) {
	p.Head("With pleat", "in a window of "+term.Thousands(j.Window)+" tokens; about, by replay")
	change := term.Percent(j.Sent-j.Would, j.Sent) + " less"
	if j.Would > j.Sent {
		change = term.Percent(j.Would-j.Sent, j.Sent) + " more"
	}
	p.Hang("  ", fmt.Sprintf("%s of %s: %s prompt tokens instead of %s (%s)", term.Plural(j.Requests, "request"),
		term.Plural(j.Sessions, "session"), term.Short(j.Would), term.Short(j.Sent), change))
	word, usd := "saved", j.USD
	if usd < 0 {
		word, usd = "lost", -usd
	}
	p.Hang("  ", fmt.Sprintf("%s %s, if all that was not sent had been read from the cache", term.Cents(usd), word))
	if j.Failed > 0 {
		p.Line("  %s not replayed", term.Verb(j.Failed, "session", "was", "were"))
	}
}
