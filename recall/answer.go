package recall

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/store"
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
	// Compact folds now and says what came of it.
	Compact(ctx context.Context, focus string) (Compacted, error)
}

// Answer answers a call to one of the [Tools] with the text for the model: at most 4,000
// tokens for unfold and 2,500 for search and ledger, or an eighth of the window if that is
// less (but 200 in any window). handled is false if the tool is none of them. Models are
// sloppy with arguments, so Answer accepts what is clear: numbers in quotes, one string for
// a list, the main argument alone. An argument that the tool does not have is an error, since without it the
// answer would be to another question. An error text tells the model what to do instead.
func Answer(ctx context.Context, s Session, window int, tool, input string) (text string, isError, handled bool) {
	answer, ok := map[string]func(answerer, context.Context, args) (string, error){
		ToolUnfold: answerer.unfold, ToolSearch: answerer.search, ToolLedger: answerer.ledger,
		ToolNote: answerer.note, ToolPin: answerer.pin, ToolCompact: answerer.compact, ToolSnip: answerer.snip,
	}[tool]
	if !ok {
		return "", false, false
	}
	a := readArgs(tool, input)
	err := a.check(tool)
	if err == nil {
		text, err = answer(answerer{s, window}, ctx, a)
	}
	if err != nil {
		return mark + tool + " failed] " + told(err).Error() + "\n", true, true
	}
	return text, false, true
}

// told is an error as the model is told it: of one of the store only what it is, since the rest names
// the store's files or server.
func told(err error) error {
	for _, kind := range []error{
		store.ErrConflict, store.ErrCorrupt, store.ErrFull, store.ErrClosed, store.ErrReadOnly, store.ErrSchema,
	} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return err
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
		Path: a.text("path"), Tool: a.text("tool"), Text: a.text("text"), Effects: a.flag("effects"),
		Files: a.flag("files"), From: a.number("from"), To: a.number("to"),
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
		b.WriteString(fence.Line(n.Key) + ":" + fence.After("note", n.Text) + "\n")
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

// A Snipper is a [Session] that can take the middle of its conversation out of view.
type Snipper interface {
	Snip(ctx context.Context, keep int) (Compacted, error)
}

func (s answerer) snip(ctx context.Context, a args) (string, error) {
	snipper, ok := s.Session.(Snipper)
	if !ok {
		return "", errors.New("this conversation is not snipped")
	}
	c, err := snipper.Snip(ctx, a.number("keep"))
	if err == nil && c.Folds == 0 {
		return "[nothing to snip]\n", nil
	}
	return fmt.Sprintf("[snipped: %d → %d tokens]\n", c.Before, c.After), err
}

// Compacted says what a compaction did.
type Compacted struct {
	Folds  int    // new folds; 0: nothing could be folded
	Before int    // tokens of the view before
	After  int    // tokens of the view after
	Answer string // what the policy wants the model to be told; empty: nothing in particular
}

// args are the arguments of a call as they came.
type args map[string]any

// argNames are the arguments of the tools. The first is what a call with a bare value means.
var argNames = map[string][]string{
	ToolUnfold:  {"handle", "lines", "bytes", "pattern", "column", "raw", "diff"},
	ToolSearch:  {"queries", "query", "hits"},
	ToolLedger:  {"path", "kind", "outcome", "text", "tool", "files", "effects", "from", "to"},
	ToolNote:    {"key", "text"},
	ToolPin:     {"text", "remove"},
	ToolCompact: {"focus"},
	ToolSnip:    {"keep"},
}

// check refuses arguments that the tool does not have.
func (a args) check(tool string) error {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !slices.Contains(argNames[tool], name) {
			return fmt.Errorf("it has no argument %q, but %s", name, strings.Join(argNames[tool], ", "))
		}
	}
	return nil
}

func readArgs(tool, input string) args {
	switch v := readJSON(input).(type) {
	case nil:
		return args{}
	case map[string]any:
		return v
	default:
		return args{argNames[tool][0]: v}
	}
}

// readJSON reads a value with its numbers as they are written. What is no JSON is a string.
func readJSON(input string) (v any) {
	d := json.NewDecoder(strings.NewReader(input))
	if d.UseNumber(); !json.Valid([]byte(input)) || d.Decode(&v) != nil {
		v = strings.TrimSpace(input)
	}
	return v
}

// text returns an argument as text, whatever its JSON type, the elements of a list separated
// by commas.
func (a args) text(name string) string { return strings.Join(a.list(name), ",") }

// list returns an argument as a list. It also accepts a string with a JSON list in it and,
// for kinds and outcomes, names with commas between them.
func (a args) list(name string) []string {
	switch v := a[name].(type) {
	case nil:
		return nil
	case string:
		if list, ok := readJSON(v).([]any); ok && name == "queries" {
			return args{"": list}.list("")
		}
		if name == "kind" || name == "outcome" {
			return strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })
		}
		if v == "" {
			return nil
		}
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, args{"": e}.list("")...)
		}
		return out
	default:
		return []string{fmt.Sprint(v)} // a number, a flag
	}
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
