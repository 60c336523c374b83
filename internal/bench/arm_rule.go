package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/transcript"
)

// rule is a method without memory: a view is a function of the transcript.
type rule func(r *ruled) transcript.View

// ruled is a transcript under a rule.
type ruled struct {
	t      transcript.Transcript
	sizes  []int // tokens of each message
	total  int
	setup  Setup
	rule   rule
	forced bool // Compact was called: the rule's threshold counts as met
}

func openRule(f rule) func(context.Context, Setup) (Method, error) {
	return func(_ context.Context, o Setup) (Method, error) { return &ruled{setup: o, rule: f}, nil }
}

func (r *ruled) Append(_ context.Context, msgs ...transcript.Message) error {
	for _, m := range msgs {
		n := r.setup.Tokens.CountMessage(m)
		r.sizes, r.total = append(r.sizes, n), r.total+n
	}
	r.t.Append(msgs...)
	return nil
}

func (r *ruled) Compact(context.Context) error {
	r.forced = true
	return nil
}

func (r *ruled) View(context.Context, time.Duration) (transcript.View, error) { return r.rule(r), nil }

// over reports whether the transcript has reached a share of the budget. Where the budget
// is what a view may have, and not a window, all of it is the threshold.
func (r *ruled) over(share float64) bool {
	if !r.setup.Replay {
		return r.forced || r.total > r.setup.Budget
	}
	return float64(r.total) > share*float64(r.setup.Budget)
}

// fit makes a view small enough, where the budget is one for views.
func (r *ruled) fit(v transcript.View) transcript.View {
	if r.setup.Replay {
		return v
	}
	fitted, err := shorten(v, r.t.At, r.setup.Budget, r.setup.Tokens)
	if err != nil {
		panic(fmt.Sprintf("bench: a rule made a view that does not resolve: %v", err))
	}
	return fitted
}

func none(r *ruled) transcript.View { return transcript.Whole(r.t.Len()) }

func tail(r *ruled) transcript.View {
	v := transcript.Whole(r.t.Len())
	if r.setup.Replay && r.total > r.setup.Budget {
		// A window that slides by single messages would rewrite the cache every turn: half
		// of it goes at once.
		half := r.setup.Budget / 2
		at, kept := r.t.Len(), 0
		for at > 0 && kept+r.sizes[at-1] <= half+r.total%half {
			at--
			kept += r.sizes[at]
		}
		return dropBefore(v, &r.t, at)
	}
	return r.fit(v)
}

// clear3 is clear_tool_uses_20250919 and LangChain's ContextEditingMiddleware with their
// defaults: keep 3, clear_at_least 0, inputs left alone. The keep slides every turn.
func clear3(r *ruled) transcript.View {
	if !r.over(0.5) {
		return transcript.Whole(r.t.Len())
	}
	return r.fit(maskResults(&r.t, 3, func(string) string { return "[cleared]" }))
}

func mask10(r *ruled) transcript.View {
	return r.fit(maskResults(&r.t, 10, func(text string) string {
		return fmt.Sprintf("Previous %d lines omitted for brevity.", strings.Count(text, "\n")+1)
	}))
}

// maskResults replaces all but the newest results.
func maskResults(t *transcript.Transcript, keep int, stub func(text string) string) transcript.View {
	v := transcript.Whole(t.Len())
	for i := t.Len() - 1; i >= 0; i-- {
		blocks := t.At(i).Blocks()
		for b := blocks.Len() - 1; b >= 0; b-- {
			res, ok := blocks.At(b).(transcript.ToolResult)
			if !ok {
				continue
			}
			if keep--; keep >= 0 {
				continue
			}
			cut := transcript.BlockEdit{Block: b, Text: stub(res.Text())}
			v.Messages[i].Edits = append([]transcript.BlockEdit{cut}, v.Messages[i].Edits...)
		}
	}
	return v
}
