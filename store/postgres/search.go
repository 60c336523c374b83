package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/search"
	"github.com/pleat-dev/pleat/store"
)

func (t tables) Rank(ctx context.Context, x *rows.Session, words []string, limit int) (hits []store.Hit, err error) {
	err = inTx(ctx, t.retry, snapshot, func(tx pgx.Tx) error {
		hits = nil
		r := ranking{scores: make(map[placeKey]*store.Hit)}
		row := tx.QueryRow(ctx, "SELECT places, words FROM pleat.indexed WHERE session = $1", x.ID)
		err := row.Scan(&r.places, &r.words)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && r.places == 0 {
			return nil
		}
		if err == nil {
			enough := func() bool { return len(r.scores) >= limit }
			err = rows.AddWords(words, enough, func(word string, common bool) (bool, error) {
				return r.add(ctx, tx, x.ID, word, common)
			})
		}
		for _, hit := range r.scores {
			hits = append(hits, *hit)
		}
		return err
	})
	return hits, err
}

// commonWord is how many places must have a word for it to be common.
const commonWord = 1000

// ranking adds up the scores of places, word by word.
type ranking struct {
	places, words int
	scores        map[placeKey]*store.Hit
}

type placeKey struct {
	seq   uint64
	start int
}

// placeWhere goes by the index of words, which are the session's own. The sum keeps the
// planner from reading all places of the session instead.
const placeWhere = "p.words @@ $2::text::tsquery AND p.session + 0 = $1"

// selectPlaces finds the places that have a word, and how often: the word's position.
// Looking up the position takes longer than finding the place, so selectCommon, for words
// that are everywhere, leaves it out.
const (
	placeColumns = "p.seq, p.start, p.size, p.line, p.lines, p.length"
	selectPlaces = "SELECT " + placeColumns + `, (SELECT u.positions[1] FROM unnest(p.words) u WHERE u.lexeme = $3)
		FROM pleat.place p WHERE ` + placeWhere
	selectCommon = "SELECT " + placeColumns + ", 1 FROM pleat.place p WHERE " + placeWhere
)

// add finds the places that have the word and adds to their scores. Unless common is set,
// a word that many places have is left out, and reported as not whole.
func (r *ranking) add(ctx context.Context, tx pgx.Tx, session int64, word string, common bool) (whole bool, err error) {
	word = rows.WordPrefix(session) + word
	query := "'" + strings.ReplaceAll(word, "'", "''") + "'"
	text, args := selectCommon, []any{session, query}
	if !common {
		text, args = selectPlaces, append(args, word)
		var known int
		err := tx.QueryRow(ctx, "SELECT count(*) FROM (SELECT 1 FROM pleat.place p WHERE "+placeWhere+" LIMIT $3) n",
			session, query, commonWord).Scan(&known)
		if err != nil || known == 0 || known == commonWord {
			return known != commonWord, err
		}
	}
	type found struct {
		hit           store.Hit
		length, count int
	}
	all, err := rows.Collect(rows.Each(tx.Query(ctx, text, args...)), func(row rows.Scanner) (f found, err error) {
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
		r.scores[at].Score += search.BM25(f.count, f.length, average, len(all), r.places)
	}
	return true, nil
}

// Reindex throws the search index away. Texts are indexed again when their session is searched.
// It is for a damaged index.
func (s *Store) Reindex(ctx context.Context) error {
	err := inTx(ctx, s.read, pgx.TxOptions{}, func(tx pgx.Tx) error {
		return execAll(ctx, tx, "SET LOCAL statement_timeout = 0",
			"LOCK TABLE pleat.pending IN EXCLUSIVE MODE", // no indexing, no Append
			"DELETE FROM pleat.pending", "DELETE FROM pleat.place", "DELETE FROM pleat.indexed",
			"INSERT INTO pleat.pending(session, seq, done) SELECT session, seq, 0 FROM pleat.entry "+
				"WHERE text IS NOT NULL")
	})
	return s.base.Fail(ctx, err, "reindex")
}
