package pleat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
)

// TestSyncUndoneView: a view that was stored back is known also when all of its folds were undone.
func TestSyncUndoneView(t *testing.T) {
	ctx := t.Context()
	for name, undo := range map[string]func(*pleat.Session) error{
		"undo": func(s *pleat.Session) error { return s.Undo(ctx) },
		"all":  func(s *pleat.Session) error { return s.UndoAll(ctx) },
	} {
		s := open(t, store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 9_000}, Tools: pleat.RecallTools()})
		key := s.Key()
		history := []pleat.Message{pleat.User("Find the bug.")}
		round := func(i int) {
			id := fmt.Sprint("c", i)
			history = append(history, pleat.Assistant(pleat.Call(id, "read", fmt.Sprintf(`{"path":"f%d.go"}`, i))),
				pleat.Results(pleat.Result(id, strings.Repeat(fmt.Sprintf("line of file %d\n", i), 200))))
		}
		var err error
		for i := 0; s.Snapshot().Epoch == 0; i++ {
			round(i)
			s = mustSync(t, s, history)
			if history, err = s.Messages(ctx); err != nil { // stored back
				t.Fatal(err)
			}
		}
		must(t, undo(s))
		n := s.Len()
		round(99)
		if s = mustSync(t, s, history); s.Key() != key || s.Len() != n+2 {
			t.Errorf("%s: session %s with %d messages, want %s with %d", name, s.Key(), s.Len(), key, n+2)
		}
	}
}
