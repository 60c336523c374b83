package pleat_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

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
