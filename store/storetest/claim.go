package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pleat-dev/pleat/store"
)

// take claims and says whether it was given, with a way to release it.
func (s *clause) take(key store.SessionKey, what string, ttl time.Duration) (release func(), ok bool) {
	s.Helper()
	r, ok, err := optional[store.Claimer](s).Claim(s.Context(), key, what, ttl)
	if err != nil {
		s.Fatalf("Claim(%v, %q): %v", key, what, err)
	}
	if ok != (r != nil) {
		s.Fatalf("Claim(%v, %q): given %v, with a way to release it %v", key, what, ok, r != nil)
	}
	return func() {
		s.Helper()
		if err := r(s.Context()); err != nil {
			s.Errorf("release: %v", err)
		}
	}, ok
}

// given claims a digest that nobody has.
func (s *clause) given(key store.SessionKey, ttl time.Duration) (release func()) {
	s.Helper()
	release, ok := s.take(key, "digest", ttl)
	if !ok {
		s.Fatal("work that nobody has was not given")
	}
	return release
}

// held claims a digest that somebody has, and says what is wrong if it is given.
func (s *clause) held(key store.SessionKey, wrong string) {
	s.Helper()
	if _, ok := s.take(key, "digest", time.Hour); ok {
		s.Error(wrong)
	}
}

func (s *clause) claim() {
	key := s.key("a")
	release := s.given(key, time.Hour)
	s.held(key, "given twice")
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
		if r, ok := s.take(free.key, free.what, time.Hour); ok {
			r()
		} else {
			s.Errorf("%q of %v is held by the claim for other work", free.what, free.key)
		}
	}
	release()
	release()
	again := s.given(key, time.Hour)
	release() // of an earlier claim does not touch a later one
	s.held(key, "an old release gave a new claim away")
	again()
	if n := len(s.scan(key, 0)); n != 0 {
		s.Errorf("claims have left %d entries", n)
	}
	claimer := optional[store.Claimer](s)
	for _, ttl := range []time.Duration{0, -time.Second} {
		if _, ok, err := claimer.Claim(s.Context(), key, "digest", ttl); ok || err == nil {
			s.Errorf("claim for %v: %v, %v; want an error", ttl, ok, err)
		}
	}
	reopened := s.key("reopened")
	s.given(reopened, time.Hour)
	if s.reopened() { // a claim is stored, not kept in the memory of its holder
		s.held(reopened, "given twice, to one before and one after the store was opened again")
	}
}

// claimExpires: the work of a holder that died is taken over.
func (s *clause) claimExpires() {
	key := s.key("a")
	dead := s.given(key, 20*time.Millisecond)
	begin := time.Now()
	release, ok := s.take(key, "digest", time.Hour)
	for !ok { // until the time has passed
		if time.Since(begin) > time.Minute {
			s.Fatal("a claim for 20 ms is still held after a minute")
		}
		release, ok = s.take(key, "digest", time.Hour)
	}
	dead()
	s.held(key, "the holder that was too slow released the claim of another")
	release()
}

// claimMany: of many that want the same work, one gets it, each time.
func (s *clause) claimMany() {
	key, claimer := s.key("a"), optional[store.Claimer](s) // only the test's goroutine can skip
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
