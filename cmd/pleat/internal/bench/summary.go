package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
)

// Summarizer is a model that writes the summaries of every arm that makes any. It is for one
// run at a time.
type Summarizer struct {
	Asked
	Rules string // for its summaries, see [digest.Options]; empty: none

	err atomic.Value // the model's first error
}

// summaryTries is how often the engine asks at most for one digest.
const summaryTries = 3

// digest is what makes an arm ask the model: nothing ahead of need, no limit but the
// number of digests, always as a text of its own, so that two runs ask the same.
func (s *Summarizer) digest() digest.Options {
	if s == nil {
		return digest.Options{}
	}
	return digest.Options{
		Generator: s, Model: s.Model, Rules: s.Rules, NoFork: true, NoBackground: true,
		Deadline: 10 * time.Minute, Calls: -1, Breaker: -1,
	}
}

// failed is the first error of the model. An arm would go on with a digest by code, and
// the table would not be what it says.
func (s *Summarizer) failed() error {
	if s == nil {
		return nil
	}
	err, _ := s.err.Load().(error)
	return err
}

// Generate implements [model.Generator].
func (s *Summarizer) Generate(ctx context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
	reply, err := s.ask(ctx, req)
	if e, ok := errors.AsType[*model.APIError](err); ok && e.Overflow() {
		return reply, err // the engine asks for less
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.err.CompareAndSwap(nil, fmt.Errorf("summarize by %s: %w", s.Name, err))
	}
	return reply, err
}

// Estimate says what the summaries of a run cost at most if nothing is in the cache: as
// if every arm that summarizes had to at every compaction, and every try were needed.
func (s *Summarizer) Estimate(sessions []Session, o Options) Estimate {
	tokens := tokens.NewTokenizer(model.Model{}, nil)
	e := Estimate{Known: true}
	for i := range sessions {
		w := worker{s: &sessions[i], tokens: tokens}
		add := func(cut int, keys []key) {
			size := w.size(cut)
			for _, k := range keys {
				if !o.Arms[k.arm].Summarizes || float64(size) < slack*float64(k.budget) {
					continue
				}
				e.add(s.Model, k.chain*summaryTries, size/k.chain+k.budget, min(k.budget/2, 8_000))
			}
		}
		add(sessions[i].futureSpan().cut, o.keys(false))
		for _, sp := range sessions[i].ownSpans() {
			add(sp.cut, o.keys(true))
		}
	}
	return e
}
