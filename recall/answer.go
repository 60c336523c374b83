package recall

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// How many tokens an answer of a recall tool takes at most, in a large window. In a
// small one it is an eighth of the window.
const (
	unfoldBudget = 4_000
	searchBudget = 2_500
	ledgerBudget = 2_500
)

// Session is what the recall tools ask of a session.
type Session interface {
	Unfold(context.Context, UnfoldRequest) (Unfolded, error)
	Search(context.Context, SearchRequest) (SearchResult, error)
	LedgerText(f ledger.Filter, budget int) string
	Note(ctx context.Context, key, text string) error
	Notes() []transcript.Note
	Pin(ctx context.Context, text string) error
	Unpin(ctx context.Context, text string) error
	// Compact folds now and returns the number of folds and the tokens of the view
	// before and after; none is true if nothing could be folded.
	Compact(ctx context.Context, focus string) (Compacted, error)
}

// Answer answers a call to one of the [Tools] with the text for the model: at most 4,000
// tokens for unfold and 2,500 for search and ledger, or an eighth of the window if that is
// less (but 200 in any window). handled is false if the tool is none of them. Models are
// sloppy with arguments, so Answer accepts what is clear: numbers in quotes, one string for
// a list, the main argument alone. An error text tells the model what to do instead.
func Answer(ctx context.Context, s Session, window int, tool, input string) (text string, isError, handled bool) {
	answer, ok := map[string]func(answerer, context.Context, args) (string, error){
		ToolUnfold: answerer.unfold, ToolSearch: answerer.search, ToolLedger: answerer.ledger,
		ToolNote: answerer.note, ToolPin: answerer.pin, ToolCompact: answerer.compact,
	}[tool]
	if !ok {
		return "", false, false
	}
	a, err := readArgs(tool, input)
	if err == nil {
		text, err = answer(answerer{s, window}, ctx, a)
	}
	if err != nil {
		return mark + tool + " failed] " + err.Error() + "\n", true, true
	}
	return text, false, true
}

type answerer struct {
	Session
	window int
}

// budget is how many tokens an answer may take in this window.
func (s answerer) budget(tokens int) int { return max(min(tokens, s.window/8), 2*frame) }

