package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/search"
)

// indexBytes is how much text one transaction of the indexer takes: so little that an
// Append that has to wait for it does not notice.
const indexBytes = 128 << 10

// The number of a place is made of three: its session, its place in the session, and
// its length in steps of eight words. So the places of a session are a range, and
// ranking needs no second lookup for the length.
const (
	lengthBits = 8
	placeBits  = 28
	lengthStep = 8
)

func placeID(session, n int64, words int) int64 {
	length := min((words+lengthStep/2)/lengthStep, 1<<lengthBits-1)
	return session<<(placeBits+lengthBits) | n<<lengthBits | int64(length)
}

func placeLength(id int64) int { return int(id&(1<<lengthBits-1)) * lengthStep }

// placeRange is the range from ≤ id < to of a session's places.
func placeRange(session int64) (from, to int64) {
	return session << (placeBits + lengthBits), (session + 1) << (placeBits + lengthBits)
}

// IndexSome waits for its turn: only one goroutine at a time indexes for a store.
func (t tables) IndexSome(ctx context.Context, x *rows.Session) (more bool, err error) {
	if err := take(ctx, t.indexTurn); err != nil {
		return false, err
	}
	defer func() { <-t.indexTurn }()
	const pending = "SELECT session, entry, done FROM pending WHERE session = ? AND entry <= ? LIMIT 64"
	jobs, err := rows.Collect(rows.Each(t.read.QueryContext(ctx, pending, x.ID, x.Newest)), rows.ReadJob)
	if err != nil || len(jobs) == 0 {
		return false, err
	}
	var buf []byte
	words := func(prefix, text string) (string, int) {
		buf = buf[:0]
		count := 0
		for word := range search.Words(text) {
			buf = append(append(append(buf, prefix...), word...), ' ')
			count++
		}
		return string(buf), count
	}
	read := func(job *rows.Job) (uint64, string, error) {
		return t.base.ReadText(t.read.QueryRowContext(ctx, selectText, job.Entry))
	}
	for some, err := range t.base.Cut(ctx, jobs, indexBytes, read, words) {
		if err == nil {
			err = t.update(ctx, func(ctx context.Context) error { return t.writeJobs(ctx, some) })
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// writeJobs adds to the index, in a write transaction. If another process was faster with a
// job, its row in pending has changed or is gone, and the job is skipped.
func (s *Store) writeJobs(ctx context.Context, jobs []rows.Job) error {
	for _, job := range jobs {
		var n int64
		var err error
		if job.Finished {
			n, err = affected(s.exec(ctx, "DELETE FROM pending WHERE session = ? AND entry = ? AND done = ?",
				job.Session, job.Entry, job.Done))
		} else {
			n, err = affected(s.exec(ctx, "UPDATE pending SET done = ? WHERE session = ? AND entry = ? AND done = ?",
				job.Done+len(job.Places), job.Session, job.Entry, job.Done))
		}
		if err == nil && n > 0 {
			err = s.writePlaces(ctx, job)
		}
		if err != nil {
			return fmt.Errorf("index entry: %w", err)
		}
	}
	return nil
}

const selectIndexed = "SELECT places, words FROM indexed WHERE session = ?"

func (s *Store) writePlaces(ctx context.Context, job rows.Job) error {
	var places, words int64
	err := s.get(ctx, selectIndexed, []any{job.Session}, &places, &words)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	for _, p := range job.Places {
		if p.Count == 0 {
			continue
		}
		id := placeID(job.Session, places, p.Count)
		if _, err := s.exec(ctx, "INSERT INTO word(rowid, words) VALUES(?, ?)", id, p.Words); err != nil {
			return err
		}
		_, err := s.exec(ctx, "INSERT INTO place(id, seq, line, lines, start, size) VALUES(?, ?, ?, ?, ?, ?)",
			id, p.Seq, p.From, p.To-p.From, p.Start, p.End-p.Start)
		if err != nil {
			return err
		}
		places++
		words += int64(p.Count)
	}
	_, err = s.exec(ctx, "INSERT OR REPLACE INTO indexed(session, places, words) VALUES(?, ?, ?)",
		job.Session, places, words)
	return err
}
