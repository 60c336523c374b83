package pleat

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Unfold gives back something folded, or any other block of the session that has a
// handle: whole, or the part that the request chooses. The content is checked against
// the hash under which it was folded. A handle that this session does not have is
// [ErrNotFound]: handles work only in the session that made them and, of what both have, in its
// forks.
func (s *Session) Unfold(ctx context.Context, r recall.UnfoldRequest) (recall.Unfolded, error) {
	if err := s.wait(ctx); err != nil {
		return recall.Unfolded{}, err
	}
	defer s.mu.Unlock()
	u, err := s.finder().Unfold(ctx, r)
	if err != nil {
		return recall.Unfolded{}, fmt.Errorf("unfold %q: %w", r.Handle, err)
	}
	s.tell(ctx, Event{Kind: EventRecall, Recall: u.Handle})
	return u, nil
}

// Recall answers a call to one of the [recall.Tools], by the name that it has there, with the
// text for the model. handled is false if the tool is none of them. What went wrong is told to
// the model, with what to do instead. Most programs want [Session.Answer], which goes by the
// names in [Options].Tools.
func (s *Session) Recall(ctx context.Context, tool, input string) (text string, isError, handled bool) {
	if err := s.wait(ctx); err != nil {
		return err.Error(), true, true
	}
	window := s.meter.Window()
	s.mu.Unlock()
	return recall.Answer(ctx, recallSession{s}, window, tool, input)
}

// recallSession is a session as the recall tools use it.
type recallSession struct{ *Session }

// Snip takes the middle of the conversation out of view, where the policy snips.
func (s recallSession) Snip(ctx context.Context, keep int) (recall.Compacted, error) {
	l := policy.Snipper(s.o.Policy, s.o.Child, keep)
	if l == nil {
		return recall.Compacted{}, errors.New("this conversation is not snipped")
	}
	p, err := s.Pull(ctx, l)
	if err != nil || p.IsEmpty() {
		return recall.Compacted{}, err
	}
	return recall.Compacted{Folds: len(p.Folds), Before: p.Before, After: p.After}, nil
}

func (s recallSession) Compact(ctx context.Context, focus string) (recall.Compacted, error) {
	p, err := s.Session.Compact(ctx, focus)
	if err != nil || p.IsEmpty() {
		return recall.Compacted{}, err
	}
	return recall.Compacted{
		Folds: len(p.Folds), Before: p.Before, After: p.After, Answer: s.o.Policy.Asks().Answer,
	}, nil
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
func (s *Session) Search(ctx context.Context, r recall.SearchRequest) (recall.SearchResult, error) {
	if len(r.Queries) == 0 {
		return recall.SearchResult{}, errors.New("search: no query was given")
	}
	if err := s.wait(ctx); err != nil {
		return recall.SearchResult{}, err
	}
	defer s.mu.Unlock()
	res, err := s.finder().Search(ctx, r, func(query, words string, n int) ([]store.Hit, error) {
		places, err := s.places(ctx, words, n)
		if err == nil {
			s.tell(ctx, Event{Kind: EventRecall, Recall: query})
		}
		return places, err
	})
	return res, err
}

// places asks the store for windows with some of the words. If the store cannot search, or not write
// the index that it needs for it, all messages are read.
func (s *Session) places(ctx context.Context, words string, n int) ([]store.Hit, error) {
	if engine, ok := s.store.(store.Searcher); ok {
		hits, err := engine.Search(ctx, s.key, words, n)
		if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, store.ErrReadOnly) && !errors.Is(err, store.ErrFull) {
			return hits, err
		}
	}
	var err error
	hits := store.Scan(func(yield func(uint64, string) bool) {
		for i := range s.st.Len() {
			var m transcript.Message
			if m, err = s.st.Message(ctx, i); err != nil || !yield(s.st.Contents.Entry(i), conv.SearchText(m)) {
				return
			}
		}
	}, words, n)
	return hits, cmp.Or(err, ctx.Err())
}

// LedgerText lists the calls that the filter chooses in at most budget tokens (0: no
// bound), the newest last. If there is no room for all, the newest are shown, and how to
// call the tool ledger for the others.
func (s *Session) LedgerText(f ledger.Filter, budget int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finder().LedgerText(f, budget)
}
