package pleat_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
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
			_, err := v.Resolve(tr.At)
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
