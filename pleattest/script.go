package pleattest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Script is a model that follows a script: each request gets the next step's answer. It
// is safe for concurrent use and keeps every request it got.
type Script struct {
	// Steps answer the first requests, one each.
	Steps []Step
	// Then answers the requests after them; n counts all requests from 0. If it is nil,
	// they get an error.
	Then func(n int, req *model.Request) (model.Reply, error)

	mu       sync.Mutex
	requests []*model.Request
}

// Step is one answer of a [Script].
type Step struct {
	Reply model.Reply // the answer
	Err   error       // returned beside it; nil: the answer is complete
	// Hang waits until the request is cancelled and returns its error.
	Hang bool
}

// Say is a step that answers with text and stops.
func Say(text string) Step {
	return answer(model.StopEnd, transcript.Say(text))
}

// Use is a step that calls tools.
func Use(calls ...transcript.ToolCall) Step {
	blocks := make([]transcript.Block, len(calls))
	for i, c := range calls {
		blocks[i] = c
	}
	return answer(model.StopToolUse, blocks...)
}

func answer(stop model.StopReason, blocks ...transcript.Block) Step {
	return Step{Reply: model.Reply{Messages: []transcript.Message{transcript.Assistant(blocks...)}, Stop: stop}}
}

// Fail is a step that ends in an error.
func Fail(err error) Step { return Step{Err: err} }

// Always is a script that answers every request with the same text.
func Always(text string) *Script {
	return &Script{Then: func(int, *model.Request) (model.Reply, error) { return Say(text).Reply, nil }}
}

// Generate implements [model.Generator].
func (s *Script) Generate(ctx context.Context, req *model.Request, sink func(model.Delta)) (model.Reply, error) {
	n, step, err := s.next(req)
	if err != nil {
		return model.Reply{}, err
	}
	if step.Hang {
		<-ctx.Done()
		return model.Reply{}, fmt.Errorf("scripted answer %d: %w", n, ctx.Err())
	}
	if sink != nil {
		step.Reply.Stream(sink)
	}
	return step.Reply, step.Err
}

func (s *Script) next(req *model.Request) (int, Step, error) {
	s.mu.Lock()
	n := len(s.requests)
	r := *req
	r.Messages = slices.Clone(req.Messages)
	s.requests = append(s.requests, &r)
	s.mu.Unlock()
	if n < len(s.Steps) {
		return n, s.Steps[n], nil
	}
	if s.Then == nil {
		return n, Step{}, fmt.Errorf("scripted model: request %d of %d has no answer", n+1, len(s.Steps))
	}
	reply, err := s.Then(n, req)
	return n, Step{Reply: reply, Err: err}, nil
}

// Requests returns the requests that the model got, in order.
func (s *Script) Requests() []*model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}
