package lever

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/pleat-dev/pleat/fold"
)

// Snip folds the middle of a very long conversation.
type Snip struct {
	Above int    `json:"above,omitempty"` // folds when more messages than this are shown; 0: never
	Head  int    `json:"head,omitempty"`  // first messages that stay
	Tail  int    `json:"tail,omitempty"`  // newest messages that stay
	Stub  string `json:"stub,omitempty"`  // {n}, {handle}; empty: a page with user words and ledger
	Main  bool   `json:"main,omitempty"`  // only in the main conversation, not in a sub-agent's
	// UnlessDigest leaves the middle to a digest where a model writes one: it says the same
	// and more.
	UnlessDigest bool         `json:"unless_digest,omitempty"`
	Restore      fold.Restore `json:"restore,omitzero"` // on its page; it restores no files
}

// Name returns "snip".
func (Snip) Name() string { return "snip" }

// Check refuses negative numbers.
func (s Snip) Check() error {
	return cmp.Or(notNegative("above, head and tail", s.Above, s.Head, s.Tail), s.Restore.Check())
}

// Behind returns how many messages it keeps at the beginning.
func (s Snip) Behind() int {
	if s.Above <= 0 {
		return 0
	}
	return max(s.Head, 1)
}

// Pull folds the middle. With a Stub it does so whatever the goal.
func (s Snip) Pull(d *fold.Draft) {
	if s.Above <= 0 || s.Main && d.Child || s.Stub == "" && d.Enough() || s.UnlessDigest && !d.Pulled && d.ByModel() || d.Messages() <= s.Above {
		return
	}
	n := d.Len()
	start, end := min(max(s.Head, d.Head()), n), max(n-s.Tail, 0)
	for start < n && !d.Safe(start) {
		start++ // a round at the head stays whole at the head
	}
	start = d.Widened(start)
	end = d.Joined(start, d.Back(end))
	if end <= start {
		return
	}
	room := fold.PageRoom{Total: pageTokens(d, 0, 0), Words: d.WordsRoom()}
	if s.Stub == "" && d.Goal > 0 && d.Tokens()-d.TokensIn(start, end)+d.PageSize(room) > d.Goal {
		return // not enough: a digest of more turns says the same and more
	}
	f := d.Span(start, end, s, fmt.Sprintf("more than %d messages", s.Above))
	if s.Stub != "" {
		f.Stub = fold.Expand(s.Stub, "{n}", strconv.Itoa(end-start), "{handle}", f.Handle)
		f.Parts = fold.Parts{Stubs: d.Count(f.Stub)}
	} else {
		d.Page(f, fold.PageStyle{Room: room, Restore: s.Restore})
	}
	d.FoldSpan(f)
}
