package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
)

// hits runs a query.
func (s *clause) hits(key store.SessionKey, query string, limit int) []store.Hit {
	s.Helper()
	hits, err := optional[store.Searcher](s).Search(s.Context(), key, query, limit)
	if err != nil {
		s.Fatalf("Search(%.20q): %v", query, err)
	}
	return hits
}

// found runs a query and returns the entries of its hits, best first, without repeats.
func (s *clause) found(key store.SessionKey, query string) []uint64 {
	s.Helper()
	hits, seqs := s.hits(key, query, 100), []uint64{}
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
func (s *clause) texts(key store.SessionKey, last uint64, texts ...string) {
	s.Helper()
	for i, text := range texts {
		s.append(key, last+uint64(i), store.Entry{Kind: "k", Text: text})
	}
}

// expect runs queries, if the store can search.
func (s *clause) expect(key store.SessionKey, queries map[string][]uint64) {
	s.Helper()
	if _, ok := s.Store.(store.Searcher); !ok {
		return
	}
	for query, want := range queries {
		got := s.found(key, query)
		slices.Sort(got)
		difftest.Equal(s, want, got, fmt.Sprintf("Search(%.20q)", query))
	}
}

func (s *clause) search() {
	key := s.key("a")
	s.texts(key, 0, "the quick brown fox", "a lazy dog", "", "the dog and the fox", "dog dog dog fox")
	s.expect(key, map[string][]uint64{
		"fox": {1, 4, 5}, "FOX!": {1, 4, 5}, "lazy fox": {1, 2, 4, 5}, "cat": {}, "": {}, "quick cat": {1},
	})
	if got := s.found(key, "lazy dog"); got[0] != 2 {
		s.Errorf("best hit for two words is entry %d, want 2, which has both", got[0])
	}
	for _, limit := range []int{2, 0} {
		if hits := s.hits(key, "dog", limit); len(hits) != limit {
			s.Errorf("Search with limit %d: %d hits", limit, len(hits))
		}
	}
	s.texts(key, 5, "a late cat")
	s.expect(key, map[string][]uint64{"cat": {6}})
	if hits := s.hits(s.key("nobody"), "dog", 5); len(hits) != 0 {
		s.Errorf("Search of a session that is not there: %v", hits)
	}
	// Bodies and data are found by their text only.
	s.append(key, 6, store.Entry{Kind: "k", Body: []byte("zebra"), Data: []byte("zebra"), Label: "zebra"})
	s.expect(key, map[string][]uint64{"zebra": {}})
	// A text that is the body as well.
	s.append(key, 7, store.Entry{Kind: "k", Body: []byte("okapi stripes"), Text: "okapi stripes"})
	s.expect(key, map[string][]uint64{"okapi": {8}})
}

func (s *clause) searchCode() {
	optional[store.Searcher](s)
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

func (s *clause) searchIsolation() {
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
		hits := s.hits(a, "common", 1)
		if len(hits) != 1 {
			s.Fatalf("Search: %v", hits)
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
func (s *clause) searchPlaces() {
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
		hits := s.hits(key, word, 10)
		if len(hits) == 0 {
			s.Fatalf("Search(%q): no hit", word)
		}
		for _, h := range hits {
			if line < h.From || line >= h.To || h.To-h.From > 12 {
				s.Errorf("Search(%q): lines %d–%d, want around %d", word, h.From, h.To, line)
			}
			if strings.Count(text[:h.Start], "\n") != h.From ||
				line == 1234 && strings.TrimSuffix(text[h.Start:h.End], "\n") != strings.Join(lines[h.From:h.To], "\n") {
				s.Errorf("Search(%q): bytes %d–%d are not lines %d–%d", word, h.Start, h.End, h.From, h.To)
			}
			if h.End-h.Start > 4096 || !strings.Contains(text[h.Start:h.End], word) {
				s.Errorf("Search(%q): bytes %d–%d do not have it", word, h.Start, h.End)
			}
		}
	}
}

func (s *clause) searchOdd() {
	key := s.key("a")
	s.texts(key, 0, "NEAR the AND OR NOT column", "\x00\xff broken \xc3 bytes", strings.Repeat("x", 1<<20))
	for _, query := range []string{
		`"`, `""`, `AND`, `NOT NOT`, `NEAR(`, `a*`, `col:x`, `^x`, `{a b}: c`, `-x`, "\x00", "\xff", `'; DROP TABLE x`,
		"%", "()",
		strings.Repeat("many words ", 10_000), strings.Repeat("y", 1<<20), "日",
	} {
		s.hits(key, query, 10)
	}
	s.expect(key, map[string][]uint64{"NOT": {1}, "near and": {1}, "broken": {2}, strings.Repeat("x", 1<<20): {3}})
}
