package dash

import (
	"cmp"
	"context"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// typed is how many tokens of a view are text in messages in which a person typed something. The
// rest of what has the user's role is from programs.
func typed(ctx context.Context, s *pleat.Session, folds []*fold.Fold, count *tokens.Tokenizer) (n int, err error) {
	said, _ := inside.Of(s).UserWords()
	for _, words := range said {
		if words.Via != "" { // in a result
			continue
		}
		m, err := s.Message(ctx, words.Message)
		if err != nil {
			return 0, err
		}
		for i, b := range m.Blocks().All() {
			hidden := library.Hiding(folds, transcript.BlockRef{Message: words.Message, Block: i}) != nil
			if b.Kind() == transcript.KindText && m.Role() == transcript.RoleUser && !hidden {
				n += count.CountBlock(b)
			}
		}
	}
	return n, nil
}

// partsOf lists what a view is made of, the largest first. So many tokens of it people typed, and
// all of it together has so many by the provider's count.
func partsOf(p fold.Parts, typed, all int) []share {
	typed = min(typed, p.User) // other policies may count otherwise
	list := []share{
		{Name: "System messages and tools", Tokens: p.System + p.Tools},
		{Name: "User text", Tokens: typed},
		{Name: "Injected text, summaries, overhead", Tokens: p.User - typed},
		{Name: "Assistant text", Tokens: p.Assistant},
		{Name: "Thinking", Tokens: p.Thinking},
		{Name: "Tool calls", Tokens: p.Calls},
		{Name: "Tool results", Tokens: p.Results},
		{Name: "Images and other", Tokens: p.Other},
		{Name: "Stubs of folds", Tokens: p.Stubs},
		{Name: "Page: the user's words", Tokens: p.Pins},
		{Name: "Page: what was done", Tokens: p.Ledger},
		{Name: "Page: the rest", Tokens: p.Digest},
	}
	list = slices.DeleteFunc(list, func(s share) bool { return s.Tokens == 0 })
	slices.SortStableFunc(list, func(a, b share) int { return b.Tokens - a.Tokens })
	own, before := 0, 0
	for i := range list {
		own += list[i].Tokens
		upTo := int(int64(own) * int64(all) / int64(p.Total())) // so that they add up to all
		list[i].Tokens, list[i].Of, before = upTo-before, all, upTo
	}
	return list
}

// toolShare is what the calls of a tool take.
type toolShare struct {
	Name   string
	Calls  int
	Failed int
	Shown  int64 // bytes of results in the window
	Folded int64 // and of those that are folded
}

// toolsOf adds up results by tool, those that fill the window first, and says how many bytes of all tools do.
func toolsOf(calls []ledger.Entry, rep pleat.Report) (list []toolShare, shown int64) {
	m := make(map[string]*toolShare)
	for i := range calls {
		c := &calls[i]
		t := m[c.Tool]
		if t == nil {
			t = &toolShare{Name: c.Tool}
			m[c.Tool] = t
		}
		t.Calls++
		if c.Outcome == toolcall.Failed {
			t.Failed++
		}
		if c.Outcome != toolcall.Unanswered && library.Hiding(rep.Folds, c.Result) != nil {
			t.Folded += int64(c.Bytes)
		} else {
			t.Shown += int64(c.Bytes)
		}
	}
	for _, t := range m {
		list, shown = append(list, *t), shown+t.Shown
	}
	slices.SortFunc(list, func(a, b toolShare) int {
		return cmp.Or(cmp.Compare(b.Shown, a.Shown), cmp.Compare(b.Folded, a.Folded), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), 15)], shown
}
