package rows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/pleat-dev/pleat/search"
	"github.com/pleat-dev/pleat/store"
)

// WordPrefix goes before each word in the index: every session has its own words, so
// that one session neither sees nor pays for another's. Words have no slash.
func WordPrefix(session int64) string { return strconv.FormatInt(session, 36) + "/" }

// Job is an entry whose text is to be indexed, with the part that comes next.
type Job struct {
	Session  int64
	Entry    int64 // what the store notes: its ID or its number
	Done     int   // windows that are indexed already
	Places   []Place
	Finished bool // no windows are left after these
}

// Place is a window as it is indexed.
type Place struct {
	store.Hit
	Words string // as the store writes them
	Count int    // of words, with repeats
}

// ReadJob reads the columns session, entry and done.
func ReadJob(row Scanner) (job Job, err error) {
	err = row.Scan(&job.Session, &job.Entry, &job.Done)
	return job, err
}

// LongText is a text that is indexed in several steps.
type LongText struct {
	entry int64
	seq   uint64
	done  int // number of windows returned so far
	next  func() (search.Window, bool)
	stop  func()
}

// OpenText opens a job's text at the first window that is not indexed.
func OpenText(job *Job, seq uint64, text string) *LongText {
	t := &LongText{entry: job.Entry, seq: seq}
	t.next, t.stop = iter.Pull(search.Windows(text))
	for ; t.done < job.Done; t.done++ {
		if _, ok := t.next(); !ok {
			break
		}
	}
	return t
}

// At reports whether the text is open where the job goes on.
func (t *LongText) At(job *Job) bool { return t != nil && t.entry == job.Entry && t.done == job.Done }

// Close releases the text.
func (t *LongText) Close() {
	if t != nil {
		t.stop()
	}
}

// Cut takes the next windows of the jobs' texts, about limit bytes of them, and returns the
// jobs that got some. Open returns the text of a job; words writes the words of a window
// as the store does. A text that cannot be read is skipped for good: Verify reports it.
func (b *Base) Cut(
	ctx context.Context, jobs []Job, limit int,
	open func(job *Job) (*LongText, error), words func(prefix, text string) (string, int),
) ([]Job, error) {
	for i := range jobs {
		job := &jobs[i]
		if limit <= 0 || ctx.Err() != nil {
			return jobs[:i], nil
		}
		t, err := open(job)
		if corrupt := errors.Is(err, store.ErrCorrupt); corrupt || errors.Is(err, sql.ErrNoRows) {
			if corrupt {
				b.Log.Error("text cannot be indexed", "err", err)
			}
			job.Finished = true
			continue
		}
		if err != nil {
			return nil, err
		}
		prefix := WordPrefix(job.Session)
		for ; limit > 0; t.done++ {
			w, ok := t.next()
			if !ok {
				job.Finished = true
				break
			}
			limit -= len(w.Text)
			p := Place{Hit: store.Hit{Seq: t.seq, From: w.From, To: w.To, Start: w.Start, End: w.End}}
			p.Words, p.Count = words(prefix, w.Text)
			job.Places = append(job.Places, p)
		}
	}
	return jobs, nil
}

func (b *Base) index(ctx context.Context, x *Session) (err error) {
	for more := true; more && err == nil; {
		more, err = b.tables.IndexSome(ctx, x)
	}
	return err
}

// Search implements [store.Searcher].
func (c Calls) Search(ctx context.Context, key store.SessionKey, query string, limit int) ([]store.Hit, error) {
	var hits []store.Hit
	err := c.b.Do(ctx, func() error {
		if c.b.ReadOnly { // it may have to index first
			return store.ErrReadOnly
		}
		words := search.QueryWords(query)
		x, err := c.b.tables.Session(ctx, key)
		if x == nil || err != nil || limit <= 0 {
			return err
		}
		if !c.b.Keys.none() {
			return fmt.Errorf("an encrypted store has no index: %w", errors.ErrUnsupported)
		}
		if err := c.b.index(ctx, x); err != nil || len(words) == 0 {
			return err
		}
		hits, err = c.b.tables.Rank(ctx, x, words, limit)
		store.SortHits(hits)
		hits = hits[:min(limit, len(hits))]
		return err
	}, "search session %q", key)
	return hits, err
}

// AddWords runs add for each word of a query. Words that are everywhere say little about
// any place, so they are added only if the others do not find enough: with common false,
// add leaves out such a word and returns false.
func AddWords(words []string, enough func() bool, add func(word string, common bool) (whole bool, err error)) error {
	var left []string
	for _, word := range words {
		whole, err := add(word, false)
		if err != nil {
			return err
		}
		if !whole {
			left = append(left, word)
		}
	}
	for _, word := range left {
		if enough() {
			break
		}
		if _, err := add(word, true); err != nil {
			return err
		}
	}
	return nil
}
