package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pleat-dev/pleat/store"
)

func (s *clause) claimer() store.Claimer {
	s.Helper()
	return optional[store.Claimer](s)
}

// take claims and says whether it was given.
func (s *clause) take(
	key store.SessionKey, what string, ttl time.Duration,
) (release func(context.Context) error, ok bool) {
	s.Helper()
	release, ok, err := s.claimer().Claim(s.Context(), key, what, ttl)
	if err != nil {
		s.Fatalf("Claim(%v, %q): %v", key, what, err)
	}
	if ok != (release != nil) {
		s.Fatalf("Claim(%v, %q): given %v, with a way to release it %v", key, what, ok, release != nil)
	}
	return release, ok
}

func (s *clause) claim() {
	key := s.key("a")
	release, ok := s.take(key, "digest", time.Hour)
	if !ok {
		s.Fatal("work that nobody has was not given")
	}
	if _, ok := s.take(key, "digest", time.Hour); ok {
		s.Error("given twice")
	}
	other := key
	other.Tenant += "x"
	for _, free := range []struct {
		key  store.SessionKey
		what string
	}{
		{key, "index"},
		{key, ""},
		{key, "digest\x00"},
		{s.key("b"), "digest"},
		{other, "digest"},
		{store.SessionKey{Tenant: key.Tenant, Session: key.Session + "digest"}, ""},
	} {
		r, ok := s.take(free.key, free.what, time.Hour)
		if !ok {
			s.Errorf("%q of %v is held by the claim for other work", free.what, free.key)
		} else if err := r(s.Context()); err != nil {
			s.Error(err)
		}
	}
	for range 2 {
		if err := release(s.Context()); err != nil {
			s.Errorf("release: %v", err)
		}
	}
	again, ok := s.take(key, "digest", time.Hour)
	if !ok {
		s.Fatal("work that was released was not given")
	}
	// The release of an earlier claim does not touch a later one.
	if err := release(s.Context()); err != nil {
		s.Error(err)
	}
	if _, ok := s.take(key, "digest", time.Hour); ok {
		s.Error("an old release gave a new claim away")
	}
	if err := again(s.Context()); err != nil {
		s.Error(err)
	}
	if n := len(s.scan(key, 0)); n != 0 {
		s.Errorf("claims have left %d entries", n)
	}
	for _, ttl := range []time.Duration{0, -time.Second} {
		if _, ok, err := s.claimer().Claim(s.Context(), key, "digest", ttl); ok || err == nil {
			s.Errorf("claim for %v: %v, %v; want an error", ttl, ok, err)
		}
	}
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if _, ok, err := s.claimer().Claim(ctx, key, "digest", time.Hour); ok || !errors.Is(err, context.Canceled) {
		s.Errorf("claim with a cancelled context: %v, %v", ok, err)
	}
	s.keptAcrossReopen(s.key("reopened"))
}

// keptAcrossReopen: a claim is stored, not kept in the memory of its holder.
func (s *clause) keptAcrossReopen(key store.SessionKey) {
	if s.opts.Reopen == nil {
		return
	}
	if _, ok := s.take(key, "digest", time.Hour); !ok {
		s.Fatal("not given")
	}
	s.Store = s.opts.Reopen(s.T, s.Store)
	if _, ok := s.take(key, "digest", time.Hour); ok {
		s.Error("given twice, to one before and one after the store was opened again")
	}
}

// claimExpires: the work of a holder that died is taken over.
func (s *clause) claimExpires() {
	key := s.key("a")
	dead, ok := s.take(key, "digest", 20*time.Millisecond)
	if !ok {
		s.Fatal("not given")
	}
	begin := time.Now()
	release, ok := s.take(key, "digest", time.Hour)
	for !ok { // until the time has passed
		if time.Since(begin) > time.Minute {
			s.Fatal("a claim for 20 ms is still held after a minute")
		}
		release, ok = s.take(key, "digest", time.Hour)
	}
	if err := dead(s.Context()); err != nil {
		s.Errorf("release of a claim that was taken over: %v", err)
	}
	if _, ok := s.take(key, "digest", time.Hour); ok {
		s.Error("the holder that was too slow released the claim of another")
	}
	if err := release(s.Context()); err != nil {
		s.Error(err)
	}
}

// claimMany: of many that want the same work, one gets it, each time.
func (s *clause) claimMany() {
	key, claimer := s.key("a"), s.claimer() // only the test's goroutine can skip
	for range 5 {
		var given atomic.Int32
		var release atomic.Pointer[func(context.Context) error]
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				r, ok, err := claimer.Claim(s.Context(), key, "digest", time.Hour)
				if err != nil {
					s.Errorf("Claim: %v", err)
				}
				if ok {
					given.Add(1)
					release.Store(&r)
				}
			})
		}
		wg.Wait()
		if given.Load() != 1 {
			s.Fatalf("given to %d of 8", given.Load())
		}
		if err := (*release.Load())(s.Context()); err != nil {
			s.Fatal(err)
		}
	}
}
