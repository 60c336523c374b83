// Package storetest is the conformance suite for stores: an implementation of
// [store.Store] that passes [Test] keeps the promises that the engine relies on.
package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Options says what else a store under test can do. A nil pointer means nothing.
type Options struct {
	// Reopen closes the store and opens it again with what it holds; so it cannot tell whether all
	// was durable before it was closed, as Append promises. Nil means that the store does not outlive
	// its value; clauses about that are skipped.
	Reopen func(t *testing.T, store store.Store) store.Store
	// Another opens the store once more, as another process does, while the first stays open;
	// the suite closes both. Nil means that the store is open only once at a time.
	Another func(t *testing.T, store store.Store) store.Store
	// Damage changes a byte of a stored body behind the store's back, as a failing disk does.
	// Nil: that damage is noticed is not tested.
	Damage func(t *testing.T, store store.Store, key store.SessionKey, body transcript.Hash)
	// Spoil changes the Data of a stored entry behind the store's back, or removes the entry.
	// Nil: that it is noticed is not tested.
	Spoil func(t *testing.T, store store.Store, key store.SessionKey, seq uint64, remove bool)
}

// Test holds a store to the contract of [store.Store], and to those of [store.Searcher],
// [store.Keeper], [store.Claimer] and [store.Forker] if it implements them; clauses about the
// others are skipped. Open returns a new store, which need not be empty: the suite uses session
// and tenant names of its own. The suite closes what it opens.
//
//	func TestConformance(t *testing.T) {
//		storetest.Test(t, func(t *testing.T) store.Store { return store.NewMemory() }, nil)
//	}
func Test(t *testing.T, open func(t *testing.T) store.Store, opts *Options) {
	if opts == nil {
		opts = &Options{}
	}
	clauses := []struct {
		name string
		run  func(s *clause)
	}{
		{"append and scan", (*clause).appendAndScan},
		{"kinds", (*clause).kinds},
		{"empty cases", (*clause).emptyCases},
		{"bodies", (*clause).bodies},
		{"big body", (*clause).bigBody},
		{"damaged body", (*clause).damagedBody},
		{"damaged entry", (*clause).damagedEntry},
		{"damaged label", (*clause).damagedLabel},
		{"odd bytes", (*clause).oddBytes},
		{"times", (*clause).times},
		{"copies", (*clause).copies},
		{"conflict", (*clause).conflict},
		{"all or nothing", (*clause).allOrNothing},
		{"isolation", (*clause).isolation},
		{"find", (*clause).find},
		{"find many", (*clause).findMany},
		{"scan while appending", (*clause).scanWhileAppending},
		{"scan stopped early", (*clause).scanStopped},
		{"context", (*clause).contextDone},
		{"one session, many writers", (*clause).manyWriters},
		{"opened twice", (*clause).handles},
		{"opened twice, many writers", (*clause).handlesCompete},
		{"close", (*clause).close},
		{"search", (*clause).search},
		{"search code", (*clause).searchCode},
		{"search isolation", (*clause).searchIsolation},
		{"search places", (*clause).searchPlaces},
		{"search odd queries", (*clause).searchOdd},
		{"sessions", (*clause).sessions},
		{"forget", (*clause).forget},
		{"forget, then append", (*clause).forgetThenAppend},
		{"verify", (*clause).verify},
		{"claim", (*clause).claim},
		{"claim expires", (*clause).claimExpires},
		{"claim, many at once", (*clause).claimMany},
		{"fork", (*clause).fork},
		{"fork refused", (*clause).forkRefused},
		{"fork while others write", (*clause).forkMany},
	}
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) {
			s := &clause{T: t, Store: open(t), opts: opts}
			defer func() {
				if err := s.Store.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}()
			c.run(s)
		})
	}
}

// clause is one clause under test, with short words for the usual steps.
type clause struct {
	*testing.T
	store.Store
	opts *Options
}

// Errorf shows no more than the beginning of what may be a whole body.
func (s *clause) Errorf(format string, args ...any) {
	s.Helper()
	text := fmt.Sprintf(format, args...)
	if most := 2_000; len(text) > most {
		text = fmt.Sprintf("%s… (%d bytes more)", strings.ToValidUTF8(text[:most], ""), len(text)-most)
	}
	s.Error(text)
}

// optional returns the store as an interface that it need not implement, or skips the
// clause.
func optional[T any](s *clause) T {
	s.Helper()
	v, ok := s.Store.(T)
	if !ok {
		s.Skipf("the store does not implement %v", reflect.TypeFor[T]())
	}
	return v
}

