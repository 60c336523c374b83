package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// PolicyArm is a policy of the engine, with recall or without.
func PolicyArm(p fold.Policy, recall bool) Arm {
	return Arm{
		Name:       p.Name,
		Weighs:     p.Fits(),
		Summarizes: slices.ContainsFunc(p.AtRed, func(l fold.Lever) bool { _, ok := l.(fold.Asker); return ok }),
		Open: func(ctx context.Context, o Setup) (Method, error) {
			return openPolicy(ctx, p, recall, o)
		},
	}
}

// engine is a session of the engine at work.
type engine struct {
	s      *pleat.Session
	store  store.Store
	budget int // 0: in a replay the policy's own levels hold
	tokens *tokens.Tokenizer
}

func openPolicy(ctx context.Context, p fold.Policy, recall bool, o Setup) (Method, error) {
	opts := &pleat.Options{
		Tokens: o.Tokens, Model: o.Model, Codecs: library.Codecs(), Digest: o.Digest, Recall: pleat.UnfoldCall, Observe: o.Observe,
	}
	e := engine{tokens: o.Tokens}
	if o.Replay {
		if p.Budget.Window == 0 {
			opts.Budget.Window = o.Budget
		}
		if !o.Paid {
			opts.Tokens = nil // a policy counts in its own way
		} else if opts.System = systemPrompt(); p.Fits() { // what an agent that knows its prices turns on
			p = policy.Pays(p)
		}
	} else {
		e.budget = o.Budget
		all := fold.Share(1)
		one := fold.Tokens(1)
		opts.Budget = fold.Budget{Window: o.Budget + 1, Output: one, Buffer: one, Yellow: all, Red: all, Target: all}
		p.Budget.Window = 0
		// The budget is not the window in which results were born.
		p.AtBirth = fold.Change(p.AtBirth, func(s *lever.Spill) { s.Window = 0 })
		p.AtRed = fold.Change(p.AtRed, func(t *lever.Truncate) { t.Fit = true })
		p.AtRed = fold.Change(p.AtRed, func(s *lever.Summarize) { s.Tokens = min(s.Tokens, o.Budget/2) })
	}
	opts.Policy = p
	if p.Fits() {
		opts.Check = anthropic.Checker(model.Model{})
	}
	e.store = store.NewMemory()
	s, err := pleat.OpenSession(ctx, e.store, store.SessionKey{Session: "bench"}, opts)
	if err != nil {
		return nil, fmt.Errorf("open arm %s: %w", p.Name, err)
	}
	if e.s = s; recall {
		return &recalling{e}, nil
	}
	return &e, nil
}

func (e *engine) Append(ctx context.Context, msgs ...transcript.Message) error {
	return e.s.Append(ctx, msgs...)
}

func (e *engine) Compact(ctx context.Context) error {
	_, err := e.s.Compact(ctx, "")
	return err
}

func (e *engine) View(ctx context.Context, idle time.Duration) (transcript.View, error) {
	v, err := e.s.View(ctx, pleat.Turn{Idle: idle})
	if err != nil || e.budget == 0 {
		return v, err
	}
	// Policies that promise nothing may leave a view that no provider would take.
	msgs, err := e.s.Resolve(ctx, v)
	if err != nil {
		return v, err
	}
	return shorten(v, msgs, e.budget, e.tokens), nil
}

// recalling is an engine whose recall counts.
type recalling struct{ engine }

func (r *recalling) Search(ctx context.Context, query string) (string, error) {
	res, err := r.s.Search(ctx, recall.SearchRequest{Queries: []string{query}})
	if err != nil {
		return "", err
	}
	return res.Text(), nil
}

// unfoldTokens is the page of an unfolding that counts as one recall, as large as that of
// a search.
const unfoldTokens = 2_500

func (r *recalling) Unfold(ctx context.Context, handle string) (string, error) {
	u, err := r.s.Unfold(ctx, recall.UnfoldRequest{Handle: handle, Budget: unfoldTokens})
	if err != nil {
		return "", err
	}
	return u.Text(), nil
}

// systemPrompt stands for the system prompt and the tools of a replay.
var systemPrompt = sync.OnceValue(func() string { return strings.Repeat(" word", fixedTokens) })
