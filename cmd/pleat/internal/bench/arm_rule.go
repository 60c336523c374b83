package bench

import (
	"context"
	"time"

	"github.com/pleat-dev/pleat/transcript"
)

// rule is a method without memory: a view is a function of the transcript.
type rule func(r *ruled) (transcript.View, error)

// ruled is a transcript under a rule.
type ruled struct {
	msgs  []transcript.Message
	sizes []int // tokens of each message
	total int
	setup Setup
	rule  rule
}

func openRule(f rule) func(context.Context, Setup) (Method, error) {
	return func(_ context.Context, o Setup) (Method, error) { return &ruled{setup: o, rule: f}, nil }
}

func (r *ruled) Append(_ context.Context, msgs ...transcript.Message) error {
	for _, m := range msgs {
		n := r.setup.Tokens.CountMessage(m)
		r.sizes, r.total = append(r.sizes, n), r.total+n
	}
	r.msgs = append(r.msgs, msgs...)
	return nil
}

func (r *ruled) Compact(context.Context) error { return nil }

func (r *ruled) View(context.Context, time.Duration) (transcript.View, error) { return r.rule(r) }

func none(r *ruled) (transcript.View, error) { return transcript.Whole(len(r.msgs)), nil }

func tail(r *ruled) (transcript.View, error) {
	v := transcript.Whole(len(r.msgs))
	switch {
	case !r.setup.Replay:
		return shorten(v, r.msgs, r.setup.Budget, r.setup.Tokens), nil
	case r.total <= r.setup.Budget:
		return v, nil
	}
	// A window that slides by single messages would rewrite the cache every turn: half of it
	// goes at once.
	half := r.setup.Budget / 2
	at, kept := len(r.msgs), 0
	for at > 0 && kept+r.sizes[at-1] <= half+r.total%half {
		at--
		kept += r.sizes[at]
	}
	if at = wholeRounds(transcript.NewTranscript(r.msgs...), at); at >= len(r.msgs) {
		return v, nil
	}
	return from(v, r.msgs, at), nil
}

// own is the summary that the session's own agent went on from.
func own(r *ruled) (transcript.View, error) {
	return transcript.View{Messages: []transcript.ViewMessage{{
		Source: -1, Made: transcript.User(r.setup.Own).WithOrigin(transcript.OriginSummary),
	}}}, nil
}
