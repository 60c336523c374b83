package pleat_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
)

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
		_, synced := s.Sync(t.Context(), append(turns(12, 1_500), pleat.Assistant(pleat.Say("Done."))))
		_, forked := s.Sync(t.Context(), turns(11, 1_400))
		for _, err := range []error{planned, compacted, shown, synced, forked, s.Append(t.Context(), pleat.User("x"))} {
			if !errors.Is(err, pleat.ErrNotFound) || errors.Is(err, pleat.ErrConflict) {
				t.Errorf("%d messages of another session: %v", len(successor), err)
			}
		}
		if s = mustSync(t, open(t, st, nil), turns(12, 1_500)); s.Len() != len(turns(12, 1_500)) {
			t.Errorf("the session opened again has %d messages", s.Len())
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
