package example_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/storetest"
	"github.com/pleat-dev/pleat/transcript"
)

// mapStore is a store: the least that keeps the contract of [store.Store]. A real one
// keeps entries where they outlive the process, and can search.
type mapStore struct {
	mu       sync.Mutex
	closed   bool
	sessions map[store.SessionKey][]store.Entry
	order    []store.Found // all entries with labels, as they came
}

func (m *mapStore) lock(ctx context.Context, doing string) error {
	m.mu.Lock()
	err := ctx.Err()
	if m.closed {
		err = store.ErrClosed
	}
	if err != nil {
		m.mu.Unlock()
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

func (m *mapStore) Append(
	ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry,
) (uint64, error) {
	if err := m.lock(ctx, "append"); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	if n := uint64(len(m.sessions[key])); n != last {
		return 0, fmt.Errorf("append after entry %d of %d: %w", last, n, store.ErrConflict)
	}
	added := slices.Clone(entries)
	for i := range added {
		e := &added[i]
		if e.Kind == "" {
			return 0, fmt.Errorf("append: entry %d has no kind", i)
		}
		e.Seq = last + uint64(i) + 1
		e.Time = time.UnixMilli(e.Time.UnixMilli()).UTC()
		e.Data = append([]byte(nil), e.Data...) // nil when empty
		if e.BodySize = len(e.Body); e.BodySize > 0 {
			e.Body, e.BodyHash = bytes.Clone(e.Body), transcript.HashOf(e.Body)
		}
	}
	m.sessions[key] = append(m.sessions[key], added...)
	for _, e := range added {
		if e.Label != "" {
			m.order = append(m.order, store.Found{Key: key, Entry: without(e)})
		}
	}
	return last + uint64(len(added)), nil
}

// without is an entry as Scan and Find return it.
func without(e store.Entry) store.Entry {
	e.Body, e.Text, e.Data = nil, "", append([]byte(nil), e.Data...)
	return e
}

func (m *mapStore) Scan(
	ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind,
) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for at := max(from, 1); ; at++ {
			if err := m.lock(ctx, "scan"); err != nil {
				yield(store.Entry{}, err)
				return
			}
			entries := m.sessions[key]
			m.mu.Unlock()
			if at > uint64(len(entries)) {
				return
			}
			if e := entries[at-1]; (len(kinds) == 0 || slices.Contains(kinds, e.Kind)) && !yield(without(e), nil) {
				return
			}
		}
	}
}

func (m *mapStore) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	if err := m.lock(ctx, "read body"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	for _, e := range m.sessions[key] {
		if e.BodySize == 0 || e.BodyHash != hash {
			continue
		}
		if transcript.HashOf(e.Body) != hash {
			return nil, fmt.Errorf("read body %v: %w", hash, store.ErrCorrupt)
		}
		return bytes.Clone(e.Body), nil
	}
	return nil, fmt.Errorf("read body %v: %w", hash, store.ErrNotFound)
}

func (m *mapStore) Find(
	ctx context.Context, tenant string, kind store.EntryKind, labels ...string,
) ([]store.Found, error) {
	if err := m.lock(ctx, "find"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	wanted := make(map[string]bool)
	for _, l := range labels {
		wanted[l] = true
	}
	var found []store.Found
	for _, f := range slices.Backward(m.order) {
		if f.Key.Tenant == tenant && f.Entry.Kind == kind && wanted[f.Entry.Label] {
			wanted[f.Entry.Label] = false
			f.Entry = without(f.Entry)
			found = append(found, f)
		}
	}
	return found, nil
}

func (m *mapStore) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// TestMapStore holds the store to the contract.
func TestMapStore(t *testing.T) {
	storetest.Test(t, func(*testing.T) store.Store {
		return &mapStore{sessions: make(map[store.SessionKey][]store.Entry)}
	}, nil)
}
