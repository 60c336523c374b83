package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/packed"
)

// indexBytes is how much text one transaction of the indexer takes: little enough that
// an Append that has to wait for it does not notice.
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

// wordPrefix goes before each word in the index: every session has its own words, so
// that nothing about one is seen, or paid for, in another. Words have no slash.
func wordPrefix(session int64) string { return strconv.FormatInt(session, 36) + "/" }

// indexJob is an entry whose text waits, with the part that is indexed next.
type indexJob struct {
	session, entry int64
	done           int // windows that are indexed already
	places         []indexPlace
	finished       bool // no windows are left after these
}

type indexPlace struct {
	pleat.Hit
	words string // with prefixes, separated by blanks
	count int
}

func (s *Store) wakeIndexer() {
	select {
	case s.wake <- struct{}{}:
	default: // it knows already
	}
}

// indexLoop indexes what waits until the store is closed.
func (s *Store) indexLoop() {
	for {
		select {
		case <-s.stopping.Done():
			return
		case <-s.wake:
		}
		for {
			more, err := s.indexSome(s.stopping, 0, 0)
			if err != nil {
				if s.stopping.Err() == nil {
					s.log.Error("index texts", "path", s.path, "err", s.explain(err))
				}
				break // the next Append or Search tries again
			}
			if !more {
				break
			}
		}
	}
}

