package digester_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

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

// TestClaimOfTheDead: nobody waits long for the digest of a process that died, and it is asked for again.
func TestClaimOfTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mortal{Memory: store.NewMemory()}
		ctx, kill := context.WithCancel(t.Context())
		dying := join(t, m, digest.Options{NoBackground: true, Generator: script(func(int) (model.Reply, error) {
			m.dead.Store(true)
			kill()
			return model.Reply{}, ctx.Err()
		})})
		dying.talk(t, 20)
		dying.answer(ctx) // it never comes to an end

		next := join(t, m.Memory, digest.Options{NoBackground: true, Generator: pleattest.Always(written)})
		if o, took := next.answer(t.Context()); took > 20*second || o.By != "model" || next.count("warning") > 0 {
			t.Errorf("took %v, by %s, told %q", took, o.By, next.told)
		}
	})
}

// TestClaimOfTheLiving: who needs the digest that another process is writing waits for it, as long as for its own.
// Nobody asks for one ahead meanwhile.
func TestClaimOfTheLiving(t *testing.T) {
	for _, tt := range []struct {
		whole, took time.Duration
		by          string
		warned      int
	}{
		{50 * second, 50 * second, "model", 0},
		{3 * minute, minute, "", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			st, o := store.NewMemory(), digest.Options{Deadline: 5 * minute, Generator: speaking(second, tt.whole, nil)}
			first := join(t, st, o)
			first.talk(t, 20)
			o.NoBackground, o.Deadline = true, 0
			second, third := join(t, st, o), join(t, st, digest.Options{Generator: o.Generator})
			go first.answer(t.Context())
			synctest.Wait()
			third.ahead(t.Context(), 70_000, nil)
			got, took := second.answer(t.Context())
			if took < tt.took || took > tt.took+time.Second || tt.by != "" && got.By != tt.by ||
				second.count("writing") > 0 || second.count("warning: m did not write the digest of messages 1–62") != tt.warned {
				t.Errorf("by %s after %v, told %q", got.By, took, second.told)
			}
			if synctest.Wait(); third.count("writing") > 0 || third.Flying() {
				t.Errorf("asked ahead: %q", third.told)
			}
			time.Sleep(5 * minute)
		})
	}
}

// forgetful is a store that cannot tell who claimed what.
type forgetful struct{ *store.Memory }

func (forgetful) Claim(
	context.Context, store.SessionKey, string, time.Duration,
) (func(context.Context) error, bool, error) {
	return nil, false, errors.New("broken")
}

// TestWithoutClaims: a store that cannot claim keeps nobody from asking.
func TestWithoutClaims(t *testing.T) {
	mem := store.NewMemory()
	for i, st := range []store.Store{forgetful{mem}, struct{ store.Store }{mem}} {
		p := join(t, st, digest.Options{NoBackground: true, Generator: pleattest.Always(written)})
		p.talk(t, 20)
		o, _ := p.answer(t.Context())
		if o.By != "model" || strings.Contains(p.log.String(), "could not be claimed") != (i == 0) {
			t.Errorf("by %s, the log has:\n%s", o.By, &p.log)
		}
	}
}
