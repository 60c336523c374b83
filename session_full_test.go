package pleat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
)

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
