package store

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/pleat-dev/pleat/search"
)

// memText is the text of an entry.
type memText struct {
	seq  uint64
	text string
}

// Search implements [Searcher]. It has no index: it reads all texts of the session.
func (m *Memory) Search(ctx context.Context, key SessionKey, query string, limit int) ([]Hit, error) {
	m.mu.RLock()
	err := m.usable(ctx)
	var texts []memText
	if s := m.sessions[key]; s != nil {
		texts = s.texts
	}
	m.mu.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("search session %q: %w", key, err)
	}
	if limit <= 0 {
		return nil, nil
	}
	return Scan(func(yield func(uint64, string) bool) {
		for _, t := range texts {
			if !yield(t.seq, t.text) {
				return
			}
		}
	}, query, limit), nil
}

// Scan ranks the places of texts, which come with the numbers of their entries, as
// [Searcher] does, but without an index: it reads all of them. It is for stores that cannot
// search.
func Scan(texts iter.Seq2[uint64, string], query string, limit int) []Hit {
	type place struct {
		hit    Hit
		length int   // in words
		counts []int // of each word of the query
	}
	words := search.QueryWords(query)
	var found []place // those that have a word of the query
	all, total := 0, 0
	holding := make([]int, len(words)) // how many places have the word
	for seq, text := range texts {
		for w := range search.Windows(text) {
			p := place{hit: Hit{Seq: seq, From: w.From, To: w.To, Start: w.Start, End: w.End}}
			for word := range search.Words(w.Text) {
				p.length++
				i := slices.Index(words, word)
				if i < 0 {
					continue
				}
				if p.counts == nil {
					p.counts = make([]int, len(words))
				}
				if p.counts[i]++; p.counts[i] == 1 {
					holding[i]++
				}
			}
			all++
			if total += p.length; p.counts != nil {
				found = append(found, p)
			}
		}
	}
	hits := make([]Hit, 0, len(found))
	for _, p := range found {
		for i, n := range p.counts {
			if n > 0 {
				p.hit.Score += search.BM25(n, p.length, float64(total)/float64(all), holding[i], all)
			}
		}
		hits = append(hits, p.hit)
	}
	SortHits(hits)
	return hits[:min(limit, len(hits))]
}
