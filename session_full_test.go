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
