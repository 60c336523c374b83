package pleattest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func (s *storeTest) find() {
	a, b := s.key("a"), s.key("b")
	elsewhere := store.SessionKey{Tenant: s.Name() + "elsewhere", Session: "a"}
	entry := func(kind store.EntryKind, label, data string) store.Entry {
		return store.Entry{Kind: kind, Label: label, Data: []byte(data), Body: []byte("body of " + data), Time: storeClock}
	}
	s.append(a, 0, entry("k", "one", "1"), entry("k", "two", "2"), entry("other", "one", "3"), entry("k", "", "4"))
	s.append(elsewhere, 0, entry("k", "one", "5"), entry("k", "only there", "6"))
	late := entry("k", "two", "7")
	late.Time = storeClock.Add(-time.Hour) // appended later, though it says otherwise
	s.append(b, 0, late)
	s.append(a, 4, entry("k", "one", "8"))

	got, err := s.Find(s.Context(), a.Tenant, "k", "one", "two", "three", "only there", "", "one")
	if err != nil {
		s.Fatal(err)
	}
	slices.SortFunc(got, func(x, y store.Found) int { return strings.Compare(x.Entry.Label, y.Entry.Label) })
	one, two := asStored([]store.Entry{entry("k", "one", "8")})[0], asStored([]store.Entry{late})[0]
	one.Seq = 5
	want := []store.Found{{Key: a, Entry: one}, {Key: b, Entry: two}}
	if d := diff(want, got); d != "" {
		s.Errorf("Find (-want +got):\n%s", d)
	}
}

// findMany is the question a proxy asks: which of these prefixes do you know?
func (s *storeTest) findMany() {
	key, last := s.key("a"), uint64(0)
	var labels []string
	var entries []store.Entry
	for i := range 1500 {
		label := transcript.HashOf(fmt.Sprint(s.Name(), i)).String()
		labels = append(labels, label, label+"?")
		entries = append(entries, store.Entry{Kind: store.EntryPrefix, Label: label})
	}
	for part := range slices.Chunk(entries, 500) {
		last = s.append(key, last, part...)
	}
	found, err := s.Find(s.Context(), key.Tenant, store.EntryPrefix, labels...)
	if err != nil || len(found) != len(entries) {
		s.Fatalf("Find: %d entries, %v; want %d", len(found), err, len(entries))
	}
	for _, f := range found {
		if want := entries[f.Entry.Seq-1].Label; f.Entry.Label != want {
			s.Fatalf("entry %d has label %q, want %q", f.Entry.Seq, f.Entry.Label, want)
		}
	}
}

// scanWhileAppending: an iterator holds nothing that the loop's body could need.
func (s *storeTest) scanWhileAppending() {
	key := s.key("a")
	s.append(key, 0, messages(0, 400)...)
	last, seen := uint64(400), uint64(0)
	for e, err := range s.Scan(s.Context(), key, 1) {
		if err != nil {
			s.Fatal(err)
		}
		if seen++; e.Seq != seen {
			s.Fatalf("entry %d where %d was due", e.Seq, seen)
		}
		if e.Seq%50 == 0 && e.Seq <= 400 {
			last = s.append(key, last, message(int(last)))
			if _, err := s.Body(s.Context(), key, e.BodyHash); err != nil {
				s.Fatal(err)
			}
			if got := s.scan(key, last); len(got) != 1 {
				s.Fatalf("%d entries from %d on, want 1", len(got), last)
			}
		}
	}
	if seen < 400 {
		s.Errorf("scan saw %d entries, want at least the 400 that were there", seen)
	}
	s.check(key, messages(0, int(last)))
}

func (s *storeTest) scanStopped() {
	key := s.key("a")
	s.append(key, 0, messages(0, 600)...)
	for range 200 { // more often than a store has connections
		for e, err := range s.Scan(s.Context(), key, 1) {
			if err != nil {
				s.Fatal(err)
			}
			if e.Seq == 2 {
				break
			}
		}
	}
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	var last error
	n := 0
	for _, err := range s.Scan(ctx, key, 1) {
		last = err
		if n++; n == 5 {
			cancel()
		}
	}
	if n == 600 && last == nil {
		return // all of it was in hand already: allowed
	}
	if !errors.Is(last, context.Canceled) {
		s.Errorf("Scan cancelled after 5 entries ended after %d with %v", n, last)
	}
}

