package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// turns is a history of some rounds behind a system message and a question.
func turns(n, size int) []pleat.Message {
	msgs := []pleat.Message{
		transcript.NewMessage(transcript.RoleSystem, pleat.Say("Be brief. It is turn 0.")),
		pleat.User("Read them all."),
	}
	for i := range n {
		id := fmt.Sprint("call_", i)
		line := fmt.Sprintf("line of file %d\n", i)
		msgs = append(msgs, pleat.Assistant(pleat.Call(id, "read_file", fmt.Sprintf(`{"path":"f%d.go"}`, i))),
			pleat.Results(pleat.Result(id, strings.Repeat(line, size/len(line)))))
	}
	return msgs
}

// mustSync returns the session that has a history: s, if that goes on from it, or a fork. It leaves s where it is.
func mustSync(t *testing.T, s *pleat.Session, history []pleat.Message) *pleat.Session {
	t.Helper()
	next, err := pleat.Follow(t.Context(), s, history)
	must(t, err)
	return next
}

// TestSyncSystemMessage changes the system message at every turn.
func TestSyncSystemMessage(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 8_000}})
	history := turns(30, 2_000)
	for n := 2; n <= len(history); n += 2 {
		system := fmt.Sprintf("Be brief. It is turn %d. %s", n, strings.Repeat("Mind this. ", n))
		history[0] = transcript.NewMessage(transcript.RoleSystem, pleat.Say(system))
		next := mustSync(t, s, history[:n])
		if next != s {
			t.Fatalf("turn %d went on in %s", n, next.Key().Session)
		}
		msgs := view(t, s)
		if msgs[0].Text() != system {
			t.Fatalf("turn %d shows the system message %q", n, msgs[0].Text())
		}
		if count, snap := countAll(msgs), s.Snapshot(); int(snap.Tokens) < count {
			t.Fatalf("turn %d: the meter says %d tokens, the view has %d", n, snap.Tokens, count)
		}
	}
}

func countAll(msgs []pleat.Message) int {
	counter := tokens.NewTokenizer(model.Model{}, nil)
	n := 0
	for _, m := range msgs {
		n += counter.CountMessage(m)
	}
	return n
}

// TestSyncForkNames edits the history again and again.
func TestSyncForkNames(t *testing.T) {
	st := store.NewMemory()
	s := open(t, st, nil)
	first := mustSync(t, s, turns(3, 40))
	for i := range 20 {
		history := append(turns(3, 40), pleat.Assistant(pleat.Say("Done.")), pleat.User(fmt.Sprint("Try ", i)))
		s = mustSync(t, s, history)
		if name := s.Key().Session; len(name) > len(first.Key().Session)+len("~0123456789ab") {
			t.Fatalf("fork %d is called %s", i, name)
		}
		if s.Len() != len(history) {
			t.Fatalf("fork %d has %d messages", i, s.Len())
		}
	}
	// A history that was taken back, gone on with, and taken back again.
	back := turns(2, 40)
	for i := range 3 {
		s = mustSync(t, first, back)
		if s.Len() != len(back) {
			t.Errorf("time %d: %d messages of %d", i, s.Len(), len(back))
		}
		mustSync(t, s, append(back, pleat.User(fmt.Sprint("Way ", i))))
	}
}

// TestSyncAtOnce has many goroutines hand over the same histories.
func TestSyncAtOnce(t *testing.T) {
	st := store.NewMemory()
	for round := range 20 {
		key := pleat.Key{Session: fmt.Sprint("s", round)}
		a, b := openKey(t, st, key, nil), openKey(t, st, key, nil) // as two processes
		history := turns(6, 40)
		var work sync.WaitGroup
		for g := range 64 {
			s := a
			if g%2 == 1 {
				s = b
			}
			work.Go(func() {
				for n := 2; n <= len(history); n += 2 {
					if _, err := s.Sync(t.Context(), history[:n]); err != nil {
						t.Error(err)
					}
				}
			})
		}
		work.Wait()
		for _, s := range []*pleat.Session{a, b} {
			if _, err := s.Sync(t.Context(), history); err != nil || s.Len() != len(history) {
				t.Errorf("%s has %d messages of %d: %v", s.Key().Session, s.Len(), len(history), err)
			}
		}
	}
}

