package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/transcript"
)

// MemStore is a store in memory, for tests, for one-off runs and as the plainest
// reading of the contract. What it holds is gone when the process is. It is safe for
// concurrent use.
type Memory struct {
	mu       sync.RWMutex
	closed   bool
	sessions map[SessionKey]*memSession
	bodies   map[memBody][]byte
	labels   map[memLabel][]memPlace
	claims   map[memWork]*memClaim
	appends  uint64 // counts entries over all sessions: their order in time
}

// memSession is one session. The entries are only ever appended to, so that a slice
// taken under the lock can be read without it.
type memSession struct {
	entries []Entry
	bodies  map[transcript.Hash]bool
	newest  uint64 // value of appends at the newest entry
	index   *memIndex
}

type (
	memBody struct {
		tenant string
		hash   transcript.Hash
	}
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
	_ Sizer    = (*Memory)(nil)
)

// NewMemStore returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		sessions: make(map[SessionKey]*memSession),
		bodies:   make(map[memBody][]byte),
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
		return 0, fmt.Errorf("append to session %q after entry %d: its last entry is %d: %w", key, last, head, ErrConflict)
	}
	if len(entries) == 0 {
		return head, nil
	}
	if s == nil {
		s = &memSession{bodies: make(map[transcript.Hash]bool), index: &memIndex{postings: make(map[string][]posting)}}
		m.sessions[key] = s
	}
	for _, e := range prepared {
		m.add(s, key, e)
	}
	return head + uint64(len(entries)), nil
}

// add puts one prepared entry in its places. The lock is held.
func (m *Memory) add(s *memSession, key SessionKey, e Entry) {
	m.appends++
	s.newest = m.appends
	if e.BodySize > 0 {
		s.bodies[e.BodyHash] = true
		if at := (memBody{key.Tenant, e.BodyHash}); m.bodies[at] == nil {
			m.bodies[at] = e.Body
		}
		e.Body = nil
	}
	if e.Label != "" {
		at := memLabel{key.Tenant, e.Kind, e.Label}
		m.labels[at] = append(m.labels[at], memPlace{s, key, e.Seq})
	}
	if e.Text != "" {
		s.index.pending = append(s.index.pending, memText{e.Seq, e.Text})
		e.Text = ""
	}
	s.entries = append(s.entries, e)
}

// Fork implements [Forker].
func (m *Memory) Fork(ctx context.Context, from SessionKey, upTo uint64, to SessionKey, data func(Entry) ([]byte, error)) (err error) {
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
		entries[i].Data = cloneBytes(d)
	}
	s := &memSession{bodies: make(map[transcript.Hash]bool), index: source.index.upTo(upTo)}
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

// shared is Body without the copy: what it returns must not be changed.
func (m *Memory) Shared(ctx context.Context, key SessionKey, hash transcript.Hash) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, fmt.Errorf("read body %v of session %q: %w", hash, key, err)
	}
	s := m.sessions[key]
	if s == nil || !s.bodies[hash] {
		return nil, fmt.Errorf("read body %v of session %q: %w", hash, key, ErrNotFound)
	}
	body := m.bodies[memBody{key.Tenant, hash}]
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

// Close implements [Store]. It also lets go of what the store holds.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.sessions, m.bodies, m.labels = nil, nil, nil
	return nil
}

// usable says why the store cannot be used now, if it cannot.
func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return ErrClosed
	}
	return ctx.Err()
}

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
	for hash := range gone.bodies {
		shared := false
		for other, s := range m.sessions {
			shared = shared || other.Tenant == key.Tenant && s.bodies[hash]
		}
		if !shared {
			delete(m.bodies, memBody{key.Tenant, hash})
		}
	}
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

// Verify implements [Keeper]. Memory is trusted except for the bodies, which have
// their hashes to be checked against.
func (m *Memory) Verify(ctx context.Context) iter.Seq2[Damage, error] {
	return func(yield func(Damage, error) bool) {
		m.mu.RLock()
		err := m.usable(ctx)
		var damage []Damage
		for key, s := range m.sessions {
			for _, e := range s.entries {
				if e.BodySize > 0 && transcript.HashOf(m.bodies[memBody{key.Tenant, e.BodyHash}]) != e.BodyHash {
					damage = append(damage, Damage{Key: key, Seq: e.Seq, What: "body " + e.BodyHash.String() + " does not have its hash"})
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

// cloneBytes copies b; nothing becomes nil.
func cloneBytes(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b)
}
