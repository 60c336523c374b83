package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/pleat-dev/pleat/search"
)

type memText struct {
	seq  uint64
	text string
}

// Search implements [Searcher]. It reads all texts of the session.
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

// windows are the places of texts, and which of them have a word of a query.
type windows struct {
	places   []Hit
	lengths  []int // words of each place
	total    int   // words of all places
	postings map[string][]posting
}

type posting struct {
	place, count int
}

// Scan ranks the places of texts, which come with the numbers of their entries, as
// [Searcher] does, but without an index: it reads all of them. It is for stores that cannot
// search.
func Scan(texts iter.Seq2[uint64, string], query string, limit int) []Hit {
	x, words := &windows{postings: make(map[string][]posting)}, search.QueryWords(query)
	for _, word := range words {
		x.postings[word] = nil
	}
	for seq, text := range texts {
		x.add(seq, text)
	}
	scores := make(map[int]float64)
	average := float64(x.total) / float64(len(x.places))
	for _, word := range words {
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

func (x *windows) add(seq uint64, text string) {
	for w := range search.Windows(text) {
		place, length := len(x.places), 0
		for word := range search.Words(w.Text) {
			length++
			list, asked := x.postings[word]
			if n := len(list); n > 0 && list[n-1].place == place {
				list[n-1].count++
			} else if asked {
				x.postings[word] = append(list, posting{place, 1})
			}
		}
		x.places = append(x.places, Hit{Seq: seq, From: w.From, To: w.To, Start: w.Start, End: w.End})
		x.lengths = append(x.lengths, length)
		x.total += length
	}
}
