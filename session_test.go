package pleat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// What these tests do most, by short names.
var (
	open    = pleattest.Open
	work    = pleattest.Read
	view    = pleattest.View
	allText = pleattest.Text

	mustAppend = pleattest.Append
)

func unfold(t testing.TB, s *pleat.Session, r recall.UnfoldRequest) recall.Unfolded {
	t.Helper()
	u, err := s.Unfold(t.Context(), r)
	must(t, err)
	return u
}

var must = difftest.Must

// hooked is a store in memory with something that comes before an append, and an error that
// all of them then fail with.
type hooked struct {
	*store.Memory
	before func([]store.Entry)
	fails  error
}

func (h *hooked) Append(ctx context.Context, key store.SessionKey, last uint64, e ...store.Entry) (uint64, error) {
	if h.before != nil {
		h.before(e)
	}
	if h.fails != nil {
		return 0, h.fails
	}
	return h.Memory.Append(ctx, key, last, e...)
}

func messages(t testing.TB, s *pleat.Session) []transcript.Message {
	t.Helper()
	msgs, err := s.Messages(t.Context())
	must(t, err)
	return msgs
}

func dump(t testing.TB, msgs []transcript.Message) string {
	t.Helper()
	data, err := json.MarshalIndent(msgs, "", " ")
	must(t, err)
	return string(data)
}

func TestSessionPassesThroughWhileSmall(t *testing.T) {
	s := open(t, store.NewMemory(), nil)
	mustAppend(t, s, transcript.User("hello"))
	work(t, s, 0, 5, 400)
	v, err := s.View(t.Context(), pleat.Turn{})
	must(t, err)
	if !v.IsWhole(s.Len()) {
		t.Error("the view of a small session is not the whole transcript")
	}
}

// The meter knows what the whole transcript would take, as a session without folds shows.
func TestSnapshotWhole(t *testing.T) {
	msgs := pleattest.Transcripts{}.Make(7)
	whole := func(name string) fold.Snapshot {
		p := named(t, name)
		s := open(t, store.NewMemory(), &pleat.Options{
			Policy: p, Budget: fold.Budget{Window: 3000}, System: "You are careful.",
		})
		mustAppend(t, s, msgs...)
		if _, err := s.View(t.Context(), pleat.Turn{}); err != nil && !errors.Is(err, fold.ErrCannotFit) {
			t.Fatal(err)
		}
		return s.Snapshot()
	}
	none, folded := whole("none"), whole("default")
	if none.Tokens != none.Whole || folded.Whole != none.Whole {
		t.Errorf("without folds %d tokens, whole %d; folded: whole %d", none.Tokens, none.Whole, folded.Whole)
	}
}

// A view that cannot fit folds nothing: with the right window the session is as it was before.
func TestNothingFitsNothingFolds(t *testing.T) {
	st, ctx := store.NewMemory(), t.Context()
	open := func(window int) *pleat.Session {
		return pleattest.Open(t, st, &pleat.Options{Tools: pleat.RecallTools(), Budget: pleat.Budget{Window: window}})
	}
	s := open(32_000)
	mustAppend(t, s, pleat.User("go"))
	for i := range 10 {
		id := fmt.Sprint("r", i)
		mustAppend(t, s, pleat.Assistant(pleat.Call(id, "read", fmt.Sprintf(`{"path":"f%d"}`, i))),
			pleat.Results(pleat.Result(id, fmt.Sprint("found ", i, strings.Repeat(" line of a file\n", 30)))))
	}
	want := messages(t, s)
	wrong := open(500)
	for range 2 {
		if _, err := wrong.Messages(ctx); !errors.Is(err, pleat.ErrCannotFit) {
			t.Fatalf("in 500 tokens: %v", err)
		}
	}
	again := open(32_000)
	got := messages(t, again)
	if a, b := pleattest.Text(want), pleattest.Text(got); a != b {
		t.Errorf("the session shows\n%s\nafter a view that did not fit, and showed\n%s", b, a)
	}
	if n := len(again.Report().Epochs); n > 0 {
		t.Errorf("%d epochs are stored", n)
	}
}

// ownPages writes pages that a program made up.
type ownPages struct{}

func (ownPages) Page(context.Context, fold.PageRequest) (fold.WrittenPage, error) {
	return fold.WrittenPage{Text: "What a program's own writer says.", Parts: fold.Parts{Digest: 8}, By: "code"}, nil
}

func (ownPages) Restored(context.Context, fold.PageRequest) (said, rest string, err error) { return }

func TestOwnPages(t *testing.T) {
	s := busy(t, 20, &pleat.Options{Pages: ownPages{}, Budget: fold.Budget{Window: 20_000}})
	compact(t, s)
	if got := pleattest.Text(pleattest.View(t, s)); !strings.Contains(got, "What a program's own writer says.") {
		t.Errorf("the view lacks the page:\n%.2000s", got)
	}
}

