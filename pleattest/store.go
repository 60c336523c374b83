package pleattest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// StoreOptions says what else a store under test can do. A nil pointer means: nothing.
type StoreOptions struct {
	// Reopen closes the store and opens it again with what it holds. Nil means that
	// the store does not outlive its value, and the clauses about that are left out.
	Reopen func(t *testing.T, store store.Store) store.Store
}

// TestStore holds a store to the contract of [pleat.Store], and to those of
// [pleat.Searcher], [pleat.Keeper], [pleat.Claimer] and [pleat.Sizer] as far as it
// implements them: clauses about the others are skipped. Open returns a new store, empty
// or not: the suite uses session and tenant names of its own. The suite closes what it
// opens.
//
//	func TestConformance(t *testing.T) {
//		pleattest.TestStore(t, func(t *testing.T) pleat.Store { return pleat.NewMemStore() }, nil)
//	}
func TestStore(t *testing.T, open func(t *testing.T) store.Store, opts *StoreOptions) {
	if opts == nil {
		opts = &StoreOptions{}
	}
	clauses := []struct {
		name string
		run  func(s *storeTest)
	}{
		{"append and scan", (*storeTest).appendAndScan},
		{"kinds", (*storeTest).kinds},
		{"empty cases", (*storeTest).emptyCases},
		{"bodies", (*storeTest).bodies},
		{"big body", (*storeTest).bigBody},
		{"odd bytes", (*storeTest).oddBytes},
		{"times", (*storeTest).times},
		{"copies", (*storeTest).copies},
		{"conflict", (*storeTest).conflict},
		{"all or nothing", (*storeTest).allOrNothing},
		{"isolation", (*storeTest).isolation},
		{"find", (*storeTest).find},
		{"find many", (*storeTest).findMany},
		{"scan while appending", (*storeTest).scanWhileAppending},
		{"scan stopped early", (*storeTest).scanStopped},
		{"context", (*storeTest).contextDone},
		{"one session, many writers", (*storeTest).manyWriters},
		{"many sessions", (*storeTest).manySessions},
		{"reopen", (*storeTest).reopen},
		{"close", (*storeTest).close},
		{"search", (*storeTest).search},
		{"search code", (*storeTest).searchCode},
		{"search isolation", (*storeTest).searchIsolation},
		{"search places", (*storeTest).searchPlaces},
		{"search odd queries", (*storeTest).searchOdd},
		{"sessions", (*storeTest).sessions},
		{"forget", (*storeTest).forget},
		{"verify", (*storeTest).verify},
		{"sizes", (*storeTest).sizes},
		{"claim", (*storeTest).claim},
		{"claim expires", (*storeTest).claimExpires},
		{"claim, many at once", (*storeTest).claimMany},
	}
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) {
			s := &storeTest{T: t, Store: open(t), opts: opts}
			defer func() {
				if err := s.Store.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}()
			c.run(s)
		})
	}
}

// storeTest is one clause under test, with short words for the usual steps.
type storeTest struct {
	*testing.T
	store.Store
	opts *StoreOptions
}

// optional returns the store as an interface that it need not implement, or skips the
// clause.
func optional[T any](s *storeTest) T {
	s.Helper()
	v, ok := s.Store.(T)
	if !ok {
		s.Skipf("the store does not implement %v", reflect.TypeFor[T]())
	}
	return v
}

// key names a session of this clause.
func (s *storeTest) key(name string) store.SessionKey {
	return store.SessionKey{Tenant: "pleattest", Session: s.Name() + "/" + name}
}

