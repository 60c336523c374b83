package store

import (
	"context"
	"fmt"
	"time"
)

type (
	// memWork is what can be claimed.
	memWork struct {
		key  SessionKey
		what string
	}
	// memClaim is one claim. Its address tells it from those before and after it.
	memClaim struct{ expires time.Time }
)

// Claim implements [Claimer].
func (m *Memory) Claim(ctx context.Context, key SessionKey, what string, ttl time.Duration) (func(context.Context) error, bool, error) {
	if ttl <= 0 {
		return nil, false, fmt.Errorf("claim %s of session %q: for %v, which is no time", what, key, ttl)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, false, fmt.Errorf("claim %s of session %q: %w", what, key, err)
	}
	now, work := time.Now(), memWork{key, what}
	if held := m.claims[work]; held != nil && now.Before(held.expires) {
		return nil, false, nil
	}
	claim := &memClaim{now.Add(ttl)}
	m.claims[work] = claim
	release := func(context.Context) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.claims[work] == claim {
			delete(m.claims, work)
		}
		return nil
	}
	return release, true, nil
}
