package lever

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/pleat-dev/pleat/fold"
)

// Snip folds the middle of a very long conversation.
type Snip struct {
	Above int    `json:"above,omitempty"` // folds when more messages than this are shown; 0: never
	Head  int    `json:"head,omitempty"`  // first messages that stay; 0: those before the first answer
	Tail  int    `json:"tail,omitempty"`  // newest messages that stay; 0: none
	Stub  string `json:"stub,omitempty"`  // {n}, {handle}; empty: nothing stands for the middle
	Main  bool   `json:"main,omitempty"`  // only in the main conversation, not in a sub-agent's
}

// Name returns "snip".
func (Snip) Name() string { return "snip" }

// Check refuses negative numbers and a blank stub.
func (s Snip) Check() error {
	return cmp.Or(fold.CheckNumbers("above, head and tail", s.Above, s.Head, s.Tail), notBlank("stub", s.Stub))
}

// Pull folds the middle, whatever the goal.
func (s Snip) Pull(ctx context.Context, d *fold.Draft) error {
	if s.Above <= 0 || s.Main && d.Child || s.shown(d) <= s.Above {
		return nil
	}
	at := d.Marks()
	start, end := min(max(s.Head, at.Head), at.End), max(at.End-s.Tail, 0)
	for start < at.End && !safe(d, start) {
		start++ // a round at the head stays whole at the head
	}
	if start, end = d.Fit(start, d.Back(end)); end <= start {
		return nil
	}
	f, err := d.Span(ctx, start, end, s, fmt.Sprintf("more than %d messages", s.Above))
	if err != nil {
		return err
	}
	f.Stub = fold.Expand(s.Stub, "{n}", strconv.Itoa(end-start), "{handle}", f.Handle)
	f.Final = true
	d.FoldSpan(f)
	return nil
}

// shown returns how many messages of the conversation the view shows.
func (Snip) shown(d *fold.Draft) int {
	n := len(d.Facts())
	for _, f := range d.Folds().Spans() {
		n -= f.End - f.Start
	}
	return n
}