func (s *storeTest) append(key store.SessionKey, last uint64, entries ...store.Entry) uint64 {
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

func (s *storeTest) scan(key store.SessionKey, from uint64, kinds ...store.EntryKind) []store.Entry {
	s.Helper()
	var entries []store.Entry
	for e, err := range s.Scan(s.Context(), key, from, kinds...) {
		if err != nil {
			s.Fatalf("Scan(%v, %d): %v", key, from, err)
		}
		entries = append(entries, e)
	}
	return entries
}

// check compares what a scan finds with what was appended, and every body.
func (s *storeTest) check(key store.SessionKey, want []store.Entry) {
	s.Helper()
	got := s.scan(key, 0)
	if d := diff(asStored(want), got); d != "" {
		s.Fatalf("Scan(%v) (-want +got):\n%s", key, d)
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

// diff is cmp.Diff, quick where there is no difference.
func diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

var storeClock = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

// message makes a plain entry.
func message(n int) store.Entry {
	return store.Entry{
		Kind: store.EntryMessage, Time: storeClock.Add(time.Duration(n) * time.Second),
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

func (s *storeTest) appendAndScan() {
	key, all := s.key("a"), messages(0, 700)
	last := s.append(key, 0, all[0])
	last = s.append(key, last, all[1:600]...)
	for _, e := range all[600:] {
		last = s.append(key, last, e)
	}
	s.check(key, all)
	for _, from := range []uint64{0, 1, 2, 350, 699, 700, 701, 1 << 40} {
		got := s.scan(key, from)
		want := asStored(all)[min(max(from, 1)-1, 700):]
		if d := diff(want, append([]store.Entry{}, got...)); d != "" {
			s.Errorf("Scan from %d (-want +got):\n%s", from, d)
		}
	}
	// What the store sets is not taken from the caller.
	bad := message(700)
	bad.Seq, bad.BodyHash, bad.BodySize = 7, transcript.HashOf("else"), 99
	s.append(key, last, bad)
	s.check(key, append(all, message(700)))
}

func (s *storeTest) kinds() {
	key := s.key("a")
	var all []store.Entry
	kinds := []store.EntryKind{store.EntrySession, store.EntryMessage, store.EntryMessage, store.EntryFold, "a kind of its own"}
	for i := range 1000 {
		e := message(i)
		e.Kind = kinds[i*7%len(kinds)]
		all = append(all, e)
	}
	s.append(key, 0, all[:10]...)
	s.append(key, 10, all[10:]...)
	for _, want := range [][]store.EntryKind{{store.EntryFold}, {store.EntryMessage, store.EntryFold}, {"a kind of its own", "none"}, {"none"}} {
		for _, from := range []uint64{0, 3, 500, 999, 1000, 1001} {
			var expect []store.Entry
			for _, e := range asStored(all) {
				if e.Seq >= from && slices.Contains(want, e.Kind) {
					expect = append(expect, e)
				}
			}
			if d := diff(expect, s.scan(key, from, want...)); d != "" {
				s.Errorf("Scan from %d of %q (-want +got):\n%s", from, want, d)
			}
		}
	}
}

func (s *storeTest) emptyCases() {
	key := s.key("nobody")
	if got := s.scan(key, 0); len(got) != 0 {
		s.Errorf("Scan of a session that is not there: %v", got)
	}
	if _, err := s.Body(s.Context(), key, transcript.HashOf("x")); !errors.Is(err, store.ErrNotFound) {
		s.Errorf("Body of a session that is not there: %v, want ErrNotFound", err)
	}
	if found, err := s.Find(s.Context(), key.Tenant, store.EntryPrefix); err != nil || len(found) != 0 {
		s.Errorf("Find without labels: %v, %v", found, err)
	}
	s.append(key, 0) // nothing, after nothing
	if got := s.scan(key, 0); len(got) != 0 {
		s.Errorf("Scan after an Append of nothing: %v", got)
	}
	if _, err := s.Append(s.Context(), key, 3); !errors.Is(err, store.ErrConflict) {
		s.Errorf("Append of nothing after entry 3: %v, want ErrConflict", err)
	}
	if _, err := s.Append(s.Context(), key, 0, store.Entry{}); err == nil {
		s.Error("Append of an entry without a kind succeeded")
	}
	bare := []store.Entry{{Kind: "k"}, {Kind: "k", Data: []byte{}, Body: []byte{}}}
	s.append(key, 0, bare...)
	s.check(key, bare)
	if _, err := s.Body(s.Context(), key, transcript.Hash{}); !errors.Is(err, store.ErrNotFound) {
		s.Errorf("Body of the zero hash: %v, want ErrNotFound", err)
	}
	if _, err := s.Body(s.Context(), key, transcript.HashOf("")); !errors.Is(err, store.ErrNotFound) {
		s.Errorf("Body of the hash of nothing: %v, want ErrNotFound", err)
	}
	nameless := store.SessionKey{Tenant: s.Name()}
	s.append(nameless, 0, message(1))
	s.check(nameless, messages(1, 2))
}

func (s *storeTest) bodies() {
	key := s.key("a")
	all := []store.Entry{
		{Kind: "k", Body: []byte("once")},
		{Kind: "k", Body: []byte("twice")},
		{Kind: "k", Body: []byte("twice")},
		{Kind: "k", Body: bytes.Repeat([]byte("compresses well "), 10_000)},
		{Kind: "k", Body: noise(100_000)},
		{Kind: "k", Body: []byte{0}},
		{Kind: "k", Body: []byte{0xff, 0, '\n', '"'}},
	}
	s.append(key, 0, all[:3]...)
	s.append(key, 3, all[3:]...)
	s.check(key, all)
	again := []store.Entry{{Kind: "other", Body: []byte("once")}}
	s.append(s.key("b"), 0, again...)
	s.check(s.key("b"), again)
	if _, err := s.Body(s.Context(), key, transcript.HashOf("never")); !errors.Is(err, store.ErrNotFound) {
		s.Errorf("Body that was never appended: %v, want ErrNotFound", err)
	}
}

// noise makes bytes that do not compress.
func noise(n int) []byte {
	out := make([]byte, 0, n+32)
	for h := transcript.HashOf("noise"); len(out) < n; h = transcript.HashOf(h[:]) {
		out = append(out, h[:]...)
	}
	return out[:n]
}

func (s *storeTest) bigBody() {
	key := s.key("a")
	all := []store.Entry{
		{Kind: "k", Body: noise(10 << 20), Data: noise(1 << 20)},
		{Kind: "k", Body: make([]byte, 10<<20)},
	}
	s.append(key, 0, all...)
	s.check(key, all)
}

func (s *storeTest) oddBytes() {
	for i, odd := range []string{"\x00", "a\x00b", "\xff\xfe", "'; DROP TABLE entry; --", "\u202e日本\n", strings.Repeat("x", 3000), `"*:^()`} {
		key := store.SessionKey{Tenant: s.Name() + odd, Session: odd}
		all := []store.Entry{{Kind: store.EntryKind(odd), Label: odd, Data: []byte(odd), Body: []byte(odd), Text: odd, Time: storeClock}}
		s.append(key, 0, all...)
		s.check(key, all)
		if got := s.scan(key, 0, store.EntryKind(odd)); len(got) != 1 {
			s.Errorf("Scan of kind %q: %d entries, want 1", odd, len(got))
		}
		found, err := s.Find(s.Context(), key.Tenant, store.EntryKind(odd), odd)
		want := []store.Found{{Key: key, Entry: asStored(all)[0]}}
		if d := diff(want, found); err != nil || d != "" {
			s.Errorf("%d: Find(%q): %v (-want +got):\n%s", i, odd, err, d)
		}
	}
	// Names that would run together if they were only joined.
	a, b := store.SessionKey{Tenant: s.Name() + "a/b", Session: "c"}, store.SessionKey{Tenant: s.Name() + "a", Session: "b/c"}
	s.append(a, 0, message(1))
	s.append(b, 0, message(2), message(3))
	s.check(a, messages(1, 2))
	s.check(b, messages(2, 4))
}

func (s *storeTest) times() {
	key := s.key("a")
	zone := time.FixedZone("elsewhere", 5*3600)
	all := []store.Entry{
		{Kind: "k"}, // the zero time
		{Kind: "k", Time: time.Date(2026, 5, 6, 7, 8, 9, 123_456_789, zone)},
		{Kind: "k", Time: time.Date(1901, 1, 1, 0, 0, 0, 999_999, time.UTC)},
		{Kind: "k", Time: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	s.append(key, 0, all...)
	s.check(key, all)
	if got := s.scan(key, 1); !got[0].Time.IsZero() {
		s.Errorf("the zero time came back as %v", got[0].Time)
	}
}

func (s *storeTest) copies() {
	key := s.key("a")
	mine := []store.Entry{{Kind: "k", Data: []byte("data"), Body: []byte("body")}}
	want := []store.Entry{{Kind: "k", Data: []byte("data"), Body: []byte("body")}}
	s.append(key, 0, mine...)
	mine[0].Data[0], mine[0].Body[0], mine[0].Kind = 'X', 'X', "x"
	s.check(key, want)
	for e := range s.Scan(s.Context(), key, 1) {
		e.Data[0] = 'Y'
	}
	body, err := s.Body(s.Context(), key, transcript.HashOf("body"))
	if err != nil {
		s.Fatal(err)
	}
	body[0] = 'Y'
	s.check(key, want)
}

func (s *storeTest) conflict() {
	key := s.key("a")
	s.append(key, 0, messages(0, 3)...)
	for _, last := range []uint64{0, 1, 2, 4, 1 << 62} {
		_, err := s.Append(s.Context(), key, last, message(9))
		if !errors.Is(err, store.ErrConflict) {
			s.Errorf("Append after entry %d of 3: %v, want ErrConflict", last, err)
		}
	}
	if _, err := s.Append(s.Context(), s.key("new"), 1, message(9)); !errors.Is(err, store.ErrConflict) {
		s.Errorf("Append after entry 1 of a new session: %v, want ErrConflict", err)
	}
	s.check(key, messages(0, 3))
	s.check(s.key("new"), nil)
}

func (s *storeTest) allOrNothing() {
	key := s.key("a")
	s.append(key, 0, messages(0, 2)...)
	bad := append(messages(2, 50), store.Entry{}) // the last one has no kind
	if _, err := s.Append(s.Context(), key, 2, bad...); err == nil {
		s.Error("Append of an entry without a kind succeeded")
	}
	s.check(key, messages(0, 2))
	if _, err := s.Body(s.Context(), key, transcript.HashOf("body number 2")); !errors.Is(err, store.ErrNotFound) {
		s.Errorf("Body of a failed Append: %v, want ErrNotFound", err)
	}
	s.append(key, 2, messages(2, 4)...)
	s.check(key, messages(0, 4))
}

func (s *storeTest) isolation() {
	keys := []store.SessionKey{
		{Tenant: s.Name() + "A", Session: "same"},
		{Tenant: s.Name() + "A", Session: "other"},
		{Tenant: s.Name() + "B", Session: "same"},
	}
	for i, key := range keys {
		s.append(key, 0, messages(10*i, 10*i+5)...)
	}
	for i, key := range keys {
		s.check(key, messages(10*i, 10*i+5))
		for j, other := range keys {
			_, err := s.Body(s.Context(), other, transcript.HashOf(fmt.Sprintf("body number %d", 10*i)))
			if i != j && !errors.Is(err, store.ErrNotFound) {
				s.Errorf("Body of %v read through %v: %v, want ErrNotFound", key, other, err)
			}
		}
	}
	// The same body in two tenants is readable in both, and only there.
	shared := store.Entry{Kind: "k", Body: []byte("shared secret")}
	s.append(keys[0], 5, shared)
	s.append(keys[2], 5, shared)
	for i, key := range keys {
		_, err := s.Body(s.Context(), key, transcript.HashOf("shared secret"))
		if want := i != 1; (err == nil) != want {
			s.Errorf("Body through %v: %v", key, err)
		}
	}
}

// reopen is the clause that everything comes back.
func (s *storeTest) reopen() {
	if s.opts.Reopen == nil {
		s.Skip("the store does not outlive its value")
	}
	all := messages(0, 300)
	for i := range all {
		all[i].Label, all[i].Text = fmt.Sprint("label", i), fmt.Sprint("text of uniqueword", i)
	}
	key := s.key("a")
	s.append(key, 0, all[:200]...)
	s.Store = s.opts.Reopen(s.T, s.Store)
	s.check(key, all[:200])
	s.append(key, 200, all[200:]...)
	s.Store = s.opts.Reopen(s.T, s.Store)
	s.check(key, all)
	found, err := s.Find(s.Context(), key.Tenant, store.EntryMessage, "label77", "label250")
	if err != nil || len(found) != 2 {
		s.Errorf("Find after reopening: %d entries, %v; want 2", len(found), err)
	}
	if _, err := s.Append(s.Context(), key, 200, message(1)); !errors.Is(err, store.ErrConflict) {
		s.Errorf("Append after reopening: %v, want ErrConflict", err)
	}
	if searcher, ok := s.Store.(store.Searcher); ok {
		hits, err := searcher.Search(s.Context(), key, "uniqueword299", 5)
		if err != nil || len(hits) != 1 || hits[0].Seq != 300 {
			s.Errorf("Search after reopening: %v, %v", hits, err)
		}
	}
}

func (s *storeTest) close() {
	key := s.key("a")
	s.append(key, 0, message(0))
	for range 2 {
		if err := s.Close(); err != nil {
			s.Fatalf("Close: %v", err)
		}
	}
	check := func(what string, err error) {
		if !errors.Is(err, store.ErrClosed) {
			s.Errorf("%s of a closed store: %v, want ErrClosed", what, err)
		}
	}
	ctx := s.Context()
	_, err := s.Append(ctx, key, 1, message(1))
	check("Append", err)
	_, err = s.Body(ctx, key, transcript.HashOf("x"))
	check("Body", err)
	_, err = s.Find(ctx, key.Tenant, "k", "l")
	check("Find", err)
	for _, err = range s.Scan(ctx, key, 0) {
	}
	check("Scan", err)
	if searcher, ok := s.Store.(store.Searcher); ok {
		_, err = searcher.Search(ctx, key, "x", 1)
		check("Search", err)
	}
	if keeper, ok := s.Store.(store.Keeper); ok {
		check("Forget", keeper.Forget(ctx, key))
		for _, err = range keeper.Sessions(ctx, key.Tenant) {
		}
		check("Sessions", err)
		for _, err = range keeper.Verify(ctx) {
		}
		check("Verify", err)
	}
}

func (s *storeTest) contextDone() {
	key := s.key("a")
	s.append(key, 0, messages(0, 20)...)
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if _, err := s.Append(ctx, key, 20, message(20)); !errors.Is(err, context.Canceled) {
		s.Errorf("Append: %v, want context.Canceled", err)
	}
	if _, err := s.Body(ctx, key, transcript.HashOf("body number 1")); !errors.Is(err, context.Canceled) {
		s.Errorf("Body: %v, want context.Canceled", err)
	}
	if _, err := s.Find(ctx, key.Tenant, "k", "l"); !errors.Is(err, context.Canceled) {
		s.Errorf("Find: %v, want context.Canceled", err)
	}
	var err error
	for _, err = range s.Scan(ctx, key, 0) {
	}
	if !errors.Is(err, context.Canceled) {
		s.Errorf("Scan: %v, want context.Canceled", err)
	}
	s.check(key, messages(0, 20))

	// Cancelled at any moment, an Append either happened or did not, as it says.
	var wg sync.WaitGroup
	for i := range 30 {
		key := s.key(fmt.Sprint("race", i))
		ctx, cancel := context.WithCancel(s.Context())
		wg.Go(cancel)
		_, err := s.Append(ctx, key, 0, messages(0, 5)...)
		if err == nil {
			s.check(key, messages(0, 5))
		} else if got := s.scan(key, 0); len(got) != 0 {
			s.Errorf("Append said %v but %d entries are there", err, len(got))
		}
	}
	wg.Wait()
}
