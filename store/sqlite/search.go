package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/search"
	"github.com/pleat-dev/pleat/store"
)

func (t tables) Rank(ctx context.Context, x *rows.Session, words []string, limit int) ([]store.Hit, error) {
	tx, err := t.read.BeginTx(ctx, nil) // one snapshot for all words
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	var places, total int64
	err = tx.QueryRowContext(ctx, selectIndexed, x.ID).Scan(&places, &total)
	if errors.Is(err, sql.ErrNoRows) || err == nil && places == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := ranking{
		counts: make(map[int64]int), scores: make(map[int64]float64),
		wordAt: tx.StmtContext(ctx, t.query[selectWord]), average: float64(total) / float64(places), places: int(places),
	}
	prefix := rows.WordPrefix(x.ID)
	enough := func() bool { return len(r.scores) >= limit }
	err = rows.AddWords(words, enough, func(word string, common bool) (bool, error) {
		most := commonWord
		if common {
			most = -1
		}
		return r.add(ctx, prefix+word, most)
	})
	if err != nil {
		return nil, err
	}
	return t.hits(ctx, tx, r.scores, limit)
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

// add counts how often each place has the word and adds to the scores. A word that occurs
// more often than most is left out, and reported as not whole.
func (r *ranking) add(ctx context.Context, word string, most int) (whole bool, err error) {
	clear(r.counts)
	n := 0
	for row, err := range rows.Each(r.wordAt.QueryContext(ctx, word, most)) {
		if err != nil {
			return false, err
		}
		var id int64
		if err := row.Scan(&id); err != nil {
			return false, err
		}
		r.counts[id]++
		n++
	}
	if n == most {
		return false, nil
	}
	for id, n := range r.counts {
		r.scores[id] += search.BM25(n, placeLength(id), r.average, len(r.counts), r.places)
	}
	return true, nil
}

// hits looks up the places with the highest scores; among equals, the newest, whose numbers
// are the largest.
func (s *Store) hits(ctx context.Context, tx *sql.Tx, scores map[int64]float64, limit int) ([]store.Hit, error) {
	place := tx.StmtContext(ctx, s.query[selectPlace])
	best := slices.SortedFunc(maps.Keys(scores), func(a, b int64) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a))
	})
	var hits []store.Hit
	for _, id := range best[:min(limit, len(best))] {
		h := store.Hit{Score: scores[id]}
		err := place.QueryRowContext(ctx, id).Scan(&h.Seq, &h.From, &h.To, &h.Start, &h.End)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, s.base.Corrupt("search index refers to a place that does not exist; Reindex rebuilds the index")
		}
		if err != nil {
			return nil, err
		}
		h.To += h.From
		h.End += h.Start
		hits = append(hits, h)
	}
	return hits, nil
}

// Reindex throws the search index away. Texts are indexed again when their session is searched.
// It is for a damaged index.
func (s *Store) Reindex(ctx context.Context) error {
	return s.base.Do(ctx, func() error {
		return s.update(ctx, func(ctx context.Context) error {
			_, err := s.conn.ExecContext(ctx, `INSERT INTO word(word) VALUES('delete-all');
			DELETE FROM place; DELETE FROM indexed; DELETE FROM pending;
			INSERT INTO pending(session, entry, done) SELECT session, id, 0 FROM entry WHERE text IS NOT NULL`)
			return err
		})
	}, "reindex")
}
