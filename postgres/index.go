package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
)

const (
	indexBytes = 256 << 10 // how much text one transaction of the indexer takes
	indexRows  = 64
	// indexPoll is how often the indexer looks for what processes that are no more
	// have left behind.
	indexPoll = time.Minute
	// mostCount is the largest position that a tsvector can hold.
	mostCount = 16383
)

// wordPrefix goes before each word in the index: every session has its own words, so
// that nothing about one is seen, or paid for, in another. Words have no slash.
func wordPrefix(session int64) string { return strconv.FormatInt(session, 36) + "/" }

// indexJob is an entry whose text waits, with the part that is indexed next.
type indexJob struct {
	session  int64
	seq      uint64
	done     int // windows that are indexed already
	places   []indexPlace
	finished bool // no windows are left after these
}

type indexPlace struct {
	pleat.Window
	count int // words, with repeats
	words string
}

func (s *Store) wakeIndexer() {
	select {
	case s.wake <- struct{}{}:
	default: // it knows already
	}
}

// indexLoop indexes what waits until the store is closed.
func (s *Store) indexLoop() {
	poll := time.NewTicker(indexPoll)
	defer poll.Stop()
	for {
		select {
		case <-s.stopping.Done():
			return
		case <-s.wake:
		case <-poll.C:
		}
		for more := true; more; {
			var err error
			if more, err = s.indexSome(s.stopping, 0, 0); err != nil && s.stopping.Err() == nil {
				s.log.Error("index texts", "store", s.name, "err", s.explain(err))
			}
		}
	}
}

// indexSome indexes one batch of what waits, of one session up to an entry or, with
// session 0, of any that nobody else is at. It reports whether there may be more.
func (s *Store) indexSome(ctx context.Context, session int64, newest uint64) (more bool, err error) {
	err = s.retry(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		more = false
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			jobs, err := s.waiting(ctx, tx, session, newest)
			if err != nil || len(jobs) == 0 {
				return err
			}
			more = true
			room := indexBytes
			for i := range jobs {
				if room <= 0 {
					jobs = jobs[:i]
					break
				}
				used, err := s.cut(ctx, tx, &jobs[i], room)
				if err != nil {
					return err
				}
				room -= used
			}
			return writeJobs(ctx, tx, jobs)
		})
	})
	return more && err == nil, err
}

// waiting takes some entries whose texts are to be indexed; the locks keep others off
// them. A search waits for those that others have taken, since it needs them done.
func (s *Store) waiting(ctx context.Context, tx pgx.Tx, session int64, newest uint64) ([]indexJob, error) {
	text, args := "SELECT session, seq, done FROM pleat.pending ORDER BY session, seq LIMIT $1 FOR UPDATE SKIP LOCKED", []any{indexRows}
	if session != 0 {
		text = "SELECT session, seq, done FROM pleat.pending WHERE session = $2 AND seq <= $3 ORDER BY session, seq LIMIT $1 FOR UPDATE"
		args = append(args, session, newest)
	}
	rows, err := tx.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (job indexJob, err error) {
		err = row.Scan(&job.session, &job.seq, &job.done)
		return job, err
	})
}

