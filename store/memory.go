package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/transcript"
)

// Memory is a store in memory, for tests, for one-off runs and as the simplest
// implementation of the contract. Its sessions end with the process. It is safe for
// concurrent use.
type Memory struct {
	mu       sync.RWMutex
	closed   bool
	sessions map[SessionKey]*memSession
	labels   map[memLabel][]memPlace
	claims   map[memWork]*memClaim
	appends  uint64 // counts entries over all sessions: their order in time
}

// memSession is one session. The entries are only ever appended to, so that a slice
// taken under the lock can be read without it.
type memSession struct {
	entries []Entry
	bodies  map[transcript.Hash][]byte
	newest  uint64 // value of appends at the newest entry
	texts   []memText
}

type (
	memLabel struct {
		tenant string
		kind   EntryKind
		label  string
	}
	memPlace struct {
		session *memSession
		key     SessionKey
		seq     uint64
	}
)

var (
	_ Store    = (*Memory)(nil)
	_ Searcher = (*Memory)(nil)
	_ Keeper   = (*Memory)(nil)
	_ Claimer  = (*Memory)(nil)
	_ Forker   = (*Memory)(nil)
	_ Sharer   = (*Memory)(nil)
)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		sessions: make(map[SessionKey]*memSession),
		labels:   make(map[memLabel][]memPlace),
		claims:   make(map[memWork]*memClaim),
	}
}

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, key SessionKey, last uint64, entries ...Entry) (uint64, error) {
	prepared := make([]Entry, len(entries))
	for i, e := range entries {
		if e.Kind == "" {
			return 0, fmt.Errorf("append to session %q: entry %d has no kind", key, i)
		}
		prepared[i] = Entry{
			Seq: last + uint64(i) + 1, Kind: e.Kind, Label: e.Label,
			Time: time.UnixMilli(e.Time.UnixMilli()).UTC(),
			Data: cloneBytes(e.Data), Body: cloneBytes(e.Body), BodySize: len(e.Body), Text: e.Text,
		}
		if len(e.Body) > 0 {
			prepared[i].BodyHash = transcript.HashOf(e.Body)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, fmt.Errorf("append to session %q: %w", key, err)
	}
	s := m.sessions[key]
	head := uint64(0)
	if s != nil {
		head = uint64(len(s.entries))
	}
	if head != last {
		return 0, fmt.Errorf("append to session %q after entry %d: its last entry is %d: %w", key, last,
			head, ErrConflict)
	}
	if len(entries) == 0 {
		return head, nil
	}
	if s == nil {
		s = &memSession{bodies: make(map[transcript.Hash][]byte)}
		m.sessions[key] = s
	}
	for _, e := range prepared {
		m.add(s, key, e)
	}
	return head + uint64(len(entries)), nil
}

// add stores one prepared entry. The lock is held.
func (m *Memory) add(s *memSession, key SessionKey, e Entry) {
	m.appends++
	s.newest = m.appends
	if e.BodySize > 0 {
		s.bodies[e.BodyHash] = e.Body
		e.Body = nil
	}
	if e.Label != "" {
		at := memLabel{key.Tenant, e.Kind, e.Label}
		m.labels[at] = append(m.labels[at], memPlace{s, key, e.Seq})
	}
	if e.Text != "" {
		s.texts = append(s.texts, memText{e.Seq, e.Text})
		e.Text = ""
	}
	s.entries = append(s.entries, e)
}

// Fork implements [Forker].
func (m *Memory) Fork(
	ctx context.Context, from SessionKey, upTo uint64, to SessionKey, data func(Entry) ([]byte, error),
) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("fork session %q as %q: %w", from, to, err)
		}
	}()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	if from.Tenant != to.Tenant {
		return errors.New("the new session belongs to another tenant")
	}
	if there := m.sessions[to]; there != nil {
		return fmt.Errorf("its last entry is %d: %w", len(there.entries), ErrConflict)
	}
	if upTo == 0 {
		return nil
	}
	source := m.sessions[from]
	if source == nil || uint64(len(source.entries)) < upTo {
		return fmt.Errorf("it has no entry %d: %w", upTo, ErrNotFound)
	}
	entries := slices.Clone(source.entries[:upTo])
	for i, e := range entries {
		e.Data = cloneBytes(e.Data)
		d, err := data(e)
		if err != nil {
			return err
		}
		entries[i].Data, entries[i].Body = cloneBytes(d), source.bodies[e.BodyHash]
	}
	n := sort.Search(len(source.texts), func(i int) bool { return source.texts[i].seq > upTo })
	s := &memSession{bodies: make(map[transcript.Hash][]byte), texts: source.texts[:n:n]}
	m.sessions[to] = s
	for _, e := range entries {
		m.add(s, to, e)
	}
	return nil
}

// Scan implements [Store].
func (m *Memory) Scan(ctx context.Context, key SessionKey, from uint64, kinds ...EntryKind) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m.mu.RLock()
		err := m.usable(ctx)
		var entries []Entry
		if s := m.sessions[key]; s != nil {
			entries = s.entries
		}
		m.mu.RUnlock()
		if err != nil {
			yield(Entry{}, fmt.Errorf("scan session %q: %w", key, err))
			return
		}
		for _, e := range entries[min(max(from, 1)-1, uint64(len(entries))):] {
			if len(kinds) > 0 && !slices.Contains(kinds, e.Kind) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(Entry{}, fmt.Errorf("scan session %q: %w", key, err))
				return
			}
			e.Data = cloneBytes(e.Data)
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Body implements [Store].
func (m *Memory) Body(ctx context.Context, key SessionKey, hash transcript.Hash) ([]byte, error) {
	body, err := m.Shared(ctx, key, hash)
	return bytes.Clone(body), err
}

// Shared implements [Sharer].
func (m *Memory) Shared(ctx context.Context, key SessionKey, hash transcript.Hash) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, fmt.Errorf("read body %v of session %q: %w", hash, key, err)
	}
	var body []byte
	if s := m.sessions[key]; s != nil {
		body = s.bodies[hash]
	}
	if body == nil {
		return nil, fmt.Errorf("read body %v of session %q: %w", hash, key, ErrNotFound)
	}
	if transcript.HashOf(body) != hash {
		return nil, fmt.Errorf("read body %v of session %q: %w", hash, key, ErrCorrupt)
	}
	return body, nil
}

// Find implements [Store].
func (m *Memory) Find(ctx context.Context, tenant string, kind EntryKind, labels ...string) ([]Found, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, fmt.Errorf("find %s entries: %w", kind, err)
	}
	var found []Found
	seen := make(map[string]bool, len(labels))
	for _, label := range labels {
		places := m.labels[memLabel{tenant, kind, label}]
		if len(places) == 0 || seen[label] {
			continue
		}
		seen[label] = true
		newest := places[len(places)-1]
		e := newest.session.entries[newest.seq-1]
		e.Data = cloneBytes(e.Data)
		found = append(found, Found{Key: newest.key, Entry: e})
	}
	return found, nil
}

// Close implements [Store]. It also frees what the store holds.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.sessions, m.labels = nil, nil
	return nil
}

// usable returns an error if the store cannot be used.
func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return ErrClosed
	}
	return ctx.Err()
}

// cloneBytes copies b; an empty slice becomes nil.
func cloneBytes(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b)
}