// reopened opens the store again if it outlives its value, and reports whether it does.
func (s *clause) reopened() bool {
	s.Helper()
	if s.opts.Reopen == nil {
		return false
	}
	s.Store = s.opts.Reopen(s.T, s.Store)
	return true
}

// stays runs a check, and once more after the store was opened again, if it outlives its value.
func (s *clause) stays(check func()) {
	s.Helper()
	if check(); s.reopened() {
		check()
	}
}

// wants holds the error of a call to the one that it must have.
func (s *clause) wants(want, err error, call string, args ...any) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%s: %v, want %v", fmt.Sprintf(call, args...), err, want)
	}
}

// noBody: the session has no body with that hash.
func (s *clause) noBody(key store.SessionKey, hash transcript.Hash, of string, args ...any) {
	s.Helper()
	_, err := s.Body(s.Context(), key, hash)
	s.wants(store.ErrNotFound, err, "Body of "+of, args...)
}

// lastError is the error that a list ends with.
func lastError[T any](list iter.Seq2[T, error]) (err error) {
	for _, err = range list {
	}
	return err
}

// key names a session of this clause.
func (s *clause) key(name string) store.SessionKey {
	return store.SessionKey{Tenant: "storetest", Session: s.Name() + "/" + name}
}

func (s *clause) append(key store.SessionKey, last uint64, entries ...store.Entry) uint64 {
	s.Helper()
	got, err := s.Append(s.Context(), key, last, entries...)
	if err != nil {
		s.Fatalf("Append(%v, %d): %v", key, last, err)
	}
	if want := last + uint64(len(entries)); got != want {
		s.Fatalf("Append(%v, %d) of %d entries = %d, want %d", key, last, len(entries), got, want)
	}
	return got
}

func (s *clause) scan(key store.SessionKey, from uint64, kinds ...store.EntryKind) []store.Entry {
	s.Helper()
	var entries []store.Entry
	for e, err := range s.Scan(s.Context(), key, from, kinds...) {
		if err != nil {
			s.Fatalf("Scan(%v, %d): %v", key, from, err)
		}
		s.checkTime(e)
		entries = append(entries, e)
	}
	return entries
}

// checkTime holds a time to UTC. A comparison of entries does not see its zone.
func (s *clause) checkTime(e store.Entry) {
	s.Helper()
	if zone := e.Time.Location().String(); zone != "UTC" {
		s.Fatalf("the time of entry %d is in %s, want UTC", e.Seq, zone)
	}
}

// check compares what a scan finds with what was appended, and every body.
func (s *clause) check(key store.SessionKey, want []store.Entry) {
	s.Helper()
	got := s.scan(key, 0)
	if d := difftest.Values(asStored(want), got); d != "" {
		s.Errorf("Scan(%v) (-want +got):\n%s", key, d)
		s.FailNow()
	}
	for i, e := range want {
		if len(e.Body) == 0 {
			continue
		}
		body, err := s.Body(s.Context(), key, got[i].BodyHash)
		if err != nil {
			s.Fatalf("Body of entry %d: %v", i+1, err)
		}
		if !bytes.Equal(body, e.Body) {
			s.Fatalf("Body of entry %d: %d bytes that differ from the %d appended", i+1, len(body), len(e.Body))
		}
	}
}

// asStored turns appended entries into what a scan from the beginning returns.
func asStored(entries []store.Entry) []store.Entry {
	out := slices.Clone(entries)
	for i := range out {
		e := &out[i]
		e.Seq = uint64(i + 1)
		e.Time = time.UnixMilli(e.Time.UnixMilli()).UTC()
		e.BodySize, e.BodyHash, e.Text = len(e.Body), transcript.Hash{}, ""
		if len(e.Body) > 0 {
			e.BodyHash = transcript.HashOf(e.Body)
		}
		if len(e.Data) == 0 {
			e.Data = nil
		}
		e.Body = nil
	}
	return out
}

var clock = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

// message makes a plain entry.
func message(n int) store.Entry {
	return store.Entry{
		Kind: store.EntryMessage, Time: clock.Add(time.Duration(n) * time.Second),
		Data: fmt.Appendf(nil, `{"n":%d}`, n), Body: fmt.Appendf(nil, "body number %d", n),
	}
}

func messages(from, to int) []store.Entry {
	var out []store.Entry
	for n := from; n < to; n++ {
		out = append(out, message(n))
	}
	return out
}
