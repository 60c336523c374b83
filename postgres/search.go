package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat"
)

// Search implements [pleat.Searcher].
func (s *Store) Search(ctx context.Context, key pleat.SessionKey, query string, limit int) ([]pleat.Hit, error) {
	if err := s.enterWriting(ctx); err != nil {
		return nil, fmt.Errorf("search session %q: %w", key, err)
	}
	defer s.work.Done()
	hits, err := s.search(ctx, key, query, limit)
	return hits, s.fail(ctx, err, "search session %q", key)
}

func (s *Store) search(ctx context.Context, key pleat.SessionKey, query string, limit int) (hits []pleat.Hit, err error) {
	words := pleat.QueryWords(query)
	if limit <= 0 || len(words) == 0 {
		return nil, nil
	}
	x, err := s.session(ctx, key)
	if x == nil || err != nil {
		return nil, err
	}
	for more := true; more; {
		if more, err = s.indexSome(ctx, x.id, x.head); err != nil {
			return nil, err
		}
	}
	err = s.retry(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		// All words at one moment.
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			hits, err = rank(ctx, tx, x.id, words, limit)
			return err
		})
	})
	return hits, err
}

// commonWord is how many places must have a word for it to be common.
const commonWord = 1000

// rank finds the best places. Words that are everywhere say little about any place.
// They are looked for only if the others do not say enough.
func rank(ctx context.Context, tx pgx.Tx, session int64, words []string, limit int) ([]pleat.Hit, error) {
	r := ranking{scores: make(map[placeKey]*pleat.Hit)}
	err := tx.QueryRow(ctx, "SELECT places, words FROM pleat.indexed WHERE session = $1", session).Scan(&r.places, &r.words)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && r.places == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var common []string
	for _, word := range words {
		whole, err := r.add(ctx, tx, session, word, commonWord)
		if err != nil {
			return nil, err
		}
		if !whole {
			common = append(common, word)
		}
	}
	for _, word := range common {
		if len(r.scores) >= limit {
			break
		}
		if _, err := r.add(ctx, tx, session, word, r.places+1); err != nil {
			return nil, err
		}
	}
	hits := make([]pleat.Hit, 0, len(r.scores))
	for _, hit := range r.scores {
		hits = append(hits, *hit)
	}
	pleat.SortHits(hits)
	return hits[:min(limit, len(hits))], nil
}

// ranking adds up the scores of places, word by word.
type ranking struct {
	places, words int
	scores        map[placeKey]*pleat.Hit
}

type placeKey struct {
	seq   uint64
	start int
}

// placeWhere goes by the index of words, which are the session's own. The sum keeps the
// planner from reading all places of the session instead.
const placeWhere = "p.words @@ $2::text::tsquery AND p.session + 0 = $1"

// selectPlaces finds the places that have a word, and how often: the word's position.
// To look for that takes longer than to find the place, so of words that are everywhere
// selectCommon tells only that they are there.
const (
	placeColumns = "p.seq, p.start, p.size, p.line, p.lines, p.length"
	selectPlaces = "SELECT " + placeColumns + ", (SELECT u.positions[1] FROM unnest(p.words) u WHERE u.lexeme = $3) FROM pleat.place p WHERE " + placeWhere
	selectCommon = "SELECT " + placeColumns + ", 1 FROM pleat.place p WHERE " + placeWhere
)

// add finds the places that have the word and adds what that is worth. A word that more
// than most places have is left out, and reported as not whole.
func (r *ranking) add(ctx context.Context, tx pgx.Tx, session int64, word string, most int) (whole bool, err error) {
	word = wordPrefix(session) + word
	query := "'" + strings.ReplaceAll(word, "'", "''") + "'"
	text, args := selectCommon, []any{session, query}
	if most <= commonWord {
		text, args = selectPlaces, append(args, word)
		var known int
		err := tx.QueryRow(ctx, "SELECT count(*) FROM (SELECT 1 FROM pleat.place p WHERE "+placeWhere+" LIMIT $3) n",
			session, query, most).Scan(&known)
		if err != nil || known == 0 || known == most {
			return known != most, err
		}
	}
	rows, err := tx.Query(ctx, text, args...)
	if err != nil {
		return false, err
	}
	type found struct {
		hit           pleat.Hit
		length, count int
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f found, err error) {
		h := &f.hit
		err = row.Scan(&h.Seq, &h.Start, &h.End, &h.From, &h.To, &f.length, &f.count)
		h.End += h.Start
		h.To += h.From
		return f, err
	})
	if err != nil {
		return false, err
	}
	average := float64(r.words) / float64(r.places)
	for _, f := range all {
		at := placeKey{f.hit.Seq, f.hit.Start}
		if r.scores[at] == nil {
			r.scores[at] = &f.hit
		}
		r.scores[at].Score += pleat.BM25(f.count, f.length, average, len(all), r.places)
	}
	return true, nil
}

// Reindex makes the search index anew, in the background: from the texts, which are
// stored. It is for an index that is damaged.
func (s *Store) Reindex(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("reindex: %w", err)
	}
	defer s.work.Done()
	err := s.retry(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for _, text := range []string{
				"SET LOCAL statement_timeout = 0",
				"LOCK TABLE pleat.pending IN EXCLUSIVE MODE", // no indexer, no Append
				"DELETE FROM pleat.pending", "DELETE FROM pleat.place", "DELETE FROM pleat.indexed",
				"INSERT INTO pleat.pending(session, seq, done) SELECT session, seq, 0 FROM pleat.entry WHERE text IS NOT NULL",
			} {
				if _, err := tx.Exec(ctx, text); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err == nil {
		s.wakeIndexer()
	}
	return s.fail(ctx, err, "reindex")
}
