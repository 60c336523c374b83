package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

// TestCalledBack: Observe or a hook that calls its session is told so at once. A call in another goroutine
// waits meanwhile.
func TestCalledBack(t *testing.T) {
	const want = "Observe or a hook calls its session"
	for _, hook := range []bool{false, true} {
		var s *pleat.Session
		var others sync.WaitGroup
		o := &pleat.Options{Budget: fold.Budget{Window: 8_000}}
		if hook {
			o.Hooks.BeforeEpoch = func(ctx context.Context, _ *fold.Plan) (d pleat.EpochDecision, err error) {
				return d, s.Append(ctx, pleat.User("Go on."))
			}
		} else {
			o.Observe = func(_ context.Context, _ pleat.Key, e pleat.Event) {
				switch e.Kind {
				case pleat.EventSnapshot:
					others.Go(func() { s.Snapshot() })
				case pleat.EventEpoch:
					s.Snapshot()
				}
			}
		}
		s = busy(t, 30, o)
		func() {
			var err error
			defer func() {
				if r := recover(); !strings.Contains(fmt.Sprint(r, err), want) || (r == nil) != hook {
					t.Errorf("hook %v: error %v, panic %v", hook, err, r)
				}
			}()
			_, err = s.Messages(t.Context())
		}()
		others.Wait()
		if s.Len() == 0 {
			t.Error("the session cannot be used any more")
		}
	}
}

// TestWaitEnds: a call that waits for another of the same session returns when its context ends.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		s := busy(t, 30, &pleat.Options{Budget: fold.Budget{Window: 8_000}, Hooks: pleat.Hooks{
			BeforeEpoch: func(context.Context, *fold.Plan) (d pleat.EpochDecision, err error) {
				<-slow
				return d, nil
			},
		}})
		first := make(chan error)
		go func() {
			_, err := s.Messages(t.Context())
			first <- err
		}()
		synctest.Wait() // it is in the hook
		for name, call := range map[string]func(context.Context) error{
			"Append":  func(ctx context.Context) error { return s.Append(ctx, pleat.User("Go on.")) },
			"View":    func(ctx context.Context) error { _, err := s.View(ctx, pleat.Turn{}); return err },
			"Compact": func(ctx context.Context) error { _, err := s.Compact(ctx, ""); return err },
			"Pin":     func(ctx context.Context) error { return s.Pin(ctx, "x") },
			"Refresh": s.Refresh,
			"Answer": func(ctx context.Context) error {
				r, ok := s.Answer(ctx, pleat.Call("x", "unfold", `{}`))
				if ok && r.Error && strings.Contains(r.Text(), context.Canceled.Error()) {
					return context.Canceled
				}
				return nil
			},
			"Recall": func(ctx context.Context) error {
				text, failed, _ := inside.Of(s).Answer(ctx, "ledger", `{}`)
				if failed && strings.Contains(text, context.Canceled.Error()) {
					return context.Canceled
				}
				return nil
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- call(ctx) }()
			synctest.Wait()
			cancel()
			synctest.Wait()
			select {
			case err := <-ended:
				var added *pleat.AppendError
				if !errors.Is(err, context.Canceled) || name == "Append" && !errors.As(err, &added) {
					t.Errorf("%s: %v, want context.Canceled", name, err)
				}
			default:
				t.Errorf("%s waits though its context has ended", name)
			}
		}
		close(slow)
		if err := <-first; err != nil || len(s.Folds()) == 0 {
			t.Errorf("the first call: %v, %d folds", err, len(s.Folds()))
		}
	})
}

// A digest in flight is waited for once, however many calls that takes.
func TestDigestIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, store.NewMemory(), &pleat.Options{
			Budget: fold.Budget{Window: 16_000},
			Digest: digest.Options{Deadline: 8 * time.Second, Generator: &pleattest.Script{Steps: []pleattest.Step{{Hang: true}}}},
		})
		defer s.Close()
		pleattest.Digestible(t, s, 16)
		pleattest.View(t, s) // yellow: the model is asked in the background
		synctest.Wait()
		pleattest.Digestible(t, s, 8)
		began := time.Now()
		for {
			ctx, cancel := context.WithCancel(t.Context())
			gone := time.AfterFunc(3*time.Second, cancel) // a client that does not say how long it stays
			_, err := s.Messages(ctx)
			gone.Stop()
			if err == nil {
				break
			}
			if want := "messages of session test: wait for digest: context canceled"; err.Error() != want {
				t.Fatalf("the error is %q, want %q", err, want)
			}
		}
		if waited := time.Since(began); waited != 8*time.Second {
			t.Errorf("waited for %v", waited)
		}
		began = time.Now()
		pleattest.Digestible(t, s, 16)
		pleattest.View(t, s)
		if waited := time.Since(began); waited > 0 || len(s.Report().Epochs) != 2 {
			t.Errorf("waited once more for %v, %d epochs", waited, len(s.Report().Epochs))
		}
	})
}