// cut takes the next windows of a job's text, about room bytes of them, and splits them
// into words. A text that cannot be read is given up: Verify names it.
func (s *Store) cut(ctx context.Context, tx pgx.Tx, job *indexJob, room int) (used int, err error) {
	text, err := s.entryText(ctx, tx, job.session, job.seq)
	if errors.Is(err, pleat.ErrCorrupt) || errors.Is(err, pgx.ErrNoRows) {
		if errors.Is(err, pleat.ErrCorrupt) {
			s.log.Error("text cannot be indexed", "store", s.name, "err", err)
		}
		job.finished = true
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := 0
	for w := range pleat.Windows(text) {
		if n++; n <= job.done {
			continue
		}
		if used >= room {
			return used, nil
		}
		used += len(w.Text)
		place := indexPlace{Window: w}
		place.words, place.count = vector(wordPrefix(job.session), w.Text)
		job.places = append(job.places, place)
	}
	job.finished = true
	return used, nil
}

// vector writes the words of a text as a tsvector. The position of a word is not where
// it is but how often: that is what ranking needs.
func vector(prefix, text string) (words string, count int) {
	counts := make(map[string]int)
	for word := range pleat.Words(text) {
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

// selectText reads an entry with its text, wherever that is: by itself, or as the body.
const selectText = "SELECT " + entryColumns + `, s.tenant, s.name, coalesce(t.size, b.size, 0), coalesce(t.codec, b.codec, 0), coalesce(t.data, b.data)
	FROM pleat.entry e JOIN pleat.session s ON s.id = e.session
	LEFT JOIN pleat.text t ON t.session = e.session AND t.seq = e.seq
	LEFT JOIN pleat.blob b ON e.text = e.body AND b.hash = e.body AND b.owner = s.owner
	WHERE e.session = $1 AND e.seq = $2`

// maxSize bounds what a damaged size can make the decompressor allocate. PostgreSQL
// holds no larger values.
const maxSize = 1 << 30

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// entryText reads the text of an entry.
func (s *Store) entryText(ctx context.Context, q querier, session int64, seq uint64) (string, error) {
	var tenant, name []byte
	var p packed.Blob
	r, err := scanEntry(q.QueryRow(ctx, selectText, session, seq), &tenant, &name, &p.Size, &p.Codec, &p.Data)
	if damaged, ok := errors.AsType[errDamaged](err); ok {
		return "", s.corrupt("text of an entry: %s", damaged.what)
	}
	if err != nil {
		return "", err
	}
	key := pleat.SessionKey{Tenant: string(tenant), Session: string(name)}
	if !r.checks(key) {
		return "", s.corrupt("session %q: checksum of entry %d does not fit", key, r.Seq)
	}
	if p.Size < 0 || p.Size > maxSize {
		return "", s.corrupt("session %q: text of entry %d says that it has %d bytes", key, r.Seq, p.Size)
	}
	content, err := p.Unpack(p.Size, r.textHash)
	if err != nil {
		return "", s.corrupt("session %q: text of entry %d %v", key, r.Seq, err)
	}
	return string(content), nil
}

const (
	insertPlaces = `INSERT INTO pleat.place(session, seq, start, size, line, lines, length, words)
		SELECT $1, $2, a, b, c, d, e, f::tsvector FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[]) AS u(a, b, c, d, e, f)`
	addIndexed = `INSERT INTO pleat.indexed(session, places, words) VALUES($1, $2, $3)
		ON CONFLICT (session) DO UPDATE SET places = indexed.places + excluded.places, words = indexed.words + excluded.words`
)

// writeJobs adds to the index. The jobs are in the order of their sessions, so two
// indexers do not wait for one another in a circle.
func writeJobs(ctx context.Context, tx pgx.Tx, jobs []indexJob) error {
	slices.SortStableFunc(jobs, func(a, b indexJob) int { return cmp.Compare(a.session, b.session) })
	batch := &pgx.Batch{}
	for _, job := range jobs {
		if job.finished {
			batch.Queue("DELETE FROM pleat.pending WHERE session = $1 AND seq = $2", job.session, job.seq)
		} else {
			batch.Queue("UPDATE pleat.pending SET done = $3 WHERE session = $1 AND seq = $2", job.session, job.seq, job.done+len(job.places))
		}
		var starts, sizes, lines, counts, lengths []int64
		var words []string
		total := int64(0)
		for _, p := range job.places {
			if p.count == 0 {
				continue
			}
			starts, sizes = append(starts, int64(p.Start)), append(sizes, int64(p.End-p.Start))
			lines, counts = append(lines, int64(p.From)), append(counts, int64(p.To-p.From))
			lengths, words = append(lengths, int64(p.count)), append(words, p.words)
			total += int64(p.count)
		}
		if len(words) == 0 {
			continue
		}
		batch.Queue(insertPlaces, job.session, job.seq, starts, sizes, lines, counts, lengths, words)
		batch.Queue(addIndexed, job.session, len(words), total)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}
