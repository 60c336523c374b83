package pleat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
)

// TestDeleted goes on with a session that somebody has deleted, and perhaps begun again.
func TestDeleted(t *testing.T) {
	for _, successor := range [][]pleat.Message{nil, turns(3, 80)} {
		st := store.NewMemory()
		history := turns(1, 40)
		s := mustSync(t, open(t, st, nil), history)
		must(t, st.Forget(t.Context(), s.Key()))
		if successor != nil {
			mustSync(t, open(t, st, nil), successor)
		}
		history = append(history, pleat.Assistant(pleat.Say("Done.")))
		edited := append([]pleat.Message{pleat.User("Something else.")}, history[1:]...)
		for range 2 {
			_, synced := s.Sync(t.Context(), history)
			_, forked := s.Sync(t.Context(), edited)
			for _, err := range []error{
				synced, forked, s.Append(t.Context(), history[0]), s.Pin(t.Context(), "x"), s.Refresh(t.Context()),
			} {
				if !errors.Is(err, pleat.ErrNotFound) || errors.Is(err, pleat.ErrConflict) ||
					!strings.Contains(err.Error(), "open it again") {
					t.Errorf("%d messages of another session: %v", len(successor), err)
				}
			}
		}
		if s = mustSync(t, open(t, st, nil), history); s.Len() != len(history) {
			t.Errorf("the session opened again has %d messages", s.Len())
		}
	}
}

// TestDeletedOutOfMemory: what was deleted cannot be read back, and nothing stands in for it.
func TestDeletedOutOfMemory(t *testing.T) {
	for _, successor := range [][]pleat.Message{nil, turns(30, 90)} {
		st := store.NewMemory()
		s := mustSync(t, open(t, st, &pleat.Options{Budget: pleat.Budget{Window: 8_000}}), turns(12, 1_500))
		inside.Of(s).Shrink(0)
		must(t, st.Forget(t.Context(), s.Key()))
		if successor != nil {
			mustSync(t, open(t, st, nil), successor)
		}
		_, planned := s.Plan(t.Context(), "")
		_, compacted := s.Compact(t.Context(), "")
		_, shown := s.Messages(t.Context())
		for _, err := range []error{planned, compacted, shown} {
			if !errors.Is(err, pleat.ErrNotFound) {
				t.Errorf("%d messages of another session: %v", len(successor), err)
			}
		}
	}
}

// crowded is a store in which somebody else writes before the first appends.
type crowded struct {
	*store.Memory
	others func()
	left   int
}

func (c *crowded) Append(ctx context.Context, key store.SessionKey, after uint64, e ...store.Entry) (uint64, error) {
	if e[0].Kind == store.EntryEpoch && c.left > 0 {
		c.left--
		c.others()
	}
	return c.Memory.Append(ctx, key, after, e...)
}

// TestViewAmongOthers opens an epoch while another process writes again and again.
func TestViewAmongOthers(t *testing.T) {
	st := &crowded{Memory: store.NewMemory(), left: 10}
	o := &pleat.Options{Budget: pleat.Budget{Window: 8_000}}
	s := mustSync(t, open(t, st, o), turns(30, 2_000))
	other := open(t, st.Memory, o)
	st.others = func() {
		if err := other.Append(t.Context(), pleat.User("And this.")); err != nil {
			t.Error(err)
		}
	}
	if msgs := view(t, s); len(msgs) >= s.Len() || s.Len() != 72 {
		t.Errorf("%d messages of %d", len(msgs), s.Len())
	}
}
