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

const (
	second, minute = time.Second, time.Minute
	late           = "it is still being written"
)

// speaking is a model that says its first byte and its whole answer after some time.
func speaking(first, whole time.Duration, fails error) model.Generator {
	var r model.Reply
	return model.GeneratorFunc(func(ctx context.Context, _ *model.Request, sink func(model.Delta)) (model.Reply, error) {
		if fails != nil {
			return r, fails
		}
		for _, d := range []time.Duration{first, whole - first} {
			select {
			case <-ctx.Done():
				return r, ctx.Err()
			case <-time.After(d):
				sink(model.Delta{Text: "<"})
			}
		}
		return pleattest.Say(written).Reply, nil
	})
}

// TestWaits: a model that says nothing for ten seconds is not waited for any longer, nor one that wants to be asked
// again after the deadline; one whose answer has begun is, up to the deadline. A quarter of a caller's own time is
// left for the page by code. What comes late is there the next time.
func TestWaits(t *testing.T) {
	limited := &model.APIError{Kind: model.ErrorRateLimited, Status: 429, RetryAfter: 5 * minute}
	for name, tt := range map[string]struct {
		first, whole time.Duration // until the first byte and the whole answer
		fails        error
		waits        bool          // nothing is done in the background
		own          time.Duration // the caller's own time; 0: no end
		took         time.Duration
		by, why      string
	}{
		"answers":                     {first: second, whole: 2 * second, took: 2 * second, by: "model"},
		"silent":                      {first: 2 * minute, whole: 2 * minute, took: 10 * second, why: late},
		"begins late":                 {first: 11 * second, whole: 2 * minute, took: 10 * second, why: late},
		"streams":                     {first: 9 * second, whole: 50 * second, took: 50 * second, by: "model"},
		"streams too long":            {first: second, whole: 2 * minute, took: minute, why: late},
		"not in background":           {whole: 50 * second, waits: true, took: 50 * second, by: "model"},
		"too long, not in background": {whole: 5 * minute, waits: true, took: minute, why: "out of time"},
		"asks to wait":                {fails: limited, why: "model API error 429"},
		"asks a caller to wait":       {fails: limited, waits: true, why: "model API error 429"},
		"a caller of 8 s":             {first: second, whole: 30 * second, own: 8 * second, took: 6 * second, why: late},
		"and waits":                   {whole: 30 * second, waits: true, own: 8 * second, took: 6 * second},
	} {
		if tt.by == "" {
			tt.by = "code"
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := speaking(tt.first, tt.whole, tt.fails)
				p := join(t, store.NewMemory(), digest.Options{NoBackground: tt.waits, Generator: g})
				p.talk(t, 20)
				ctx := t.Context()
				if tt.own > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.own)
					defer cancel()
				}
				o, took := p.answer(ctx)
				if o.By != tt.by || !strings.HasPrefix(o.Why, tt.why) || took != tt.took || p.count("writing") != 1 {
					t.Errorf("by %s (%s) after %v, told %q", o.By, o.Why, took, p.told)
				}
				if tt.why != late {
					return
				}
				time.Sleep(3 * minute)
				synctest.Wait()
				if n := len(p.digests()); n != 1 || !p.digests()[0].Background || p.st.NewestTold() == 0 || p.Flying() {
					t.Errorf("then there are %d digests, told %q", n, p.told)
				}
			})
		})
	}
}

// TestWaitsOnce: a digest in flight is waited for once, however many calls that takes, and everything else goes on.
func TestWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := join(t, store.NewMemory(), digest.Options{Deadline: 8 * second, Generator: speaking(minute, minute, nil)})
		p.talk(t, 20)
		for i, want := range []time.Duration{3 * second, 3 * second, 2 * second, 0} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(3*second, cancel) // a client that does not say how long it stays
			go func() {
				time.Sleep(second)
				began := time.Now()
				p.Lock()
				if d := time.Since(began); d > 0 || !p.Digester.Flying() {
					t.Errorf("others are held up for %v", d)
				}
				p.Unlock()
			}()
			if _, took := p.answer(ctx); took != want || p.count("writing") != 1 {
				t.Errorf("call %d waited for %v, want %v; told %q", i, took, want, p.told)
			}
			cancel()
		}
		time.Sleep(2 * second)
		p.Close()
	})
}

// TestTogether: of two callers who need a digest at the same time one asks, and both have it.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := join(t, store.NewMemory(), digest.Options{Generator: speaking(second, 5*second, nil)})
		p.talk(t, 20)
		for range 2 {
			go func() {
				if o, took := p.answer(t.Context()); o.By != "model" || took != 5*second {
					t.Errorf("by %s after %v", o.By, took)
				}
			}()
		}
		time.Sleep(minute)
		if p.count("writing") != 1 {
			t.Errorf("told %q", p.told)
		}
	})
}

// TestAhead: from yellow on a digest is written in the background, and what its page needs is looked through. It is
// thought of again when the view has grown by a twentieth of the window, or shrunk.
func TestAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := join(t, store.NewMemory(), digest.Options{Generator: speaking(second, 20*second, nil)})
		p.talk(t, 20)
		warmed := 0
		for _, tt := range []struct{ view, asked int }{
			{59_000, 0}, {60_000, 1}, {64_000, 1}, {65_000, 2}, {61_000, 3}, {30_000, 3}, {100_000, 4},
		} {
			began := time.Now()
			p.ahead(t.Context(), tt.view, func() error { warmed++; return nil })
			if p.Flying() {
				p.ahead(t.Context(), 99_000, nil) // one at a time
			}
			if d := time.Since(began); d > 0 {
				t.Errorf("at %d tokens the caller waited for %v", tt.view, d)
			}
			synctest.Wait()
			if n := p.count("writing"); n != tt.asked {
				t.Errorf("at %d tokens: %d were asked, want %d", tt.view, n, tt.asked)
			}
			time.Sleep(minute)
			synctest.Wait()
		}
		if warmed != 4 || p.count("written") != 4 || p.count("warning") > 0 || !p.digests()[0].Background {
			t.Errorf("looked through %d times, told %q", warmed, p.told)
		}
	})
}

// TestPinsMeanwhile: pins and notes can change while a model reads them. It is for the race detector.
func TestPinsMeanwhile(t *testing.T) {
	pinned := make(chan struct{})
	p := join(t, store.NewMemory(), digest.Options{NoBackground: true, Generator: script(func(int) (model.Reply, error) {
		<-pinned
		return pleattest.Say(written).Reply, nil
	})})
	p.talk(t, 20)
	done := make(chan digest.Origin)
	go func() {
		o, _ := p.answer(t.Context())
		done <- o
	}()
	for i := range 2_000 {
		if i == 1_000 {
			close(pinned)
		}
		p.Lock()
		err := errors.Join(p.j.Pin(t.Context(), "never push", false), p.j.Note(t.Context(), "k", "never push"))
		if p.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	if o := <-done; o.By != "model" {
		t.Errorf("by %s (%s)", o.By, o.Why)
	}
}