// A session that is opened without system prompt and tools counts those that it began with, until it is told others.
func TestHeadOfFirstEntry(t *testing.T) {
	st := store.NewMemory()
	head := func(o *pleat.Options) fold.Parts {
		p := open(t, st, o).Snapshot().Parts
		return fold.Parts{System: p.System, Tools: p.Tools}
	}
	first := head(&pleat.Options{System: "You are careful.", Tools: []model.Tool{{Name: "bash", Schema: `{}`}}})
	if first.System == 0 || first.Tools == 0 {
		t.Fatalf("the head has %+v", first)
	}
	if got := head(nil); got != first {
		t.Errorf("opened without: %+v, want %+v", got, first)
	}
	if got := head(&pleat.Options{System: "Hi."}); got.System >= first.System || got.Tools != 0 {
		t.Errorf("opened with another: %+v", got)
	}
	s := open(t, st, nil)
	if s.SetHead("", nil); s.Snapshot().Parts.Total() != 0 {
		t.Errorf("without a head: %+v", s.Snapshot().Parts)
	}
}

// prefixed returns the recall tools, those left out aside, with a prefix before their names.
func prefixed(prefix string, without ...string) []pleat.Tool {
	tools := slices.DeleteFunc(pleat.RecallTools(), func(t pleat.Tool) bool { return slices.Contains(without, t.Name) })
	for i := range tools {
		tools[i].Name = prefix + tools[i].Name
	}
	return tools
}

// TestRecallNames looks at how pages and answers name the recall tools.
func TestRecallNames(t *testing.T) {
	const how = `Nothing is lost: X_search("words") finds folded lines, X_unfold("handle" or "#call") shows it exactly, ` +
		`X_ledger() lists every call; the whole stretch is X_unfold("`
	const less = `Nothing is lost: X_unfold("handle" or "#call") shows it exactly, X_ledger() lists every call; the whole`
	search := pleat.Tool{Name: "search", Description: "Searches the web.", Schema: `{}`}
	for _, c := range []struct {
		prefix, want string
		tools        []pleat.Tool
	}{
		{"", how, prefixed("")},
		{"pleat_", how, prefixed("pleat_")},
		{"", less, append(prefixed("", "search"), search)},
	} {
		s := open(t, store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 12_000}, Tools: c.tools})
		mustSync(t, s, turns(40, 2_000))
		for i := range 40 {
			mustAppend(t, s, pleat.User("Go on."), pleat.Assistant(pleat.Say(strings.Repeat("I looked at it. ", 40+i))))
		}
		if text := allText(view(t, s)); !strings.Contains(text, strings.ReplaceAll(c.want, "X_", c.prefix)) {
			t.Errorf("with %q the page says:\n%s", c.prefix, text)
		}
		r, ok := s.Answer(t.Context(), pleat.Call("c", c.prefix+"search", `{"queries":["zzzqqq"]}`))
		if ok == slices.ContainsFunc(c.tools, func(t pleat.Tool) bool { return t.Description == search.Description }) {
			t.Errorf("search is answered: %v", ok)
		}
		if ok && !strings.Contains(r.Text(), " or "+c.prefix+"ledger() for calls") {
			t.Error(r.Text())
		}
		if text := inside.Of(s).LedgerText(pleat.LedgerFilter{}, 300); !strings.Contains(text, ": "+c.prefix+"ledger(to=") {
			t.Error(text)
		}
	}
}

// TestSetHeadRenames gives the recall tools other names in the middle of a session.
func TestSetHeadRenames(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 8_000}, Tools: prefixed("a_")})
	answers := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if r, ok := s.Answer(t.Context(), pleat.Call("c", name, `{}`)); !ok {
				t.Errorf("%s is not answered: %v", name, r)
			}
		}
	}
	for i, prefix := range []string{"a_", "b_", "a_", ""} {
		s.SetHead("", prefixed(prefix))
		work(t, s, 8*i, 8, 4_000)
		if text := allText(view(t, s)); !strings.Contains(text, " "+prefix+`unfold("`) {
			t.Errorf("no stub names %sunfold:\n%s", prefix, text)
		}
		answers(prefix + "ledger")
	}
	answers("a_ledger", "b_ledger", "ledger")
	s.SetHead("", []pleat.Tool{{Name: "ledger", Description: "Keeps the books."}})
	if _, ok := s.Answer(t.Context(), pleat.Call("c", "ledger", `{}`)); ok {
		t.Error("the program's own tool is answered")
	}
	answers("b_ledger")
}
