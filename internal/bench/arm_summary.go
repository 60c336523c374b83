package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// summarizing is deepagents' rule: the history up to a cutoff is replaced by one summary,
// and the next summary is made of that summary and what came after.
type summarizing struct {
	ruled
	cutoff  int
	summary transcript.Message // of the messages before the cutoff; meaningful if it is not 0
	size    int                // tokens of the summary
}

const (
	summarizeAt   = 0.85
	summarizeKeep = 0.10
	// summaryHead is how deepagents begins the message.
	summaryHead = "Here is a summary of the conversation to date:\n\n"
)

func openSummarize(_ context.Context, o Setup) (Method, error) {
	return &summarizing{ruled: ruled{setup: o}}, nil
}

func (s *summarizing) Compact(ctx context.Context) error { return s.compact(ctx) }

func (s *summarizing) View(ctx context.Context, _ time.Duration) (transcript.View, error) {
	now := s.size
	for _, n := range s.sizes[s.cutoff:] {
		now += n
	}
	limit := s.setup.Budget
	if s.setup.Replay {
		limit = int(summarizeAt * float64(limit))
	}
	if now > limit {
		if err := s.compact(ctx); err != nil {
			return transcript.View{}, err
		}
	}
	v := transcript.Whole(s.t.Len())
	if s.cutoff > 0 {
		v.Messages = append([]transcript.ViewMessage{{Source: -1, Made: s.summary}}, v.Messages[s.cutoff:]...)
	}
	return s.fit(v), nil
}

// compact summarizes everything but the newest tenth.
func (s *summarizing) compact(ctx context.Context) error {
	at, room := s.t.Len(), int(summarizeKeep*float64(s.setup.Budget))
	for at > s.cutoff && s.sizes[at-1] <= room {
		at--
		room -= s.sizes[at]
	}
	at = wholeRounds(&s.t, at)
	if at <= s.cutoff {
		return nil
	}
	var old []transcript.Message
	if s.cutoff > 0 {
		old = append(old, s.summary)
	}
	for i := s.cutoff; i < at; i++ {
		old = append(old, s.t.At(i))
	}
	text, err := digestOf(ctx, old, s.summaryRoom(), s.setup)
	if err != nil {
		return err
	}
	s.cutoff, s.summary = at, transcript.User(summaryHead+text).WithOrigin(transcript.OriginSummary)
	s.size = s.setup.Tokens.CountMessage(s.summary)
	return nil
}

// summaryRoom is generous: half of a view, and no more than models write.
func (s *summarizing) summaryRoom() int { return min(s.setup.Budget/2, 8_000) }

// digestOf is the digest of some messages, written as in every other arm: by code as long
// as no model is given.
func digestOf(ctx context.Context, msgs []transcript.Message, room int, o Setup) (string, error) {
	s, err := pleat.OpenSession(ctx, store.NewMemory(), store.SessionKey{Session: "digest"}, &pleat.Options{
		Policy: fold.Policy{
			Name: "digest", FoldHead: true,
			AtRed: fold.Steps{lever.Digest{Whole: true, Tokens: room, Stub: "{summary}"}},
		},
		Budget: fold.Budget{Window: 1 << 30}, Tokens: o.Tokens, Digest: o.Digest,
		Recall: func(string) string { return "" },
	})
	if err == nil {
		err = s.Append(ctx, msgs...)
	}
	var plan *fold.Plan
	if err == nil {
		plan, err = s.Compact(ctx, "")
	}
	if err != nil {
		return "", fmt.Errorf("digest %d messages: %w", len(msgs), err)
	}
	for _, f := range plan.Folds {
		if f.Digest && f.Stub != "" {
			return f.Stub, nil
		}
	}
	return "(nothing to tell)", nil
}

// owning shows the summary that the session's own agent went on from.
type owning struct {
	ruled
}

func openOwn(_ context.Context, o Setup) (Method, error) {
	if o.Own == "" {
		return nil, fmt.Errorf("open arm own: the session's agent made no summary here")
	}
	return &owning{ruled{setup: o}}, nil
}

func (o *owning) View(context.Context, time.Duration) (transcript.View, error) {
	return transcript.View{Messages: []transcript.ViewMessage{{
		Source: -1, Made: transcript.User(o.setup.Own).WithOrigin(transcript.OriginSummary),
	}}}, nil
}
