package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Summarizer is a model that writes the summaries of every arm that makes any. Its
// answers are kept in a folder under the hash of what it was asked, so that a run that
// was broken off goes on where it was, and one that is run again costs nothing. It is for
// one run at a time.
type Summarizer struct {
	Asked
	Dir string // of the cache

	mu  sync.Mutex
	err error // the first
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
		Generator: s, Model: s.Model, NoFork: true, NoBackground: true,
		Deadline: 10 * time.Minute, Calls: -1, Breaker: -1,
	}
}

// failed is the first error of the model. An arm would go on with a digest by code, and
// the table would not be what it says.
func (s *Summarizer) failed() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Generate implements [pleat.Generator]: it asks the model, or the cache.
func (s *Summarizer) Generate(ctx context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
	name := filepath.Join(
		s.Dir, "summaries", transcript.HashOf(s.Name+"\x00"+req.System+"\x00"+plainText(req.Messages)).String()+".txt",
	)
	if data, err := os.ReadFile(name); err == nil {
		return model.Reply{
			Messages: []transcript.Message{transcript.Assistant(transcript.Say(string(data)))},
			Stop:     model.StopEnd,
		}, nil
	}
	reply, err := s.Generator.Generate(ctx, req, nil)
	if err == nil && reply.Stop == model.StopEnd {
		err = keepText(name, replyText(reply))
	}
	if e, ok := errors.AsType[*model.APIError](err); ok && e.Overflow() {
		return reply, err // the engine asks for less
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.mu.Lock()
		if s.err == nil {
			s.err = fmt.Errorf("summarize by %s: %w", s.Name, err)
		}
		s.mu.Unlock()
	}
	return reply, err
}

func replyText(r model.Reply) string {
	text := ""
	for _, m := range r.Messages {
		text += m.Text()
	}
	return text
}

// keepText writes a file of the cache.
func keepText(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	return nil
}

// Estimate says what the summaries of a run cost at most if nothing is in the cache: as
// if every arm that summarizes had to at every compaction, and every try were needed.
func (s *Summarizer) Estimate(sessions []Session, opts Options) Estimate {
	o := opts.withDefaults()
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
		for _, sp := range sessions[i].spans() {
			add(sp.cut, o.keys())
		}
		for _, sp := range sessions[i].ownSpans() {
			add(sp.cut, o.ownKeys())
		}
	}
	return e
}
