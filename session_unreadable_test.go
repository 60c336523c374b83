package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// dark is a store whose bodies cannot be read while it is off.
type dark struct {
	store.Store
	off bool
}

var errDark = errors.New("the store does not answer")

func (d *dark) Body(ctx context.Context, key store.SessionKey, h transcript.Hash) ([]byte, error) {
	if d.off {
		return nil, errDark
	}
	return d.Store.Body(ctx, key, h)
}

// TestUnreadableStore: while messages cannot be read, no call that needs them gives out
// anything: no view that was not checked, no plan, no part of what was folded. Afterwards the
// session goes on as if nothing had been.
func TestUnreadableStore(t *testing.T) {
	st := &dark{Store: store.NewMemory()}
	s := pleattest.Open(t, st, &pleat.Options{
		Budget: fold.Budget{Window: 12_000},
		Check: func(v transcript.View, tr *transcript.Transcript) error {
			_, err := v.Resolve(tr)
			return err
		},
	})
	mustAppend(t, s, pleattest.Reading(30, 60)...)
	before := pleattest.Text(pleattest.View(t, s))
	handle, epochs := s.Folds()[0].Handle, len(s.Report().Epochs)
	// What came without an answer makes the session check the view in force again.
	mustAppend(t, s, transcript.User("And now?"), transcript.User("Still there?"))
	inside.Of(s).Shrink(0)
	st.off = true
	for name, call := range map[string]func() error{
		"view":    func() error { _, err := s.View(t.Context(), pleat.Turn{}); return err },
		"plan":    func() error { _, err := s.Plan(t.Context(), ""); return err },
		"compact": func() error { _, err := s.Compact(t.Context(), ""); return err },
		"resolve": func() error { _, err := s.Resolve(t.Context(), inside.Of(s).CurrentView()); return err },
		"message": func() error { _, err := s.Message(t.Context(), 2); return err },
		"unfold":  func() error { _, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: handle}); return err },
		"search": func() error {
			_, err := s.Search(t.Context(), recall.SearchRequest{Queries: []string{"line of result 3"}})
			return err
		},
	} {
		if err := call(); !errors.Is(err, errDark) {
			t.Errorf("%s: got error %v", name, err)
		}
		inside.Of(s).Shrink(0)
	}
	st.off = false
	if n := len(s.Report().Epochs); n != epochs {
		t.Errorf("%d epochs are opened", n-epochs)
	}
	if after := pleattest.Text(pleattest.View(t, s)); after[:len(before)] != before {
		t.Error("the view is another one afterwards")
	}
	if _, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: handle}); err != nil {
		t.Error(err)
	}
}

// full is a store that can only be read while it is full; its errors name its file.
type full struct {
	*store.Memory
	full bool
}

func (f *full) err() error {
	if f.full {
		return fmt.Errorf("/home/me/pleat.db: %w: free space on its disk", store.ErrFull)
	}
	return nil
}

func (f *full) Append(ctx context.Context, key store.SessionKey, last uint64, e ...store.Entry) (uint64, error) {
	if err := f.err(); err != nil {
		return 0, err
	}
	return f.Memory.Append(ctx, key, last, e...)
}

func (f *full) Search(ctx context.Context, key store.SessionKey, query string, limit int) ([]store.Hit, error) {
	if err := f.err(); err != nil { // it cannot write its index
		return nil, err
	}
	return f.Memory.Search(ctx, key, query, limit)
}

// TestFullStoreRecall: what a full store has is found, and the model is not told where the store is.
func TestFullStoreRecall(t *testing.T) {
	st := &full{Memory: store.NewMemory()}
	s := open(t, st, &pleat.Options{Tools: pleat.RecallTools()})
	work(t, s, 0, 3, 400)
	st.full = true
	found, _ := s.Answer(t.Context(), pleat.Call("c", "search", `{"query":"line of file 1"}`))
	if found.Error || !strings.Contains(found.Text(), "line of file 1") {
		t.Errorf("search: %s", found.Text())
	}
	pinned, _ := s.Answer(t.Context(), pleat.Call("d", "pin", `{"text":"Never touch legacy/."}`))
	if got := pinned.Text(); !pinned.Error || got != "[pleat pin failed] store is full\n" {
		t.Errorf("pin: %s", got)
	}
}

// TestManyCalls folds an answer with more calls than a page has room for: it names as many as fit.
func TestManyCalls(t *testing.T) {
	for _, tt := range []struct{ window, calls int }{{4_000, 200}, {8_000, 90}, {16_000, 175}, {32_000, 425}, {8_000, 1_000}} {
		s := open(t, store.NewMemory(), &pleat.Options{
			Budget: pleat.Budget{Window: tt.window}, Tools: pleat.RecallTools(),
		})
		calls, results := make([]pleat.Block, tt.calls), make([]pleat.ToolResult, tt.calls)
		for i := range calls {
			id := fmt.Sprint("call_", i)
			calls[i] = pleat.Call(id, "read_file", fmt.Sprintf(`{"path":"src/part%d.go"}`, i))
			results[i] = pleat.Result(id, strings.Repeat(fmt.Sprintf("// line of file %d\n", i), 30))
		}
		mustAppend(t, s, pleat.User("Read all."), pleat.Assistant(calls...), pleat.Results(results...))
		page := allText(view(t, s))
		least := min(tt.calls, tt.window/40)
		if n := strings.Count(page, ".go"); n < least || !strings.Contains(page, fmt.Sprintf("part%d.go", tt.calls-1)) {
			t.Errorf("%d calls in a window of %d: %d files are named\n%s", tt.calls, tt.window, n, page)
		}
	}
}