// manyWriters: of those that expect the same last entry exactly one wins.
func (s *storeTest) manyWriters() {
	const writers, rounds = 8, 15
	key := s.key("a")
	var mu sync.Mutex
	winner := make(map[uint64]string)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for last := uint64(0); last < rounds; {
				name := fmt.Sprintf("writer %d after %d", w, last)
				now, err := s.Append(s.Context(), key, last, store.Entry{Kind: "k", Data: []byte(name), Body: []byte(name)})
				if err == nil {
					mu.Lock()
					if other, taken := winner[now]; taken {
						s.Errorf("entry %d was given to %q and to %q", now, other, name)
					}
					winner[now] = name
					mu.Unlock()
				} else if !errors.Is(err, store.ErrConflict) {
					s.Errorf("%s: %v", name, err)
					return
				}
				last++
			}
		})
	}
	wg.Wait()
	got := s.scan(key, 0)
	if len(got) != rounds || len(winner) != rounds {
		s.Fatalf("%d entries and %d winners, want %d", len(got), len(winner), rounds)
	}
	for _, e := range got {
		if string(e.Data) != winner[e.Seq] {
			s.Errorf("entry %d is %q, but %q was told so", e.Seq, e.Data, winner[e.Seq])
		}
	}
}

func (s *storeTest) manySessions() {
	const sessions, entries = 8, 20
	var wg sync.WaitGroup
	for n := range sessions {
		wg.Go(func() {
			key := s.key(fmt.Sprint(n))
			for i := range entries {
				e := message(1000*n + i)
				e.Text = "common words"
				if _, err := s.Append(s.Context(), key, uint64(i), e); err != nil {
					s.Error(err)
					return
				}
				for _, err := range s.Scan(s.Context(), key, uint64(i)) {
					if err != nil {
						s.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for n := range sessions {
		s.check(s.key(fmt.Sprint(n)), messages(1000*n, 1000*n+entries))
	}
}

func (s *storeTest) searcher() store.Searcher {
	s.Helper()
	return optional[store.Searcher](s)
}

// found runs a query and returns the entries of its hits, best first, without repeats.
func (s *storeTest) found(key store.SessionKey, query string) []uint64 {
	s.Helper()
	hits, err := s.searcher().Search(s.Context(), key, query, 100)
	if err != nil {
		s.Fatalf("Search(%q): %v", query, err)
	}
	seqs := []uint64{}
	for i, h := range hits {
		if i > 0 && h.Score > hits[i-1].Score {
			s.Errorf("Search(%q): hit %d scores %v after %v", query, i, h.Score, hits[i-1].Score)
		}
		if !slices.Contains(seqs, h.Seq) {
			seqs = append(seqs, h.Seq)
		}
	}
	return seqs
}

// texts appends entries that have only a text.
func (s *storeTest) texts(key store.SessionKey, last uint64, texts ...string) {
	s.Helper()
	for i, text := range texts {
		s.append(key, last+uint64(i), store.Entry{Kind: "k", Text: text})
	}
}

func (s *storeTest) expect(key store.SessionKey, queries map[string][]uint64) {
	s.Helper()
	for query, want := range queries {
		got := s.found(key, query)
		slices.Sort(got)
		if d := diff(want, got); d != "" {
			s.Errorf("Search(%q) (-want +got):\n%s", query, d)
		}
	}
}

func (s *storeTest) search() {
	key := s.key("a")
	s.texts(key, 0, "the quick brown fox", "a lazy dog", "", "the dog and the fox", "dog dog dog fox")
	s.expect(key, map[string][]uint64{
		"fox": {1, 4, 5}, "FOX!": {1, 4, 5}, "lazy fox": {1, 2, 4, 5}, "cat": {}, "": {}, "quick cat": {1},
	})
	if got := s.found(key, "lazy dog"); got[0] != 2 {
		s.Errorf("best hit for two words is entry %d, want 2, which has both", got[0])
	}
	if hits, err := s.searcher().Search(s.Context(), key, "dog", 2); err != nil || len(hits) != 2 {
		s.Errorf("Search with limit 2: %d hits, %v", len(hits), err)
	}
	if hits, err := s.searcher().Search(s.Context(), key, "dog", 0); err != nil || len(hits) != 0 {
		s.Errorf("Search with limit 0: %d hits, %v", len(hits), err)
	}
	s.texts(key, 5, "a late cat")
	s.expect(key, map[string][]uint64{"cat": {6}})
	if hits, err := s.searcher().Search(s.Context(), s.key("nobody"), "dog", 5); err != nil || len(hits) != 0 {
		s.Errorf("Search of a session that is not there: %v, %v", hits, err)
	}
	// Bodies and data are found by their text only.
	s.append(key, 6, store.Entry{Kind: "k", Body: []byte("zebra"), Data: []byte("zebra"), Label: "zebra"})
	s.expect(key, map[string][]uint64{"zebra": {}})
	// A text that is the body as well.
	s.append(key, 7, store.Entry{Kind: "k", Body: []byte("okapi stripes"), Text: "okapi stripes"})
	s.expect(key, map[string][]uint64{"okapi": {8}})
}

func (s *storeTest) searchCode() {
	key := s.key("a")
	s.texts(key, 0,
		"func parseHTTPRequest(r io.Reader) error",
		"edit internal/store/blob_test.go:217",
		"MAX_RETRY_COUNT = 3",
		"commit 3f5a9c1e77d2",
		"panic: runtime error: index out of range [5] with length 3",
		"修正数据库连接错误",
		"run with --dry-run and see localhost:8080",
		"Größenänderung überprüft",
	)
	s.expect(key, map[string][]uint64{
		"http request":        {1},
		"parsehttprequest":    {1},
		"blob_test.go":        {2},
		"blob":                {2},
		"store/blob_test":     {2},
		"retry":               {3},
		"max_retry_count":     {3},
		"3f5a9c1e77d2":        {4},
		"数据":                  {6},
		"dry run":             {7},
		"8080":                {7},
		"größenänderung":      {8},
		"\"out of range\" OR": {5},
	})
}

func (s *storeTest) searchIsolation() {
	a, b := s.key("a"), s.key("b")
	elsewhere := store.SessionKey{Tenant: s.Name() + "elsewhere", Session: a.Session}
	s.texts(a, 0, "alpha common")
	s.texts(b, 0, "filler", "beta common")
	s.texts(elsewhere, 0, "filler", "filler", "gamma common")
	s.expect(a, map[string][]uint64{"common": {1}, "beta": {}, "gamma": {}})
	s.expect(b, map[string][]uint64{"common": {2}, "alpha": {}, "gamma": {}})
	s.expect(elsewhere, map[string][]uint64{"common": {3}, "alpha": {}})

	// Not even the score tells anything about the neighbours.
	score := func() float64 {
		hits, err := s.searcher().Search(s.Context(), a, "common", 1)
		if err != nil || len(hits) != 1 {
			s.Fatalf("Search: %v, %v", hits, err)
		}
		return hits[0].Score
	}
	before := score()
	s.texts(b, 2, strings.Repeat("common\n", 500))
	s.found(b, "common")
	if after := score(); after != before {
		s.Errorf("score went from %v to %v when another session grew", before, after)
	}
}

// searchPlaces: a hit names the lines, also in a long text and in a long line.
func (s *storeTest) searchPlaces() {
	key := s.key("a")
	var lines []string
	for i := range 3000 {
		lines = append(lines, fmt.Sprintf("line %d says nothing much", i))
	}
	lines[1234] = "here is the needle"
	lines[2000] = strings.Repeat("hay ", 20_000) + "pinprick " + strings.Repeat("hay ", 20_000)
	text := strings.Join(lines, "\n")
	s.texts(key, 0, text)
	for word, line := range map[string]int{"needle": 1234, "pinprick": 2000} {
		hits, err := s.searcher().Search(s.Context(), key, word, 10)
		if err != nil || len(hits) == 0 {
			s.Fatalf("Search(%q): %d hits, %v", word, len(hits), err)
		}
		for _, h := range hits {
			if line < h.From || line >= h.To || h.To-h.From > 12 {
				s.Errorf("Search(%q): lines %d–%d, want around %d", word, h.From, h.To, line)
			}
			if h.End-h.Start > 4096 || !strings.Contains(text[h.Start:h.End], word) {
				s.Errorf("Search(%q): bytes %d–%d do not have it", word, h.Start, h.End)
			}
		}
	}
}

func (s *storeTest) searchOdd() {
	key := s.key("a")
	s.texts(key, 0, "NEAR the AND OR NOT column", "\x00\xff broken \xc3 bytes", strings.Repeat("x", 1<<20))
	for _, query := range []string{
		`"`, `""`, `AND`, `NOT NOT`, `NEAR(`, `a*`, `col:x`, `^x`, `{a b}: c`, `-x`, "\x00", "\xff", `'; DROP TABLE x`, "%", "()",
		strings.Repeat("many words ", 10_000), strings.Repeat("y", 1<<20), "日",
	} {
		if _, err := s.searcher().Search(s.Context(), key, query, 10); err != nil {
			s.Errorf("Search(%.20q): %v", query, err)
		}
	}
	s.expect(key, map[string][]uint64{"NOT": {1}, "near and": {1}, "broken": {2}, strings.Repeat("x", 1<<20): {3}})
}

func (s *storeTest) sessions() {
	keeper := optional[store.Keeper](s)
	tenant := s.Name() + "tenant"
	a, b := store.SessionKey{Tenant: tenant, Session: "a"}, store.SessionKey{Tenant: tenant, Session: "b"}
	s.append(store.SessionKey{Tenant: tenant + "2", Session: "c"}, 0, message(0))
	list := func() []store.SessionInfo {
		s.Helper()
		var infos []store.SessionInfo
		for info, err := range keeper.Sessions(s.Context(), tenant) {
			if err != nil {
				s.Fatal(err)
			}
			infos = append(infos, info)
		}
		return infos
	}
	if got := list(); len(got) != 0 {
		s.Fatalf("sessions of a tenant without any: %v", got)
	}
	s.append(a, 0, messages(0, 3)...)
	s.append(b, 0, message(100))
	s.append(a, 3, message(3), message(3)) // the same body twice counts twice
	infoA := store.SessionInfo{Key: a, Entries: 5, BodyBytes: 5 * 13, First: message(0).Time, Last: message(3).Time}
	infoB := store.SessionInfo{Key: b, Entries: 1, BodyBytes: 15, First: message(100).Time, Last: message(100).Time}
	if d := diff([]store.SessionInfo{infoA, infoB}, list()); d != "" {
		s.Errorf("Sessions (-want +got):\n%s", d)
	}
	for range keeper.Sessions(s.Context(), tenant) {
		break
	}
}

func (s *storeTest) forget() {
	keeper := optional[store.Keeper](s)
	a, b := s.key("a"), s.key("b")
	own := store.Entry{Kind: "k", Label: "own", Body: []byte("only in a"), Text: "aardvark words"}
	shared := store.Entry{Kind: "k", Label: "shared", Body: []byte("in both"), Text: "badger words"}
	s.append(b, 0, shared)
	s.append(a, 0, own, shared)
	_, canSearch := s.Store.(store.Searcher)
	if canSearch {
		s.expect(a, map[string][]uint64{"aardvark": {1}})
	}
	if err := keeper.Forget(s.Context(), a); err != nil {
		s.Fatalf("Forget: %v", err)
	}
	s.check(a, nil)
	s.check(b, []store.Entry{shared})
	if _, err := s.Body(s.Context(), a, transcript.HashOf("in both")); !errors.Is(err, store.ErrNotFound) {
		s.Errorf("Body of a forgotten session: %v, want ErrNotFound", err)
	}
	found, err := s.Find(s.Context(), a.Tenant, "k", "own", "shared")
	if err != nil || len(found) != 1 || found[0].Key != b {
		s.Errorf("Find after Forget: %v, %v; want the entry of b", found, err)
	}
	if err := keeper.Forget(s.Context(), a); !errors.Is(err, store.ErrNotFound) {
		s.Errorf("Forget twice: %v, want ErrNotFound", err)
	}
	if canSearch {
		s.expect(a, map[string][]uint64{"aardvark": {}, "words": {}})
		s.expect(b, map[string][]uint64{"words": {1}})
	}
	// The name is free again.
	s.append(a, 0, message(1))
	s.check(a, messages(1, 2))
	if canSearch {
		s.expect(a, map[string][]uint64{"aardvark": {}, "words": {}})
	}
	s.verify()
}

func (s *storeTest) verify() {
	keeper := optional[store.Keeper](s)
	s.append(s.key("verify"), 0, append(messages(0, 50), store.Entry{Kind: "k", Label: "l", Text: "text", Body: noise(10_000)})...)
	for damage, err := range keeper.Verify(s.Context()) {
		s.Errorf("Verify: %+v, %v", damage, err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	var last error
	for _, last = range keeper.Verify(ctx) {
	}
	if !errors.Is(last, context.Canceled) {
		s.Errorf("Verify cancelled: %v, want context.Canceled", last)
	}
}
