package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"

	"github.com/pleat-dev/pleat/search"
)

// memIndex is the search index of one session: for each word, the windows that have it.
// Texts are indexed by the first search after they were appended.
type memIndex struct {
	mu       sync.Mutex // taken after Memory.mu, for indexing
	texts    []memText
	done     int // texts that are indexed
	places   []Hit
	lengths  []int // words of each place
	total    int   // words of all places
	postings map[string][]posting
	only     map[string]bool // words that are indexed; nil: all
}

type memText struct {
	seq  uint64
	text string
}

type posting struct {
	place, count int
}

// Search implements [Searcher].
func (m *Memory) Search(ctx context.Context, key SessionKey, query string, limit int) ([]Hit, error) {
	m.mu.RLock() // nothing is appended meanwhile; other searches go on
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, fmt.Errorf("search session %q: %w", key, err)
	}
	s := m.sessions[key]
	if s == nil || limit <= 0 {
		return nil, nil
	}
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	for ; s.index.done < len(s.index.texts); s.index.done++ {
		s.index.add(s.index.texts[s.index.done])
	}
	return s.index.search(query, limit), nil
}

// Scan ranks the places of texts, which come with the numbers of their entries, as
// [Searcher] does, but without an index: it reads all of them. It is for stores that cannot
// search.
func Scan(texts iter.Seq2[uint64, string], query string, limit int) []Hit {
	x := &memIndex{postings: make(map[string][]posting), only: make(map[string]bool)}
	for _, word := range search.QueryWords(query) {
		x.only[word] = true
	}
	for seq, text := range texts {
		x.add(memText{seq, text})
	}
	return x.search(query, limit)
}

func (x *memIndex) add(t memText) {
	for w := range search.Windows(t.text) {
		place, length := len(x.places), 0
		for word := range search.Words(w.Text) {
			length++
			if x.only != nil && !x.only[word] {
				continue
			}
			list := x.postings[word]
			if n := len(list); n > 0 && list[n-1].place == place {
				list[n-1].count++
				continue
			}
			x.postings[word] = append(list, posting{place, 1})
		}
		x.places = append(x.places, Hit{Seq: t.seq, From: w.From, To: w.To, Start: w.Start, End: w.End})
		x.lengths = append(x.lengths, length)
		x.total += length
	}
}

// upTo returns an index of the entries up to a number.
func (x *memIndex) upTo(seq uint64) *memIndex {
	n := sort.Search(len(x.texts), func(i int) bool { return x.texts[i].seq > seq })
	return &memIndex{texts: slices.Clip(x.texts[:n]), postings: make(map[string][]posting)}
}

// search ranks the places that have a word of the query.
func (x *memIndex) search(query string, limit int) []Hit {
	scores := make(map[int]float64)
	average := float64(x.total) / float64(len(x.places))
	for _, word := range search.QueryWords(query) {
		list := x.postings[word]
		for _, p := range list {
			scores[p.place] += search.BM25(p.count, x.lengths[p.place], average, len(list), len(x.places))
		}
	}
	hits := make([]Hit, 0, len(scores))
	for place, score := range scores {
		hit := x.places[place]
		hit.Score = score
		hits = append(hits, hit)
	}
	SortHits(hits)
	return hits[:min(limit, len(hits))]
}
