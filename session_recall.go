package pleat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Unfold gives back something folded, or any other block of the session that has a
// handle: whole, or the part that the request chooses. The content is checked against
// the hash under which it was folded. A handle that this session does not have is
// [ErrNotFound]: handles work only in the session that made them.
func (s *Session) Unfold(ctx context.Context, r UnfoldRequest) (Unfolded, error) {
	defer s.begin(ctx)()
	u, err := s.unfold(r)
	if fault := s.st.msgs.fault(); fault != nil {
		err = fault
	}
	if err != nil {
		return Unfolded{}, fmt.Errorf("unfold %q: %w", r.Handle, err)
	}
	s.tell(Event{Kind: EventRecall, Recall: u.Handle})
	return u, nil
}

func (s *Session) unfold(r UnfoldRequest) (Unfolded, error) {
	u, err := s.finder().unfold(r, s.calls(), s.st.content)
	if errors.Is(err, ErrNotFound) && slices.ContainsFunc(s.st.folds, func(f *Fold) bool { return f.Handle == handleIn(r.Handle) }) {
		err = fmt.Errorf("the message that was folded under it has other content now: %w", ErrCorrupt)
	}
	return u, err
}

// Recall answers a call to one of the [RecallTools] with the text for the model. handled
// is false if the tool is none of them. Models are sloppy with arguments, so what they
// mean is taken where it is clear: numbers in quotes, one string for a list, the main
// argument alone. What went wrong is told to the model, with what to do instead.
func (s *Session) Recall(ctx context.Context, tool, input string) (text string, isError, handled bool) {
	answer, ok := map[string]func(context.Context, recallArgs) (string, error){
		ToolUnfold: s.answerUnfold, ToolSearch: s.answerSearch, ToolLedger: s.answerLedger,
		ToolNote: s.answerNote, ToolPin: s.answerPin, ToolCompact: s.answerCompact,
	}[tool]
	if !ok {
		return "", false, false
	}
	args, err := readArgs(tool, input)
	if err == nil {
		text, err = answer(ctx, args)
	}
	if err != nil {
		return recallMark + tool + " failed] " + err.Error() + "\n", true, true
	}
	return text, false, true
}

func (s *Session) answerUnfold(ctx context.Context, a recallArgs) (string, error) {
	r := UnfoldRequest{
		Handle: a.text("handle"), Pattern: a.text("pattern"), Column: a.number("column"),
		Raw: a.flag("raw"), Budget: s.room(unfoldBudget),
	}
	if r.Handle == "" {
		return "", errors.New("a handle is needed: stubs, search and ledger name them")
	}
	var err error
	if r.From, r.To, err = parseRange(a.text("lines")); err != nil {
		return "", fmt.Errorf("lines: %w", err)
	}
	from, to, err := parseRange(a.text("bytes"))
	if err != nil {
		return "", fmt.Errorf("bytes: %w", err)
	}
	if r.Offset = from; to > from {
		r.Length = to - from
	}
	u, err := s.Unfold(ctx, r)
	return u.Text(), err
}

func (s *Session) answerSearch(ctx context.Context, a recallArgs) (string, error) {
	queries := a.list("queries")
	if len(queries) == 0 {
		queries = a.list("query")
	}
	if len(queries) == 0 {
		return "", errors.New("queries are needed: words that would stand near the answer")
	}
	res, err := s.Search(ctx, SearchRequest{Queries: queries, Hits: a.number("hits"), Budget: s.room(searchBudget)})
	return res.Text(), err
}

func (s *Session) answerLedger(_ context.Context, a recallArgs) (string, error) {
	f := LedgerFilter{
		Path: a.text("path"), Tool: a.text("tool"), Text: a.text("text"), Effects: a.flag("effects"),
		From: a.number("from"), To: a.number("to"),
	}
	for _, name := range a.list("kind") {
		var k CallKind
		if err := k.UnmarshalText([]byte(strings.ToLower(name))); err != nil {
			return "", err
		}
		f.Kinds = append(f.Kinds, k)
	}
	for _, name := range a.list("outcome") {
		var o Outcome
		if err := o.UnmarshalText([]byte(strings.ToLower(name))); err != nil {
			return "", err
		}
		f.Outcomes = append(f.Outcomes, o)
	}
	return s.LedgerText(f, s.room(ledgerBudget)), nil
}

