package pleat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
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

// slowCreate is a store in which somebody else creates the session at the last moment.
type slowCreate struct {
	*store.Memory
	other func()
}

func (s *slowCreate) Append(
	ctx context.Context,
	key store.SessionKey,
	last uint64,
	entries ...store.Entry,
) (uint64, error) {
	if f := s.other; f != nil {
		s.other = nil
		f()
	}
	return s.Memory.Append(ctx, key, last, entries...)
}

func TestOpenSessionTwice(t *testing.T) {
	mem := store.NewMemory()
	s := &slowCreate{Memory: mem, other: func() { open(t, mem, nil) }}
	mustAppend(t, open(t, s, nil), transcript.User("hello"))
}

// An Append that loses in the middle says how much of it is there.
func TestAppendError(t *testing.T) {
	mem := store.NewMemory()
	o := &pleat.Options{Budget: fold.Budget{Window: 8_000}}
	st := &slowCreate{Memory: mem}
	a, b := open(t, st, o), open(t, mem, o)
	mustAppend(t, a, transcript.User("go"))
	must(t, b.Refresh(t.Context()))
	st.other = func() { // while a writes the call, before its result
		st.other = func() {
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
