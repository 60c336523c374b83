package pleat_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

// hung returns a session at red whose model of digests never answers.
func hung(t *testing.T, waits bool) *pleat.Session {
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{Window: 16_000},
		Digest: digest.Options{NoBackground: waits, Deadline: 8 * time.Second, Generator: model.GeneratorFunc(
			func(ctx context.Context, _ *model.Request, _ func(model.Delta)) (model.Reply, error) {
				<-ctx.Done()
				return model.Reply{}, ctx.Err()
			},
		)},
	})
	t.Cleanup(func() { s.Close() })
	pleattest.Digestible(t, s, 16)
	pleattest.View(t, s) // yellow: unless waits, the model is asked in the background
	synctest.Wait()
	pleattest.Digestible(t, s, 8)
	return s
}

// A caller whose time ends before the model's gets a page by code while there is time left for it.
func TestDigestLeavesTimeForPage(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := hung(t, waits)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if _, err := s.Messages(ctx); err != nil || ctx.Err() != nil || len(s.Report().Epochs) != 1 {
				t.Errorf("waits %v: %v, %v, %d epochs", waits, err, ctx.Err(), len(s.Report().Epochs))
			}
		})
	}
}

// A digest in flight is waited for once, however many calls that takes.
func TestDigestIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hung(t, false)
		began := time.Now()
		for {
			ctx, cancel := context.WithCancel(t.Context())
			gone := time.AfterFunc(3*time.Second, cancel) // a client that does not say how long it stays
			_, err := s.Messages(ctx)
			gone.Stop()
			if err == nil {
				break
			}
			if want := "view of session test: wait for digest: context canceled"; err.Error() != want {
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
