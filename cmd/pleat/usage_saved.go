package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/bench"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
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
	// Agents is what they would have sent had agents compacted by their own rules in that window.
	Agents []ownJSON `json:"agents"`
	Failed int       `json:"failed"` // sessions that could not be replayed

	why string // the first of them
}

// ownJSON is what requests would have been under an agent's own rule.
type ownJSON struct {
	Name   string  `json:"name"`
	Tokens int     `json:"prompt_tokens"`
	USD    float64 `json:"usd"` // of input, and of the summaries

	summaries int
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
		if j.Saved.Failed++; j.Saved.why == "" {
			j.Saved.why = err.Error()
		}
		return nil
	}
	return errors.Join(err, ctx.Err())
}

func (j *replayedJSON) add(ctx context.Context, f *sessionfile.File, counted map[library.Request]bool) error {
	opts := f.Options()
	opts.Tokens = tokens.NewTokenizer(f.Model, nil)
	opts.Policy, opts.Budget = policy.Pays(policy.Default()), fold.Budget{Window: j.Window}
	again := 0
	opts.Observe = func(_ context.Context, _ store.SessionKey, e pleat.Event) {
		if e.Kind == pleat.EventEpoch {
			again += e.Plan.Cache.Rewritten
		}
	}
	s, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "file"}, &opts)
	if err != nil {
		return err
	}
	before, last, sum := 0, time.Time{}, *j
	sum.Agents = make([]ownJSON, len(bench.Agents()))
	copy(sum.Agents, j.Agents)
	var agents []bench.AgentReplay
	for rec, err := range f.Records() {
		if err != nil {
			return err
		}
		if u := rec.Usage; u != nil && u.Prompt() > 0 && s.Len() > 0 {
			idle := max(rec.Time.Sub(last), 0)
			if last.IsZero() || rec.Time.IsZero() {
				idle = 0
			}
			if agents == nil { // files have neither the system prompt nor the tools
				head := max(u.Prompt()-int(s.Snapshot().Whole), 0)
				words := strings.Repeat(" word", head) // counts as at least head tokens
				s.SetHead(opts.System+words[:len(words)*head/max(opts.Tokens.CountText(words), 1)], opts.Tools)
				for i, a := range bench.Agents() {
					sum.Agents[i].Name = a.Name
					agents = append(agents, bench.AgentReplay{Agent: a, Window: j.Window, Fixed: head})
				}
			}
			if _, err := s.View(ctx, pleat.Turn{Idle: idle}); err != nil {
				return err
			}
			with, whole := int(s.Snapshot().Tokens), int(s.Snapshot().Whole)
			fresh := whole - before // since the request before
			if before == 0 || len(f.Model.Cache.TTL) > 0 && idle > f.Model.Cache.TTL[0] {
				fresh, again = whole, 0 // the cache has nothing
			}
			counts := counted[library.Request{Time: rec.Time, Usage: *u}]
			for i := range agents {
				sum.Agents[i].add(&agents[i], f.Model, input{whole, fresh}, counts)
			}
			if counts {
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

func (i input) cost(m model.Model) float64 {
	fresh := min(i.fresh, i.tokens)
	usd, _ := m.Cost(model.Usage{CacheRead: i.tokens - fresh, CacheWrite: fresh})
	return usd
}

// add goes on with the agent's next request, given what it is where nobody compacts, and adds it
// up if it counts.
func (j *ownJSON) add(r *bench.AgentReplay, m model.Model, whole input, counts bool) {
	tokens, asked := r.Next(whole.tokens)
	if !counts {
		return
	}
	if j.Tokens += tokens; asked > 0 {
		whole.fresh = max(whole.fresh, tokens-r.Fixed)
		usd, _ := m.Cost(model.Usage{CacheRead: asked, Output: bench.AgentSummary})
		j.Tokens, j.USD, j.summaries = j.Tokens+asked, j.USD+usd, j.summaries+1
	}
	j.USD += input{tokens, whole.fresh}.cost(m)
}

// price adds what a request cost without its answer, as it was and as it would have been.
func (j *replayedJSON) price(m model.Model, sent model.Usage, with, whole input) {
	sent.Output, sent.Reasoning = 0, 0
	if usd, known := m.Cost(sent); known {
		j.USDSent, j.USDWith, j.USDWhole = j.USDSent+usd, j.USDWith+with.cost(m), j.USDWhole+whole.cost(m)
		j.USD = j.USDSent - j.USDWith
	}
}

func (j *replayedJSON) Print(p *term.Page) {
	p.Head("With the proxy", "about, by replay in a window of "+term.Short(j.Window)+" tokens")
	p.Hang("  ", fmt.Sprintf("%s of %s under its policy; answers are not counted", term.Plural(j.Requests, "request"),
		term.Plural(j.Sessions, "session")))
	p.Line("%s", p.Dim(fmt.Sprintf("  %-20s%8s%11s%13s", "", "tokens", "cost", "pleat costs")))
	var dearer, thanNone bool
	row := func(name string, tokens int, usd float64) {
		ratio := ""
		if usd > 0 && name != "pleat" {
			percent, than := math.Round((j.USDWith/usd-1)*100), "less"
			more := percent > 0
			if more {
				than = "more"
			}
			ratio = fmt.Sprintf("%.0f%% %s", math.Abs(percent), than)
			dearer, thanNone = dearer || more && usd != j.USDWhole, thanNone || more && usd == j.USDWhole
		}
		line := fmt.Sprintf("  %-20s%8s%11s%13s", name, term.Short(tokens), term.Cents(usd), ratio)
		p.Line("%s", strings.TrimRight(line, " "))
	}
	row("pleat", j.Would, j.USDWith)
	row("no compaction at all", j.Whole, j.USDWhole)
	for _, a := range j.Agents {
		row(a.Name+"'s own", a.Tokens, a.USD)
	}
	p.Line("  %-20s%8s%11s", "what the agents sent", term.Short(j.Sent), term.Cents(j.USDSent)) // in other windows
	for _, a := range j.Agents {
		if a.summaries > j.Requests/4 {
			p.Hang("  ", fmt.Sprintf("%s's own rule does not fit such a window: it keeps so much of it free that it "+
				"compacts before %s of %s requests.", a.Name, term.Thousands(a.summaries), term.Thousands(j.Requests)))
		}
	}
	if dearer {
		p.Hang(
			"  ", "Where pleat costs more, it keeps more: agents go on from a short summary, pleat from up to a quarter "+
				"of the window, which costs more the more often a session fills it. The 0.73 to 0.76 of "+
				"docs/measured.md is of other sessions, with a cache that is always warm.")
	}
	if thanNone {
		p.Hang(
			"  ", "It costs more than no compaction where sessions end soon after a fold, which has the prompt cached "+
				"again.")
	}
	if j.Failed > 0 {
		failed := term.Verb(j.Failed, "session", "was", "were")
		p.Hang("  ", fmt.Sprintf("%s not replayed, the first because: %s", failed, term.OneLine(j.why)))
	}
}
