package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/search"
)

const (
	indexBytes = 256 << 10 // how much text is indexed in one round trip
	// indexRows is how many texts one transaction indexes.
	indexRows = 64
	// mostCount is the largest position that a tsvector can hold.
	mostCount = 16383
)

// IndexSome locks the jobs that it takes, and waits for those that others have locked: a search
// needs their results.
func (t tables) IndexSome(ctx context.Context, x *rows.Session) (more bool, err error) {
	err = inTx(ctx, t.retry, pgx.TxOptions{}, func(tx pgx.Tx) error {
		more = false
		jobs, err := rows.Collect(rows.Each(tx.Query(ctx, selectJobs, x.ID, int64(x.Head), indexRows)), rows.ReadJob)
		if err != nil || len(jobs) == 0 {
			return err
		}
		more = true
		read := func(job *rows.Job) (uint64, string, error) {
			return t.base.ReadText(tx.QueryRow(ctx, selectText, job.Session, job.Entry))
		}
		for some, err := range t.base.Cut(ctx, jobs, indexBytes, read, vector) {
			if err == nil {
				err = writeJobs(ctx, tx, some)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return more && err == nil, err
}

// vector writes the words of a text as a tsvector. In place of a word's position it has the
// word's count, which is what ranking needs.
func vector(prefix, text string) (words string, count int) {
	counts := make(map[string]int)
	for word := range search.Words(text) {
		counts[word]++
		count++
	}
	var buf []byte
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		buf = append(buf, '\'')
		buf = append(append(buf, prefix...), word...) // words have neither quotes nor backslashes
		buf = append(buf, "':"...)
		buf = append(strconv.AppendInt(buf, int64(min(counts[word], mostCount)), 10), ' ')
	}
	return string(buf), count
}

const (
	selectJobs = `SELECT session, seq, done FROM pleat.pending
		WHERE session = $1 AND seq <= $2 ORDER BY seq LIMIT $3 FOR UPDATE`
	insertPlaces = `INSERT INTO pleat.place(session, seq, start, size, line, lines, length, words)
		SELECT $1, $2, a, b, c, d, e, f::tsvector FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
			$7::bigint[], $8::text[]) AS u(a, b, c, d, e, f)`
	addIndexed = `INSERT INTO pleat.indexed(session, places, words) VALUES($1, $2, $3)
		ON CONFLICT (session) DO UPDATE SET places = indexed.places + excluded.places, words = indexed.words + excluded.words`
)

func writeJobs(ctx context.Context, tx pgx.Tx, jobs []rows.Job) error {
	batch := &pgx.Batch{}
	for _, job := range jobs {
		if job.Finished {
			batch.Queue("DELETE FROM pleat.pending WHERE session = $1 AND seq = $2", job.Session, job.Entry)
		} else {
			batch.Queue("UPDATE pleat.pending SET done = $3 WHERE session = $1 AND seq = $2",
				job.Session, job.Entry, job.Done+len(job.Places))
		}
		places := table{insert: insertPlaces, fixed: []any{job.Session, job.Entry}}
		count, words := 0, 0
		for _, p := range job.Places {
			if p.Count == 0 {
				continue
			}
			numbers := []int64{
				int64(p.Start), int64(p.End - p.Start), int64(p.From), int64(p.To - p.From), int64(p.Count),
			}
			places.add(batch, numbers, []byte(p.Words))
			count++
			words += p.Count
		}
		if count > 0 {
			places.queue(batch)
			batch.Queue(addIndexed, job.Session, count, words)
		}
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}