func (s *Session) answerNote(ctx context.Context, a recallArgs) (string, error) {
	if key := a.text("key"); key != "" {
		if err := s.Note(ctx, key, a.text("text")); err != nil {
			return "", err
		}
	} else if a.text("text") != "" {
		return "", errors.New("a key is needed: a short name for the note")
	}
	notes := s.Notes()
	var b strings.Builder
	fmt.Fprintf(&b, "%snotes: %d]\n", recallMark, len(notes))
	for _, n := range notes {
		fmt.Fprintf(&b, "%s: %s\n", n.Key, n.Text)
	}
	return b.String(), nil
}

func (s *Session) answerPin(ctx context.Context, a recallArgs) (string, error) {
	if a.flag("remove") {
		return recallMark + "pin: removed]\n", s.Unpin(ctx, a.text("text"))
	}
	return recallMark + "pin: kept]\n", s.Pin(ctx, a.text("text"))
}

func (s *Session) answerCompact(ctx context.Context, a recallArgs) (string, error) {
	p, err := s.Compact(ctx, a.text("focus"))
	if err != nil {
		return "", err
	}
	if p.IsEmpty() {
		return recallMark + "compact: nothing can be folded that would make room]\n", nil
	}
	return fmt.Sprintf("%scompact: %s, %s → %s tokens; nothing is lost, search and unfold bring it back]\n",
		recallMark, plural(len(p.Folds), "fold"), thousands(p.Before), thousands(p.After)), nil
}

// room is the budget of an answer in this session's window.
func (s *Session) room(tokens int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(min(tokens, s.o.Budget.Limits().Window/8), 2*recallFrame)
}

// Search looks for lines in everything that was said and done in the session, folded or
// not, and returns the best places for each query. Every place says what it is, where,
// and what made it stale since. What the model can see anyway comes after what it cannot;
// questions to the recall tools and their answers are left out. It needs a store that
// can search: see [Searcher].
//
// Its cost depends on the query and on what is found, not on the length of the session
// beyond what the store's index needs.
func (s *Session) Search(ctx context.Context, r SearchRequest) (SearchResult, error) {
	engine, ok := s.store.(Searcher)
	if !ok {
		return SearchResult{}, errors.New("search: the store cannot search")
	}
	if len(r.Queries) == 0 {
		return SearchResult{}, errors.New("search: no query was given")
	}
	r.fill()
	defer s.begin(ctx)()
	var res SearchResult
	budget := r.Budget
	for i, q := range r.Queries {
		x := newSearcher(s.finder(), r, q)
		x.call = s.calls()
		places, err := engine.Search(ctx, s.key, x.asked, searchCandidates)
		if err != nil {
			return SearchResult{}, fmt.Errorf("search %q: %w", clip(q, 80), err)
		}
		s.tell(Event{Kind: EventRecall, Recall: q})
		a, room := SearchAnswer{Query: q}, math.MaxInt
		if r.Budget >= 0 {
			room = budget / (len(r.Queries) - i) // what one answer leaves is the next one's
		}
		budget -= a.lay(x.rank(places), room, s.st.count.CountText)
		res.Answers = append(res.Answers, a)
	}
	if err := s.st.msgs.fault(); err != nil {
		return SearchResult{}, fmt.Errorf("search: %w", err)
	}
	return res, nil
}

// LedgerText lists the calls that the filter chooses in at most budget tokens (0: no
// bound), the newest last. If there is no room for all, the newest are shown and the
// call for the others is named.
func (s *Session) LedgerText(f LedgerFilter, budget int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finder().ledgerText(f, budget)
}
