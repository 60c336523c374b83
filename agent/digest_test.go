package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
)

// What a summarizer costs is part of what a run has spent, and limits count it.
func TestDigestsAreSpent(t *testing.T) {
	t.Parallel()
	summarizer := model.GeneratorFunc(func(context.Context, *model.Request, func(model.Delta)) (model.Reply, error) {
		r := pleattest.Say("All files were read.").Reply
		r.Usage = model.Usage{Input: 5_000, Output: 50}
		return r, nil
	})
	n := 0
	asks := model.GeneratorFunc(func(context.Context, *model.Request, func(model.Delta)) (model.Reply, error) {
		n++
		r := pleattest.Use(call(fmt.Sprint("c", n), "read_file", `{"path":"f%d.txt"}`, n)).Reply
		r.Usage = model.Usage{Input: 100, Output: 10}
		return r, nil
	})
	b := newBench(t, agent.Options{
		Generator: asks, Limits: agent.Limits{Turns: 40, Tokens: 6_000},
		Session: pleat.Options{
			Policy: named(t, "threshold"),
			Budget: fold.Budget{Window: 8_000},
			Digest: digest.Options{Generator: summarizer},
		},
	})
	for i := range 40 {
		b.file(t, fmt.Sprintf("f%d.txt", i+1), strings.Repeat("a line of the file\n", 200))
	}
	res, err := b.Run(t.Context(), "Read all files.")
	if err != nil || res.Stop != agent.StopTokens || res.Turns >= 40 {
		t.Fatalf("the run ended with %+v, %v", res, err)
	}
	digests := 0
	for _, e := range b.events {
		if e.Kind == agent.EventUsage && e.Digest {
			digests += e.Usage.Tokens()
		}
	}
	if want := 110*res.Turns + digests; digests == 0 || res.Spent.Tokens() != want {
		t.Errorf("spent %d tokens, want %d with %d for digests", res.Spent.Tokens(), want, digests)
	}
}

// The pause that a policy waits for counts also when another program asked before it.
func TestIdleAfterRestart(t *testing.T) {
	t.Parallel()
	st, now := store.NewMemory(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := fold.Policy{
		Name:      "idle",
		WhenIdle:  fold.Steps{lever.Mask{Keep: 1, All: true, Stub: "[cleared]"}},
		IdleAfter: time.Hour,
	}
	run := func(steps ...pleattest.Step) []*model.Request {
		b := newBench(
			t,
			agent.Options{Store: st, Session: pleat.Options{Policy: p}, Now: func() time.Time { return now }},
			steps...)
		b.file(t, "a.txt", strings.Repeat("something to forget\n", 100))
		run(t, b.Agent, "Go on.")
		return b.script.Requests()
	}
	use := func(id string) pleattest.Step { return pleattest.Use(call(id, "read_file", `{"path":"a.txt"}`)) }
	run(use("a"), use("b"), pleattest.Say("read"))
	now = now.Add(61 * time.Minute)
	if got := requestText(run(pleattest.Say("done"))[0]); !strings.Contains(got, "[cleared]") {
		t.Errorf("after an hour and a restart nothing is cleared:\n%s", got)
	}
}

// A policy says how often a request that was refused as too long is folded and sent again.
func TestPolicyRetries(t *testing.T) {
	t.Parallel()
	for retries, want := range map[int]int{0: 2, 1: 2, 2: 3} {
		p, asked := policy.Default(), 0
		p.Retries = retries
		refuses := model.GeneratorFunc(func(context.Context, *model.Request, func(model.Delta)) (model.Reply, error) {
			if asked++; asked <= 8 {
				return pleattest.Use(call(fmt.Sprint("c", asked), "bash", `{"command":"seq %d"}`,
					2_000+asked)).Reply, nil
			}
			return model.Reply{}, &model.APIError{Kind: model.ErrorTooLong, Message: "too long"}
		})
		b := newBench(t, agent.Options{Generator: refuses, Session: pleat.Options{Policy: p}, Permit: agent.AllowAll})
		if _, err := b.Run(t.Context(), "Count."); err == nil || asked-8 != want {
			t.Errorf("with %d retries it asked %d times, want %d (%v)", retries, asked-8, want, err)
		}
	}
}

// However many files were read, a refusal is answered with a summary and the newest messages.
func TestRefusalAfterReads(t *testing.T) {
	t.Parallel()
	for _, files := range []int{4, 12, 30} {
		asked := 0
		gen := model.GeneratorFunc(func(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
			asked++
			switch {
			case asked <= files:
				return pleattest.Use(call(fmt.Sprint("c", asked), "read_file", `{"path":"f%d.txt"}`, asked)).Reply, nil
			case asked == files+1:
				return model.Reply{}, &model.APIError{Kind: model.ErrorTooLong, Message: "prompt is too long"}
			case !strings.Contains(requestText(req), "[Reactive compact]\n\nBy read_file: f1.txt."):
				t.Errorf("%d files: no summary in\n%.500s", files, requestText(req))
			}
			return pleattest.Say("done").Reply, nil
		})
		summarizer := &pleattest.Script{Steps: []pleattest.Step{pleattest.Say("<summary>By read_file: f1.txt.</summary>")}}
		b := newBench(t, agent.Options{Generator: gen, Session: pleat.Options{
			Policy: named(t, "four-layer"), Budget: fold.Budget{Window: 200_000},
			Digest: digest.Options{Generator: summarizer},
		}})
		for i := range files {
			b.file(t, fmt.Sprintf("f%d.txt", i+1), strings.Repeat("a line of the file that was read\n", 400))
		}
		if res, err := b.Run(t.Context(), "Read all files."); err != nil || res.Text != "done" {
			t.Errorf("%d files: %+v, %v", files, res, err)
		}
	}
}
