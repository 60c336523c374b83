package pleat_test

import (
	"context"
	"sync/atomic"
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

// told is a digest of [pleattest.Digestible].
var told = pleattest.Say(
	"<digest>\n### Findings\n- Sessions are dropped in src/file3.go because sessionCache evicts after " +
		"300 entries.\n### Goal\n- Port 8443, timeout 2750 ms, legacy/ stays.\n</digest>").Reply

// mortal is a store as a process has it that can be killed: from then on it does nothing there.
type mortal struct {
	*store.Memory
	dead atomic.Bool
}

func (m *mortal) Claim(
	ctx context.Context, key store.SessionKey, what string, ttl time.Duration,
) (func(context.Context) error, bool, error) {
	if m.dead.Load() {
		return nil, false, context.Canceled
	}
	release, ok, err := m.Memory.Claim(ctx, key, what, ttl)
	return func(ctx context.Context) error {
		if m.dead.Load() {
			return nil
		}
		return release(ctx)
	}, ok, err
}

// asking returns a session that asks for a digest in the next view, and what was asked and warned.
func asking(
	t *testing.T, st store.Store, write func() (model.Reply, error),
) (s *pleat.Session, asked *int, warned *[]string) {
	asked, warned = new(int), new([]string)
	s = open(t, st, &pleat.Options{
		Budget: fold.Budget{Window: 16_000},
		Digest: digest.Options{NoBackground: true, Generator: &pleattest.Script{
			Then: func(int, *model.Request) (model.Reply, error) { *asked++; return write() },
		}},
		Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
			if e.Kind == pleat.EventWarning {
				*warned = append(*warned, e.Warning)
			}
		},
	})
	return s, asked, warned
}

// Nobody waits long for the digest of a process that died, and the digest is asked for again.
func TestClaimOfTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mortal{Memory: store.NewMemory()}
		ctx, kill := context.WithCancel(t.Context())
		s, _, _ := asking(t, m, func() (model.Reply, error) {
			m.dead.Store(true)
			kill()
			return model.Reply{}, ctx.Err()
		})
		pleattest.Digestible(t, s, 24)
		s.Messages(ctx) // it never comes to an end

		s, asked, warned := asking(t, m.Memory, func() (model.Reply, error) { return told, nil })
		began := time.Now()
		pleattest.View(t, s)
		if took := time.Since(began); took > 20*time.Second || *asked != 1 {
			t.Errorf("took %v, asked %d times, warned %q", took, *asked, *warned)
		}
	})
}

// Who needs the digest that another process is writing waits for it, however long that takes.
func TestClaimOfTheLiving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		first, _, _ := asking(t, st, func() (model.Reply, error) {
			time.Sleep(50 * time.Second)
			return told, nil
		})
		pleattest.Digestible(t, first, 24)
		second, asked, warned := asking(t, st, func() (model.Reply, error) { return model.Reply{}, nil })
		go pleattest.View(t, first)
		synctest.Wait()
		pleattest.View(t, second)
		if *asked != 0 || len(*warned) > 0 || second.Report().Digests[0].By != "model" {
			t.Errorf("asked %d times, warned %q, digests %+v", *asked, *warned, second.Report().Digests)
		}
	})
}

// Pins and notes can change while a model reads them. It is for the race detector.
func TestPinWhileDigestIsWritten(t *testing.T) {
	pinned := make(chan struct{})
	s, _, _ := asking(t, store.NewMemory(), func() (model.Reply, error) { <-pinned; return told, nil })
	pleattest.Digestible(t, s, 24)
	for _, text := range []string{"never push to main", "never touch legacy/"} {
		must(t, s.Pin(t.Context(), text))
	}
	done := make(chan error)
	go func() {
		_, err := s.Compact(t.Context(), "")
		done <- err
	}()
	for i := range 2_000 {
		if i == 1_000 {
			close(pinned)
		}
		for _, text := range []string{"never push to main", "never touch legacy/"} {
			must(t, s.Pin(t.Context(), text))
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
