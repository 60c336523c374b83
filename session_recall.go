package pleat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

// Unfold gives back something folded, or any other block of the session that has a
// handle: whole, or the part that the request chooses. The content is checked against
// the hash under which it was folded. A handle that this session does not have is
// [ErrNotFound]: handles work only in the session that made them.
func (s *Session) Unfold(ctx context.Context, r recall.UnfoldRequest) (recall.Unfolded, error) {
	defer s.begin(ctx)()
	u, err := s.unfold(r)
	if fault := s.st.Contents.Fault(); fault != nil {
		err = fault
	}
	if err != nil {
		return recall.Unfolded{}, fmt.Errorf("unfold %q: %w", r.Handle, err)
	}
	s.tell(Event{Kind: EventRecall, Recall: u.Handle})
	return u, nil
}

func (s *Session) unfold(r recall.UnfoldRequest) (recall.Unfolded, error) {
	u, err := s.finder().Unfold(r, s.calls(), s.st.Content)
	if errors.Is(err, store.ErrNotFound) && slices.ContainsFunc(s.st.Folds, func(f *fold.Fold) bool { return f.Handle == recall.HandleIn(r.Handle) }) {
		err = fmt.Errorf("the message that was folded under it has other content now: %w", store.ErrCorrupt)
	}
	return u, err
}

// Recall answers a call to one of the [RecallTools] with the text for the model. handled
// is false if the tool is none of them. Models are sloppy with arguments, so what they
// mean is taken where it is clear: numbers in quotes, one string for a list, the main
// argument alone. What went wrong is told to the model, with what to do instead.
func (s *Session) Recall(ctx context.Context, tool, input string) (text string, isError, handled bool) {
	answer, ok := map[string]func(context.Context, recall.Args) (string, error){
		recall.ToolUnfold: s.answerUnfold, recall.ToolSearch: s.answerSearch, recall.ToolLedger: s.answerLedger,
		recall.ToolNote: s.answerNote, recall.ToolPin: s.answerPin, recall.ToolCompact: s.answerCompact,
	}[tool]
	if !ok {
		return "", false, false
	}
	args, err := recall.ReadArgs(tool, input)
	if err == nil {
		text, err = answer(ctx, args)
	}
	if err != nil {
		return recall.Mark + tool + " failed] " + err.Error() + "\n", true, true
	}
	return text, false, true
}

func (s *Session) answerUnfold(ctx context.Context, a recall.Args) (string, error) {
	r := recall.UnfoldRequest{
		Handle: a.Text("handle"), Pattern: a.Text("pattern"), Column: a.Number("column"),
		Raw: a.Flag("raw"), Budget: s.room(recall.UnfoldBudget),
	}
	if r.Handle == "" {
		return "", errors.New("a handle is needed: stubs, search and ledger name them")
	}
	var err error
	if r.From, r.To, err = recall.ParseRange(a.Text("lines")); err != nil {
		return "", fmt.Errorf("lines: %w", err)
	}
	from, to, err := recall.ParseRange(a.Text("bytes"))
	if err != nil {
		return "", fmt.Errorf("bytes: %w", err)
	}
	if r.Offset = from; to > from {
		r.Length = to - from
	}
	u, err := s.Unfold(ctx, r)
	return u.Text(), err
}

func (s *Session) answerSearch(ctx context.Context, a recall.Args) (string, error) {
	queries := a.List("queries")
	if len(queries) == 0 {
		queries = a.List("query")
	}
	if len(queries) == 0 {
		return "", errors.New("queries are needed: words that would stand near the answer")
	}
	res, err := s.Search(ctx, recall.SearchRequest{Queries: queries, Hits: a.Number("hits"), Budget: s.room(recall.SearchBudget)})
	return res.Text(), err
}

func (s *Session) answerLedger(_ context.Context, a recall.Args) (string, error) {
	f := ledger.Filter{
		Path: a.Text("path"), Tool: a.Text("tool"), Text: a.Text("text"), Effects: a.Flag("effects"),
		From: a.Number("from"), To: a.Number("to"),
	}
	for _, name := range a.List("kind") {
		var k toolcall.CallKind
		if err := k.UnmarshalText([]byte(strings.ToLower(name))); err != nil {
			return "", err
		}
		f.Kinds = append(f.Kinds, k)
	}
	for _, name := range a.List("outcome") {
		var o toolcall.Outcome
		if err := o.UnmarshalText([]byte(strings.ToLower(name))); err != nil {
			return "", err
		}
		f.Outcomes = append(f.Outcomes, o)
	}
	return s.LedgerText(f, s.room(recall.LedgerBudget)), nil
}

