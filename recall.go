package pleat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/finder"
	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Unfold gives back something folded, or any other block of the session that has a
// handle: whole, or the part that the request chooses. The content is checked against
// the hash under which it was folded. A handle that this session does not have is
// [ErrNotFound]: handles work only in the session that made them and, of what both have, in its
// forks.
func (s *Session) Unfold(ctx context.Context, r recall.UnfoldRequest) (u recall.Unfolded, err error) {
	err = s.locked(ctx, func() error {
		if u, err = s.finderLocked().Unfold(ctx, r); err != nil {
			return fmt.Errorf("unfold %q: %w", r.Handle, err)
		}
		s.say.tell(ctx, Event{Kind: EventRecall, Recall: u.Handle})
		return nil
	})
	return u, err
}

// Answer answers a call to one of the [RecallTools] in [Options].Tools. It reports
// false for any other tool, which the program carries out itself. If the context
// ends while other calls have the session, the result is an error that says so.
func (s *Session) Answer(ctx context.Context, call ToolCall) (ToolResult, bool) {
	if err := s.wait(ctx); err != nil {
		return transcript.ErrorResult(call.ID, err.Error()), true
	}
	tool := s.o.recallTool(call.Name)
	s.mu.Unlock()
	if tool == "" {
		return ToolResult{}, false
	}
	text, failed, _ := inner{s}.Answer(ctx, tool, call.Input.String())
	r := transcript.Result(call.ID, text)
	r.Error = failed
	return r, true
}

// Search looks for lines in everything that was said and done in the session, folded or
// not, and returns the best places for each query. Every place says what it is, where,
// and what made it stale since. What the model can see anyway comes after what it cannot;
// questions to the recall tools and their answers are left out.
//
// Its cost depends on the query and on what is found, not on the length of the session
// beyond what the store's index needs. It reads the whole session with a store that cannot
// search (see [store.Searcher]), and for a query that finds nothing and does not say where to
// look: then words that differ from its own by a letter are looked for.
func (s *Session) Search(ctx context.Context, r recall.SearchRequest) (res recall.SearchResult, err error) {
	if len(r.Queries) == 0 {
		return recall.SearchResult{}, errors.New("search: no query was given")
	}
	err = s.locked(ctx, func() error {
		res, err = s.finderLocked().Search(ctx, r, func(query, words string, n int) ([]store.Hit, error) {
			places, err := places(ctx, s.journal, words, n)
			if err == nil {
				s.say.tell(ctx, Event{Kind: EventRecall, Recall: query})
			}
			return places, err
		})
		return err
	})
	return res, err
}

// places asks the store for windows with some of the words. If the store cannot search, or not write
// the index that it needs for it, all messages are read.
func places(ctx context.Context, j *journal.Journal, words string, n int) ([]store.Hit, error) {
	if engine, ok := j.Store().(store.Searcher); ok {
		hits, err := engine.Search(ctx, j.Key(), words, n)
		if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, store.ErrReadOnly) && !errors.Is(err, store.ErrFull) {
			return hits, err
		}
	}
	var err error
	st := j.State()
	hits := store.Scan(func(yield func(uint64, string) bool) {
		for i := range st.Len() {
			var m transcript.Message
			if m, err = st.Message(ctx, i); err != nil || !yield(st.Entry(i), conv.SearchText(m)) {
				return
			}
		}
	}, words, n)
	return hits, cmp.Or(err, ctx.Err())
}

// finderLocked returns what finds things in the session.
func (s *Session) finderLocked() *finder.Finder {
	x := &finder.Finder{
		Conversation: s.st, Call: fold.UnfoldCall,
		Folded: func(handle string) bool {
			return slices.ContainsFunc(s.st.Folds, func(f *fold.Fold) bool { return f.Handle == handle })
		},
	}
	if s.o.Recall != nil {
		x.Call = s.o.Recall
	}
	switch {
	case s.o.Ended:
		x.Shown = func(transcript.BlockRef) bool { return false }
	case s.st.Folded():
		x.Shown = s.st.Layout.Shows
	}
	return x
}
