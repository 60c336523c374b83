package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/transcript"
)

// Sessions implements [Keeper].
func (m *Memory) Sessions(ctx context.Context, tenant string) iter.Seq2[SessionInfo, error] {
	return func(yield func(SessionInfo, error) bool) {
		type row struct {
			info   SessionInfo
			newest uint64
		}
		var rows []row
		m.mu.RLock()
		err := m.usable(ctx)
		for key, s := range m.sessions {
			if key.Tenant != tenant {
				continue
			}
			info := SessionInfo{
				Key: key, Entries: uint64(len(s.entries)),
				First: s.entries[0].Time, Last: s.entries[len(s.entries)-1].Time,
			}
			for _, e := range s.entries {
				info.BodyBytes += int64(e.BodySize)
			}
			rows = append(rows, row{info, s.newest})
		}
		m.mu.RUnlock()
		if err != nil {
			yield(SessionInfo{}, fmt.Errorf("list sessions: %w", err))
			return
		}
		slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.newest, a.newest) })
		for _, r := range rows {
			if !yield(r.info, nil) {
				return
			}
		}
	}
}

// Forget implements [Keeper].
func (m *Memory) Forget(ctx context.Context, key SessionKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return fmt.Errorf("forget session %q: %w", key, err)
	}
	gone := m.sessions[key]
	if gone == nil {
		return fmt.Errorf("forget session %q: %w", key, ErrNotFound)
	}
	delete(m.sessions, key)
	for _, e := range gone.entries {
		at := memLabel{key.Tenant, e.Kind, e.Label}
		left := slices.DeleteFunc(m.labels[at], func(p memPlace) bool { return p.session == gone })
		if len(left) == 0 {
			delete(m.labels, at)
		} else {
			m.labels[at] = left
		}
	}
	return nil
}

// Verify implements [Keeper]. It checks the bodies against their hashes and trusts the
// rest.
func (m *Memory) Verify(ctx context.Context) iter.Seq2[Damage, error] {
	return func(yield func(Damage, error) bool) {
		m.mu.RLock()
		err := m.usable(ctx)
		var damage []Damage
		for key, s := range m.sessions {
			for _, e := range s.entries {
				if e.BodySize > 0 && transcript.HashOf(s.bodies[e.BodyHash]) != e.BodyHash {
					what := fmt.Sprintf("body %v does not have its hash", e.BodyHash)
					damage = append(damage, Damage{Key: key, Seq: e.Seq, What: what})
				}
			}
		}
		m.mu.RUnlock()
		if err != nil {
			yield(Damage{}, fmt.Errorf("verify store: %w", err))
			return
		}
		slices.SortFunc(damage, func(a, b Damage) int {
			return cmp.Or(strings.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.Seq, b.Seq))
		})
		for _, d := range damage {
			if !yield(d, nil) {
				return
			}
		}
	}
}

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
func (m *Memory) Claim(
	ctx context.Context, key SessionKey, what string, ttl time.Duration,
) (func(context.Context) error, bool, error) {
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