func (s *Session) answerNote(ctx context.Context, a recall.Args) (string, error) {
	if key := a.Text("key"); key != "" {
		if err := s.Note(ctx, key, a.Text("text")); err != nil {
			return "", err
		}
	} else if a.Text("text") != "" {
		return "", errors.New("a key is needed: a short name for the note")
	}
	notes := s.Notes()
	var b strings.Builder
	fmt.Fprintf(&b, "%snotes: %d]\n", recall.Mark, len(notes))
	for _, n := range notes {
		fmt.Fprintf(&b, "%s: %s\n", n.Key, n.Text)
	}
	return b.String(), nil
}

func (s *Session) answerPin(ctx context.Context, a recall.Args) (string, error) {
	if a.Flag("remove") {
		return recall.Mark + "pin: removed]\n", s.Unpin(ctx, a.Text("text"))
	}
	return recall.Mark + "pin: kept]\n", s.Pin(ctx, a.Text("text"))
}

func (s *Session) answerCompact(ctx context.Context, a recall.Args) (string, error) {
	p, err := s.Compact(ctx, a.Text("focus"))
	if err != nil {
		return "", err
	}
	if p.IsEmpty() {
		return recall.Mark + "compact: nothing can be folded that would make room]\n", nil
	}
	return fmt.Sprintf("%scompact: %s, %s → %s tokens; nothing is lost, search and unfold bring it back]\n",
		recall.Mark, text.Plural(len(p.Folds), "fold"), text.Thousands(p.Before), text.Thousands(p.After)), nil
}

// room is the budget of an answer in this session's window.
func (s *Session) room(tokens int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(min(tokens, s.o.Budget.Limits().Window/8), 2*recall.Frame)
}

// Search looks for lines in everything that was said and done in the session, folded or
// not, and returns the best places for each query. Every place says what it is, where,
// and what made it stale since. What the model can see anyway comes after what it cannot;
// questions to the recall tools and their answers are left out. It needs a store that
// can search: see [Searcher].
//
// Its cost depends on the query and on what is found, not on the length of the session
// beyond what the store's index needs.
func (s *Session) Search(ctx context.Context, r recall.SearchRequest) (recall.SearchResult, error) {
	engine, ok := s.store.(store.Searcher)
	if !ok {
		return recall.SearchResult{}, errors.New("search: the store cannot search")
	}
	if len(r.Queries) == 0 {
		return recall.SearchResult{}, errors.New("search: no query was given")
	}
	r.Fill()
	defer s.begin(ctx)()
	var res recall.SearchResult
	budget := r.Budget
	for i, q := range r.Queries {
		x := recall.NewSearcher(s.finder(), r, q)
		x.Call = s.calls()
		places, err := engine.Search(ctx, s.key, x.Asked, recall.SearchCandidates)
		if err != nil {
			return recall.SearchResult{}, fmt.Errorf("search %q: %w", text.Clip(q, 80), err)
		}
		s.tell(Event{Kind: EventRecall, Recall: q})
		a, room := recall.SearchAnswer{Query: q}, math.MaxInt
		if r.Budget >= 0 {
			room = budget / (len(r.Queries) - i) // what one answer leaves is the next one's
		}
		budget -= a.Lay(x.Rank(places), room, s.st.Count.CountText)
		res.Answers = append(res.Answers, a)
	}
	if err := s.st.Contents.Fault(); err != nil {
		return recall.SearchResult{}, fmt.Errorf("search: %w", err)
	}
	return res, nil
}

// LedgerText lists the calls that the filter chooses in at most budget tokens (0: no
// bound), the newest last. If there is no room for all, the newest are shown and the
// call for the others is named.
func (s *Session) LedgerText(f ledger.Filter, budget int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finder().LedgerText(f, budget)
}
