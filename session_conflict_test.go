package pleat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// An epoch is planned again on what the other wrote.
func TestEpochConflict(t *testing.T) {
	st := store.NewMemory()
	o := &pleat.Options{Budget: fold.Budget{Window: 8_000}}
	a := open(t, st, o)
	mustAppend(t, a, transcript.User("Go."))
	work(t, a, 0, 8, 4_000)
	b := open(t, st, o)
	mustAppend(t, a, transcript.User("Stop."))
	got := dump(t, view(t, b))
	if b.Len() != a.Len() {
		t.Errorf("b has %d messages of %d", b.Len(), a.Len())
	}
	if err := a.Append(t.Context(), transcript.User("x")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("append after another's epoch: %v", err)
	}
	if d := difftest.Values(got, dump(t, view(t, a))); d != "" {
		t.Errorf("two sessions on one store (-b +a):\n%s", d)
	}
}

func TestOpenSessionTwice(t *testing.T) {
	mem := store.NewMemory()
	s := &hooked{Memory: mem}
	s.before = func([]store.Entry) { // somebody else creates the session at the last moment
		s.before = nil
		open(t, mem, nil)
	}
	mustAppend(t, open(t, s, nil), transcript.User("hello"))
}

// An Append that loses in the middle says how much of it is there.
func TestAppendError(t *testing.T) {
	mem := store.NewMemory()
	o := &pleat.Options{Budget: fold.Budget{Window: 8_000}}
	st := &hooked{Memory: mem}
	a, b := open(t, st, o), open(t, mem, o)
	mustAppend(t, a, transcript.User("go"))
	must(t, b.Refresh(t.Context()))
	st.before = func([]store.Entry) { // while a writes the call, before its result
		st.before = func([]store.Entry) {
			st.before = nil
			if err := errors.Join(b.Refresh(t.Context()), b.Append(t.Context(), transcript.User("from b"))); err != nil {
				t.Error(err)
			}
		}
	}
	msgs := []transcript.Message{
		transcript.Assistant(transcript.Call("1", "read", `{}`)),
		transcript.Results(transcript.Result("1", strings.Repeat("long ", 1000))),
	}
	err := a.Append(t.Context(), msgs...)
	var e *pleat.AppendError
	if !errors.As(err, &e) || e.Added != 1 || e.Of != 2 || !errors.Is(err, store.ErrConflict) || a.Len() != 3 {
		t.Fatalf("%v: %+v, with %d messages; want 1 of 2 added and a conflict", err, e, a.Len())
	}
	if err := a.Append(t.Context(), msgs[e.Added:]...); err != nil || a.Len() != 4 {
		t.Errorf("append of the rest: %v, %d messages", err, a.Len())
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

// TestViewAmongOthers opens an epoch while another process writes again and again.
func TestViewAmongOthers(t *testing.T) {
	st := &hooked{Memory: store.NewMemory()}
	o := &pleat.Options{Budget: pleat.Budget{Window: 8_000}}
	s := mustSync(t, open(t, st, o), turns(30, 2_000))
	other := open(t, st.Memory, o)
	left := 10
	st.before = func(e []store.Entry) {
		if e[0].Kind != store.EntryEpoch || left == 0 {
			return
		}
		left--
		if err := other.Append(t.Context(), pleat.User("And this.")); err != nil {
			t.Error(err)
		}
	}
	if msgs := view(t, s); len(msgs) >= s.Len() || s.Len() != 72 {
		t.Errorf("%d messages of %d", len(msgs), s.Len())
	}
}
