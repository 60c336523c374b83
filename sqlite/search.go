package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pleat-dev/pleat"
)

// Search implements [pleat.Searcher].
func (s *Store) Search(ctx context.Context, key pleat.SessionKey, query string, limit int) ([]pleat.Hit, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("search session %q: %w", key, err)
	}
	defer s.work.Done()
	hits, err := s.search(ctx, key, query, limit)
	return hits, s.fail(ctx, err, "search session %q", key)
}

func (s *Store) search(ctx context.Context, key pleat.SessionKey, query string, limit int) ([]pleat.Hit, error) {
	x, err := s.session(ctx, key)
	if x == nil || err != nil || limit <= 0 {
		return nil, err
	}
	if s.readOnly {
		return nil, pleat.ErrReadOnly
	}
	for more := true; more; {
		if more, err = s.indexSome(ctx, x.id, x.newest); err != nil {
			return nil, err
		}
	}
	tx, err := s.read.BeginTx(ctx, nil) // all words at one moment
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	var places, words int64
	err = tx.QueryRowContext(ctx, "SELECT places, words FROM indexed WHERE session = ?", x.id).Scan(&places, &words)
	if errors.Is(err, sql.ErrNoRows) || err == nil && places == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := ranking{
		counts: make(map[int64]int), scores: make(map[int64]float64),
		wordAt: tx.StmtContext(ctx, s.query.wordAt), average: float64(words) / float64(places), places: int(places),
	}
	var common []string
	for _, word := range pleat.QueryWords(query) {
		word = wordPrefix(x.id) + word
		whole, err := r.add(ctx, word, commonWord)
		if err != nil {
			return nil, err
		}
		if !whole {
			common = append(common, word)
		}
	}
	// Words that are everywhere say little about any place. They are looked for only
	// if the others do not say enough.
	for _, word := range common {
		if len(r.scores) >= limit {
			break
		}
		if _, err := r.add(ctx, word, -1); err != nil {
			return nil, err
		}
	}
	return s.hits(ctx, tx, r.scores, limit)
}

// commonWord is how often a session must have a word for it to be common.
const commonWord = 10_000

// ranking adds up the scores of places, word by word.
type ranking struct {
	wordAt  *sql.Stmt
	average float64
	places  int
	counts  map[int64]int // of the word at hand
	scores  map[int64]float64
}

// add counts how often each place has the word and adds what that is worth. A word that
// occurs more often than most is left out, and reported as not whole.
func (r *ranking) add(ctx context.Context, word string, most int) (whole bool, err error) {
	clear(r.counts)
	rows, err := r.wordAt.QueryContext(ctx, word, most)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return false, err
		}
		r.counts[id]++
	}
	if err := rows.Err(); err != nil || n == most {
		return false, err
	}
	for id, n := range r.counts {
		r.scores[id] += pleat.BM25(n, placeLength(id), r.average, len(r.counts), r.places)
	}
	return true, nil
}

// hits looks up the best places. Equal scores are told apart by the places' numbers,
// which grow with time.
func (s *Store) hits(ctx context.Context, tx *sql.Tx, scores map[int64]float64, limit int) ([]pleat.Hit, error) {
	place := tx.StmtContext(ctx, s.query.place)
	var hits []pleat.Hit
	for _, id := range best(scores, limit) {
		h := pleat.Hit{Score: scores[id]}
		err := place.QueryRowContext(ctx, id).Scan(&h.Seq, &h.From, &h.To, &h.Start, &h.End)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, s.corrupt("search index knows a place that is not there; Reindex makes the index anew")
		}
		if err != nil {
			return nil, err
		}
		h.To += h.From
		h.End += h.Start
		hits = append(hits, h)
	}
	pleat.SortHits(hits)
	return hits, nil
}

// best returns the places with the highest scores; of equals, the newest.
func best(scores map[int64]float64, limit int) []int64 {
	return slices.SortedFunc(maps.Keys(scores), func(a, b int64) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a))
	})[:min(limit, len(scores))]
}

// Reindex makes the search index anew, in the background: from the texts, which are
// stored. It is for an index that is damaged.
func (s *Store) Reindex(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("reindex: %w", err)
	}
	defer s.work.Done()
	err := s.update(ctx, func(ctx context.Context) error {
		_, err := s.conn.ExecContext(ctx, `INSERT INTO word(word) VALUES('delete-all');
			DELETE FROM place; DELETE FROM indexed; DELETE FROM pending;
			INSERT INTO pending(session, entry, done) SELECT session, id, 0 FROM entry WHERE text IS NOT NULL`)
		return err
	})
	if err == nil {
		s.wakeIndexer()
	}
	return s.fail(ctx, err, "reindex")
}