// TestSyncMovesInUse moves a session to and fro while others use it.
func TestSyncMovesInUse(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 8_000}})
	one, two := turns(12, 400), append(turns(4, 400), pleat.User("Another way."))
	var work sync.WaitGroup
	for g := range 4 {
		work.Go(func() {
			for i := range 20 {
				if _, err := s.Sync(t.Context(), [][]pleat.Message{one, two}[(g+i)%2]); err != nil {
					t.Error(err)
				}
				if _, err := s.Messages(t.Context()); err != nil && !errors.Is(err, pleat.ErrConflict) {
					t.Error(err)
				}
				_, _, _ = s.Key(), s.Snapshot(), s.Report()
				must(t, s.Close())
			}
		})
	}
	work.Wait()
}

// TestSyncKeepsSession goes on after an error.
func TestSyncKeepsSession(t *testing.T) {
	st := &hooked{Memory: store.NewMemory()}
	s := open(t, st, nil)
	history := turns(2, 40)
	s = mustSync(t, s, history[:2])
	st.fails = errors.New("the disk is full")
	for _, h := range [][]pleat.Message{history, {pleat.User("Something else.")}, {pleat.Assistant(nil)}} {
		did, err := s.Sync(t.Context(), h)
		if err == nil || s.Key() != did.From || did.From.Session != "test" {
			t.Errorf("%v, session %s after %+v", err, s.Key(), did)
		}
	}
	st.fails = nil
	if s = mustSync(t, s, history); s.Len() != len(history) {
		t.Errorf("%d messages", s.Len())
	}
}

// TestEventErrorNotCaller: observers are told of a store that fails, not of a caller who has no more time.
func TestEventErrorNotCaller(t *testing.T) {
	st, told := &hooked{Memory: store.NewMemory()}, 0
	s := open(t, st, &pleat.Options{Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) {
		if e.Kind == pleat.EventError {
			told++
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	st.fails = ctx.Err()
	if err := s.Append(ctx, pleat.User("Hi.")); !errors.Is(err, context.Canceled) || told != 0 {
		t.Errorf("the caller stopped: %v, told %d times", err, told)
	}
	st.fails = errors.New("the disk is full")
	if err := s.Append(t.Context(), pleat.User("Hi.")); err == nil || told != 1 {
		t.Errorf("the store failed: %v, told %d times", err, told)
	}
}

// waiting is a model that answers never.
type waiting struct{ asked, ended chan struct{} }

func (w *waiting) Generate(ctx context.Context, _ *model.Request, _ func(model.Delta)) (model.Reply, error) {
	close(w.asked)
	<-ctx.Done()
	close(w.ended)
	return model.Reply{}, ctx.Err()
}

// TestSyncEndsWork has a digest under way in a session that Sync leaves.
func TestSyncEndsWork(t *testing.T) {
	w := &waiting{make(chan struct{}), make(chan struct{})}
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: pleat.Budget{Window: 20_000}, Digest: digest.Options{Generator: w},
	})
	pleattest.Digestible(t, s, 1)
	for i := 2; s.Snapshot().Tokens < s.Snapshot().Limits.Yellow; i++ {
		pleattest.Talk(t, s, i, 1)
	}
	view(t, s)
	<-w.asked
	did, err := s.Sync(t.Context(), []pleat.Message{pleat.User("Something else.")})
	if err != nil || !did.New {
		t.Fatalf("no other session: %+v, %v", did, err)
	}
	select {
	case <-w.ended:
	default:
		t.Error("the digest of the session before goes on")
	}
}

// TestSyncForksShareTheBreaker edits the newest answer of a long history again and again, while no
// digest is got: a fork does not ask anew what its parent gave up.
func TestSyncForksShareTheBreaker(t *testing.T) {
	calls := 0
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: pleat.Budget{Window: 8_000},
		Digest: digest.Options{NoBackground: true, Generator: model.GeneratorFunc(
			func(context.Context, *model.Request, func(model.Delta)) (model.Reply, error) {
				calls++
				return model.Reply{}, errors.New("no answer")
			})},
	})
	history, forks := turns(60, 2_000), 0
	for n := 20; n <= len(history); n += 2 {
		for _, h := range [][]pleat.Message{history[:n], append(history[:n:n], say("One."), pleat.User("Go on."))} {
			did, err := s.Sync(t.Context(), h)
			if must(t, err); did.Forked {
				forks++
			}
			view(t, s)
		}
	}
	if forks < 10 || calls > 24 { // three digests, each with its ladder
		t.Errorf("%d forks asked the model %d times", forks, calls)
	}
}
