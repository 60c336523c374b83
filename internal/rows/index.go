package rows

import (
	"cmp"
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

// Cut yields what is next of the jobs' texts, about limit bytes of text at a time, as the jobs that have some of
// it. Read returns the number of a job's entry and its text; words writes the words of a window as the store does.
// A text that cannot be read is skipped for good: Verify reports it.
func (b *Base) Cut(
	ctx context.Context, jobs []Job, limit int,
	read func(job *Job) (seq uint64, text string, err error), words func(prefix, text string) (string, int),
) iter.Seq2[[]Job, error] {
	return func(yield func([]Job, error) bool) {
		var some []Job
		left := limit
		for _, job := range jobs {
			seq, text, err := read(&job)
			if errors.Is(err, store.ErrCorrupt) {
				b.Log.Error("text cannot be indexed", "err", err)
			} else if err = cmp.Or(err, ctx.Err()); err != nil && !errors.Is(err, sql.ErrNoRows) {
				yield(nil, err)
				return
			}
			prefix, n := WordPrefix(job.Session), 0
			for w := range search.Windows(text) {
				if n++; n <= job.Done {
					continue
				}
				if left <= 0 {
					if !yield(append(some, job), nil) {
						return
					}
					job.Done, job.Places, some, left = n-1, nil, nil, limit
				}
				left -= len(w.Text)
				p := Place{Hit: store.Hit{Seq: seq, From: w.From, To: w.To, Start: w.Start, End: w.End}}
				p.Words, p.Count = words(prefix, w.Text)
				job.Places = append(job.Places, p)
			}
			job.Finished = true
			some = append(some, job)
		}
		yield(some, nil)
	}
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
