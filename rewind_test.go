package pleat_test

import (
	"errors"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// TestRewind goes back to a message, on from there in another way, and back to the same message again.
func TestRewind(t *testing.T) {
	st, key := store.NewMemory(), pleat.Key{Session: "work"}
	s, err := pleat.OpenSession(t.Context(), st, key, &pleat.Options{Tools: pleat.RecallTools()})
	must(t, err)
	work(t, s, 0, 20, 4_000)
	must(t, s.Pin(t.Context(), "Be brief."))
	compact(t, s)
	work(t, s, 20, 4, 4_000)
	whole, folds := s.Len(), s.Folds()
	seen := map[pleat.Key]bool{key: true}
	for _, to := range []pleat.Key{{}, {}, {Session: "mine"}} {
		again, err := pleat.OpenSession(t.Context(), st, key, &pleat.Options{Tools: pleat.RecallTools()})
		must(t, err)
		must(t, again.Rewind(t.Context(), whole-2, to))
		must(t, again.Append(t.Context(), transcript.User("Do something else.")))
		msgs, err := again.Messages(t.Context())
		must(t, err)
		if last := msgs[len(msgs)-1].Text(); again.Len() != whole-1 || last != "Do something else." || len(again.Pins()) != 1 ||
			len(msgs) >= whole-1 || seen[again.Key()] || to.Session != "" && again.Key() != to {
			t.Errorf("%s: %d messages, %d shown, the last is %q", again.Key(), again.Len(), len(msgs), last)
		}
		seen[again.Key()] = true
		u, err := again.Unfold(t.Context(), pleat.UnfoldRequest{Handle: folds[0].Handle})
		if must(t, err); u.Hash != folds[0].Hash {
			t.Error("the fold is another in the fork")
		}
	}
	if err := s.Rewind(t.Context(), 1, pleat.Key{Session: "mine"}); !errors.Is(err, pleat.ErrConflict) || s.Key() != key {
		t.Errorf("onto a session that is there: %v", err)
	}
	if err := s.Rewind(t.Context(), whole+1, pleat.Key{}); !errors.Is(err, pleat.ErrNotFound) {
		t.Errorf("beyond the end: %v", err)
	}
	if s.Len() != whole {
		t.Errorf("the session has %d messages, had %d", s.Len(), whole)
	}
	must(t, s.Rewind(t.Context(), 1, pleat.Key{})) // before the epoch
	if msgs, err := s.Messages(t.Context()); err != nil || len(msgs) != 1 || s.Snapshot().Epoch != 0 {
		t.Errorf("%d messages, %v", len(msgs), err)
	}
}