// indexSome indexes one batch of what waits, of one session up to an entry or, with
// session 0, of any. It reports whether there may be more.
func (s *Store) indexSome(ctx context.Context, session, newest int64) (more bool, err error) {
	select {
	case s.indexTurn <- struct{}{}:
		defer func() { <-s.indexTurn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	jobs, err := s.waiting(ctx, session, newest)
	if err != nil || len(jobs) == 0 {
		return false, err
	}
	room := indexBytes
	for i := range jobs {
		if room <= 0 || ctx.Err() != nil {
			jobs = jobs[:i]
			break
		}
		used, err := s.cut(ctx, &jobs[i], room)
		if err != nil {
			return false, err
		}
		room -= used
	}
	return true, s.update(ctx, func(ctx context.Context) error { return s.writeJobs(ctx, jobs) })
}

// waiting lists some entries whose texts are to be indexed.
func (s *Store) waiting(ctx context.Context, session, newest int64) ([]indexJob, error) {
	text, args := "SELECT session, entry, done FROM pending LIMIT 64", []any(nil)
	if session != 0 {
		text, args = "SELECT session, entry, done FROM pending WHERE session = ? AND entry <= ? LIMIT 64", []any{session, newest}
	}
	rows, err := s.read.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var jobs []indexJob
	for rows.Next() {
		var job indexJob
		if err := rows.Scan(&job.session, &job.entry, &job.done); err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, rows.Err()
}

// longText is a text that is indexed in several steps. Reading it and finding one's place in
// it for each of them would take time that grows with the square of its length.
type longText struct {
	entry int64
	seq   uint64
	done  int // windows that were taken
	next  func() (pleat.Window, bool)
	stop  func()
}

// textAt returns a job's text, at the first window that is not indexed. Whoever asks has the
// indexer's turn.
func (s *Store) textAt(ctx context.Context, job *indexJob) (*longText, error) {
	if t := s.long; t != nil && t.entry == job.entry && t.done == job.done {
		return t, nil
	}
	s.endLong()
	seq, text, err := s.entryText(ctx, job.entry)
	if err != nil {
		return nil, err
	}
	t := &longText{entry: job.entry, seq: seq}
	t.next, t.stop = iter.Pull(pleat.Windows(text))
	for ; t.done < job.done; t.done++ {
		if _, ok := t.next(); !ok {
			break
		}
	}
	s.long = t
	return t, nil
}

// endLong lets go of the text that is being indexed.
func (s *Store) endLong() {
	if s.long != nil {
		s.long.stop()
		s.long = nil
	}
}

// cut takes the next windows of a job's text, about room bytes of them, and splits them
// into words. A text that cannot be read is given up: Verify names it.
func (s *Store) cut(ctx context.Context, job *indexJob, room int) (used int, err error) {
	t, err := s.textAt(ctx, job)
	if errors.Is(err, pleat.ErrCorrupt) || errors.Is(err, sql.ErrNoRows) {
		if errors.Is(err, pleat.ErrCorrupt) {
			s.log.Error("text cannot be indexed", "path", s.path, "err", err)
		}
		job.finished = true
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	prefix := wordPrefix(job.session)
	var buf []byte
	for used < room {
		w, ok := t.next()
		if !ok {
			s.endLong()
			job.finished = true
			return used, nil
		}
		t.done++
		used += len(w.Text)
		place := indexPlace{Hit: pleat.Hit{Seq: t.seq, From: w.From, To: w.To, Start: w.Start, End: w.End}}
		buf = buf[:0]
		for word := range pleat.Words(w.Text) {
			buf = append(append(append(buf, prefix...), word...), ' ')
			place.count++
		}
		place.words = string(buf)
		job.places = append(job.places, place)
	}
	return used, nil
}

// entryText reads the text of an entry, from where it is: by itself, in the body, or as
// the body.
func (s *Store) entryText(ctx context.Context, entry int64) (seq uint64, text string, err error) {
	row := s.read.QueryRowContext(ctx, "SELECT "+entryColumns+", s.tenant, s.name, t.size, t.codec, t.data, b.size, b.codec, b.data "+
		"FROM entry e JOIN session s ON s.id = e.session LEFT JOIN text t ON t.entry = e.id "+
		"LEFT JOIN blob b ON b.hash = e.body AND b.tenant = s.tenant WHERE e.id = ?", entry)
	var tenant, name, textData, blobData []byte
	var textSize, textForm, blobSize, blobForm sql.NullInt64
	r, err := scanEntry(row, &tenant, &name, &textSize, &textForm, &textData, &blobSize, &blobForm, &blobData)
	if damaged, ok := errors.AsType[errDamaged](err); ok {
		return 0, "", s.corrupt("text of an entry: %s", damaged.what)
	}
	if err != nil {
		return 0, "", err
	}
	key := pleat.SessionKey{Tenant: string(tenant), Session: string(name)}
	if !r.checks(key) {
		return 0, "", s.corrupt("session %q: checksum of entry %d does not fit", key, r.Seq)
	}
	p, size := packed.Blob{Size: int(textSize.Int64), Codec: int(textForm.Int64), Data: textData}, int(textSize.Int64)
	body := packed.Blob{Size: int(blobSize.Int64), Codec: int(blobForm.Int64), Data: blobData}
	if r.textHash == r.BodyHash {
		p, size = body, r.BodySize
	} else if size < 0 || size > maxTextSize {
		return 0, "", s.corrupt("session %q: text of entry %d says that it has %d bytes", key, r.Seq, size)
	}
	content, err := unpackText(p, size, body, r)
	if err != nil {
		return 0, "", s.corrupt("session %q: text of entry %d %v", key, r.Seq, err)
	}
	return r.Seq, string(content), nil
}

func unpackText(p packed.Blob, size int, body packed.Blob, r *record) ([]byte, error) {
	if !p.InBody() {
		return p.Unpack(size, r.textHash)
	}
	content, err := body.Unpack(r.BodySize, r.BodyHash)
	if err != nil {
		return nil, fmt.Errorf("is in a body that %w", err)
	}
	return p.UnpackFrom(content, size, r.textHash)
}

// maxTextSize bounds what a damaged size can make the decompressor allocate. SQLite
// holds no larger values.
const maxTextSize = 1 << 30

// writeJobs adds to the index, in a write transaction. Another process may have been
// faster with a job; then its note is gone or says so.
func (s *Store) writeJobs(ctx context.Context, jobs []indexJob) error {
	for _, job := range jobs {
		var result sql.Result
		var err error
		if job.finished {
			result, err = s.write.endPending.ExecContext(ctx, job.session, job.entry, job.done)
		} else {
			result, err = s.write.setPending.ExecContext(ctx, job.done+len(job.places), job.session, job.entry, job.done)
		}
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			if err != nil {
				return err
			}
			continue
		}
		if err := s.writePlaces(ctx, job); err != nil {
			return fmt.Errorf("index entry: %w", err)
		}
	}
	return nil
}

func (s *Store) writePlaces(ctx context.Context, job indexJob) error {
	var places, words int64
	err := s.write.getIndexed.QueryRowContext(ctx, job.session).Scan(&places, &words)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	for _, p := range job.places {
		if p.count == 0 {
			continue
		}
		id := placeID(job.session, places, p.count)
		if _, err := s.write.addWords.ExecContext(ctx, id, p.words); err != nil {
			return err
		}
		if _, err := s.write.addPlace.ExecContext(ctx, id, p.Seq, p.From, p.To-p.From, p.Start, p.End-p.Start); err != nil {
			return err
		}
		places++
		words += int64(p.count)
	}
	_, err = s.write.setIndexed.ExecContext(ctx, job.session, places, words)
	return err
}
