package pleat_test

import (
	"errors"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

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
