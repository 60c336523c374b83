package recall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/internal/toolargs"
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
	leastBudget  = 200 // in any window
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
	answer, ok := map[string]func(answerer, context.Context, toolargs.Args) (string, error){
		ToolUnfold: answerer.unfold, ToolSearch: answerer.search, ToolLedger: answerer.ledger,
		ToolNote: answerer.note, ToolPin: answerer.pin, ToolCompact: answerer.compact, ToolSnip: answerer.snip,
	}[tool]
	if !ok {
		return "", false, false
	}
	a := toolargs.Read(input, argNames[tool][0])
	err := checkArgs(tool, a)
	if err == nil {
		text, err = answer(answerer{s, window}, ctx, a)
	}
	if err != nil {
		return fence.Answer + tool + " failed] " + told(err).Error() + "\n", true, true
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
func (s answerer) budget(tokens int) int { return max(min(tokens, s.window/8), leastBudget) }

func (s answerer) unfold(ctx context.Context, a toolargs.Args) (_ string, err error) {
	r := UnfoldRequest{
		Handle: a.Text("handle"), Pattern: a.Text("pattern"), Column: a.Number("column"),
		Raw: a.Flag("raw"), Diff: a.Flag("diff"), Budget: s.budget(unfoldBudget),
	}
	if r.Handle == "" {
		return "", errors.New("a handle is needed: stubs, search and ledger name them")
	}
	if r.From, r.To, err = toolargs.Range(a.Text("lines")); err != nil {
		return "", fmt.Errorf("lines: %w", err)
	}
	u, err := s.Unfold(ctx, r)
	return u.Text(), err
}

func (s answerer) search(ctx context.Context, a toolargs.Args) (string, error) {
	queries := a.List("queries")
	if len(queries) == 0 {
		queries = a.List("query")
	}
	if len(queries) == 0 {
		return "", errors.New("queries are needed: words that would stand near the answer")
	}
	res, err := s.Search(ctx, SearchRequest{Queries: queries, Hits: a.Number("hits"), Budget: s.budget(searchBudget)})
	return res.Text(), err
}

func (s answerer) ledger(_ context.Context, a toolargs.Args) (_ string, err error) {
	f := ledger.Filter{
		Path: a.Text("path"), Tool: a.Text("tool"), Text: a.Text("text"), Effects: a.Flag("effects"),
		Files: a.Flag("files"), From: a.Number("from"), To: a.Number("to"),
	}
	if f.Kinds, err = toolargs.Named[toolcall.CallKind](a.List("kind")); err != nil {
		return "", err
	}
	if f.Outcomes, err = toolargs.Named[toolcall.Outcome](a.List("outcome")); err != nil {
		return "", err
	}
	return s.LedgerText(f, s.budget(ledgerBudget)), nil
}

func (s answerer) note(ctx context.Context, a toolargs.Args) (string, error) {
	if key := a.Text("key"); key != "" {
		if err := s.Note(ctx, key, a.Text("text")); err != nil {
			return "", err
		}
	} else if a.Text("text") != "" {
		return "", errors.New("a key is needed: a short name for the note")
	}
	notes := s.Notes()
	var b strings.Builder
	fmt.Fprintf(&b, "%snotes: %d]\n", fence.Answer, len(notes))
	for _, n := range notes {
		b.WriteString(fence.Line(n.Key) + ":" + fence.After("note", n.Text) + "\n")
	}
	return b.String(), nil
}

func (s answerer) pin(ctx context.Context, a toolargs.Args) (string, error) {
	if a.Flag("remove") {
		return fence.Answer + "pin: removed]\n", s.Unpin(ctx, a.Text("text"))
	}
	return fence.Answer + "pin: kept]\n", s.Pin(ctx, a.Text("text"))
}

func (s answerer) compact(ctx context.Context, a toolargs.Args) (string, error) {
	c, err := s.Compact(ctx, a.Text("focus"))
	switch {
	case err != nil:
		return "", err
	case c.Answer != "" && c.Folds > 0:
		return c.Answer, nil
	case c.Folds == 0:
		return fence.Answer + "compact: nothing can be folded that would make room]\n", nil
	}
	return fmt.Sprintf("%scompact: %s, %s → %s tokens; nothing is lost, search and unfold bring it back]\n",
		fence.Answer, text.Plural(c.Folds, "fold"), text.Thousands(c.Before), text.Thousands(c.After)), nil
}

// A Snipper is a [Session] that can take the middle of its conversation out of view.
type Snipper interface {
	Snip(ctx context.Context, keep int) (Compacted, error)
}

func (s answerer) snip(ctx context.Context, a toolargs.Args) (string, error) {
	snipper, ok := s.Session.(Snipper)
	if !ok {
		return "", errors.New("this conversation is not snipped")
	}
	c, err := snipper.Snip(ctx, a.Number("keep"))
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

// argNames are the arguments of the tools. The first is what a call with a bare value means.
var argNames = map[string][]string{
	ToolUnfold:  {"handle", "lines", "pattern", "column", "raw", "diff"},
	ToolSearch:  {"queries", "query", "hits"},
	ToolLedger:  {"path", "kind", "outcome", "text", "tool", "files", "effects", "from", "to"},
	ToolNote:    {"key", "text"},
	ToolPin:     {"text", "remove"},
	ToolCompact: {"focus"},
	ToolSnip:    {"keep"},
}

// checkArgs refuses arguments that the tool does not have.
func checkArgs(tool string, a toolargs.Args) error {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !slices.Contains(argNames[tool], name) {
			return fmt.Errorf("it has no argument %q, but %s", name, strings.Join(argNames[tool], ", "))
		}
	}
	return nil
}