func (s answerer) unfold(ctx context.Context, a args) (string, error) {
	r := UnfoldRequest{
		Handle: a.text("handle"), Pattern: a.text("pattern"), Column: a.number("column"),
		Raw: a.flag("raw"), Diff: a.flag("diff"), Budget: s.budget(unfoldBudget),
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

func (s answerer) search(ctx context.Context, a args) (string, error) {
	queries := a.list("queries")
	if len(queries) == 0 {
		queries = a.list("query")
	}
	if len(queries) == 0 {
		return "", errors.New("queries are needed: words that would stand near the answer")
	}
	res, err := s.Search(ctx, SearchRequest{Queries: queries, Hits: a.number("hits"), Budget: s.budget(searchBudget)})
	return res.Text(), err
}

func (s answerer) ledger(_ context.Context, a args) (string, error) {
	f := ledger.Filter{
		Path: a.text("path"), Tool: a.text("tool"), Text: a.text("text"), Effects: a.flag("effects"), Files: a.flag("files"),
		From: a.number("from"), To: a.number("to"),
	}
	var err error
	if f.Kinds, err = named[toolcall.CallKind](a.list("kind")); err != nil {
		return "", err
	}
	if f.Outcomes, err = named[toolcall.Outcome](a.list("outcome")); err != nil {
		return "", err
	}
	return s.LedgerText(f, s.budget(ledgerBudget)), nil
}

// named reads values by their names, in any case.
func named[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](names []string) ([]T, error) {
	var out []T
	for _, name := range names {
		var v T
		if err := P(&v).UnmarshalText([]byte(strings.ToLower(name))); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (s answerer) note(ctx context.Context, a args) (string, error) {
	if key := a.text("key"); key != "" {
		if err := s.Note(ctx, key, a.text("text")); err != nil {
			return "", err
		}
	} else if a.text("text") != "" {
		return "", errors.New("a key is needed: a short name for the note")
	}
	notes := s.Notes()
	var b strings.Builder
	fmt.Fprintf(&b, "%snotes: %d]\n", mark, len(notes))
	for _, n := range notes {
		fmt.Fprintf(&b, "%s: %s\n", n.Key, n.Text)
	}
	return b.String(), nil
}

func (s answerer) pin(ctx context.Context, a args) (string, error) {
	if a.flag("remove") {
		return mark + "pin: removed]\n", s.Unpin(ctx, a.text("text"))
	}
	return mark + "pin: kept]\n", s.Pin(ctx, a.text("text"))
}

func (s answerer) compact(ctx context.Context, a args) (string, error) {
	c, err := s.Compact(ctx, a.text("focus"))
	switch {
	case err != nil:
		return "", err
	case c.Answer != "" && c.Folds > 0:
		return c.Answer, nil
	case c.Folds == 0:
		return mark + "compact: nothing can be folded that would make room]\n", nil
	}
	return fmt.Sprintf("%scompact: %s, %s → %s tokens; nothing is lost, search and unfold bring it back]\n",
		mark, text.Plural(c.Folds, "fold"), text.Thousands(c.Before), text.Thousands(c.After)), nil
}

// Compacted is what a compaction came to.
type Compacted struct {
	Folds, Before, After int    // folds: 0: nothing could be folded; tokens of the view before and after
	Answer               string // what the policy wants the model to be told; empty: nothing in particular
}

// args are the arguments of a call as they came.
type args map[string]json.RawMessage

// mainArg is what a call with a bare value means.
var mainArg = map[string]string{
	ToolUnfold: "handle", ToolSearch: "queries", ToolLedger: "path", ToolNote: "key", ToolPin: "text", ToolCompact: "focus",
}

func readArgs(tool, input string) (args, error) {
	input = strings.TrimSpace(input)
	a := args{}
	switch {
	case input == "":
	case !json.Valid([]byte(input)):
		quoted, _ := json.Marshal(input)
		a[mainArg[tool]] = quoted
	case input[0] == '{':
		if err := json.Unmarshal([]byte(input), &a); err != nil {
			return nil, fmt.Errorf("read arguments: %w", err)
		}
	default:
		a[mainArg[tool]] = json.RawMessage(input)
	}
	return a, nil
}

// text returns an argument as text, whatever its JSON type, the elements of a list separated
// by commas.
func (a args) text(name string) string { return strings.Join(a.list(name), ",") }

// list returns an argument as a list. It also accepts a string with a JSON list in it and,
// for kinds and outcomes, names with commas between them.
func (a args) list(name string) []string {
	raw := a[name]
	var one string
	if json.Unmarshal(raw, &one) == nil {
		switch {
		case strings.HasPrefix(strings.TrimSpace(one), "[") && json.Valid([]byte(one)) && name == "queries":
			raw = json.RawMessage(one)
		case name == "kind" || name == "outcome":
			return strings.FieldsFunc(one, func(r rune) bool { return r == ',' || r == ' ' })
		case one == "":
			return nil
		default:
			return []string{one}
		}
	}
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil {
		if len(raw) == 0 || string(raw) == "null" {
			return nil
		}
		return []string{string(raw)} // a number, a flag
	}
	var out []string
	for _, e := range many {
		if text := (args{"": e}).text(""); text != "" {
			out = append(out, text)
		}
	}
	return out
}

func (a args) number(name string) int {
	f, err := strconv.ParseFloat(strings.TrimSpace(a.text(name)), 64)
	if err != nil || f < 0 || f > 1<<40 {
		return 0
	}
	return int(f)
}

func (a args) flag(name string) bool {
	on, _ := strconv.ParseBool(strings.ToLower(a.text(name)))
	return on
}

// parseRange reads "120-180", "120-", "-180" and "120", also with ":", "," or ".." in
// between. An end of 0 is open.
func parseRange(s string) (from, to int, err error) {
	s = strings.Trim(strings.TrimSpace(s), "[]()L")
	if s == "" {
		return 0, 0, nil
	}
	s = strings.NewReplacer("..", "-", ":", "-", ",", "-", "–", "-", " ", "", "L", "").Replace(s)
	first, last, ranged := strings.Cut(s, "-")
	if first != "" {
		if from, err = strconv.Atoi(first); err != nil {
			return 0, 0, fmt.Errorf("%q is no range: write \"120-180\"", s)
		}
	}
	switch {
	case !ranged:
		to = from
	case last != "":
		if to, err = strconv.Atoi(last); err != nil || to < from {
			return 0, 0, fmt.Errorf("%q is no range: write \"120-180\"", s)
		}
	}
	return from, to, nil
}
