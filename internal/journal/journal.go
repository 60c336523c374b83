// Package journal is the one way into a session. A [Journal] writes entries to the store and takes them in, its
// own and those of other processes. What is stored of the conversation and of the window changes in no other way;
// what only this process knows, such as the tools and the last view, the session sets itself.
package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Options say where a session's entries are and what they change.
type Options struct {
	Store  store.Store
	Key    store.SessionKey
	State  *epoch.State
	Meter  *meter.Meter
	Codecs map[transcript.Format]transcript.Codec // how messages of a wire are read back
	Now    func() time.Time                       // stamps entries

	Warn   func(ctx context.Context, warning string) // told of a message that cannot be read back
	Failed func(ctx context.Context, err error)      // told that the store cannot be written
}

// Journal has the entries of one session. It is not safe for concurrent use.
type Journal struct {
	o      Options
	last   uint64      // number of the newest entry that was taken in
	newest store.Entry // that entry, without its body
	coming []message   // the messages being appended: they need not be read back from the store
	heard  time.Time   // when the newest message was stored

	// Answered is when the newest answer of the model was stored; zero if there is none.
	Answered time.Time
	// Elsewhere says that a view was answered before the session was opened here, or in another process.
	Elsewhere bool
	// Digests say how every digest came to be, oldest first.
	Digests []digest.Origin
}

// New returns a journal that has taken in nothing yet: see [Journal.Refresh].
func New(o Options) *Journal { return &Journal{o: o} }

// Key names the session.
func (j *Journal) Key() store.SessionKey { return j.o.Key }

// Store is where the entries are.
func (j *Journal) Store() store.Store { return j.o.Store }

// State is the conversation that the entries make, with the folds in force.
func (j *Journal) State() *epoch.State { return j.o.State }

// Last is the number of the newest entry that was taken in; 0: there is none.
func (j *Journal) Last() uint64 { return j.last }

// Write stores entries and, once they are durable, takes them in. With [store.ErrConflict] it has taken in what
// another process wrote instead.
func (j *Journal) Write(ctx context.Context, entries ...store.Entry) error {
	now := j.o.Now()
	for i := range entries {
		entries[i].Time = now
	}
	last, err := j.o.Store.Append(ctx, j.o.Key, j.last, entries...)
	if err != nil {
		if errors.Is(err, store.ErrConflict) {
			j.coming = nil // what is read now is somebody else's
			if again := j.Refresh(ctx); again != nil {
				err = again // trying again is of no use
			}
		}
		if ctx.Err() == nil && !errors.Is(err, store.ErrConflict) { // else the caller stopped it, or others wrote
			j.o.Failed(ctx, err)
		}
		return err
	}
	for i := range entries {
		entries[i].Seq = last - uint64(len(entries)-1-i)
		if err := j.take(ctx, entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// Tries is how often something is tried again because others wrote meanwhile.
const Tries = 100

// put writes an entry that does not depend on what others write: it is written after theirs.
func (j *Journal) put(ctx context.Context, e store.Entry) error {
	for try := 0; ; try++ {
		if err := j.Write(ctx, e); !errors.Is(err, store.ErrConflict) || try == Tries {
			return err
		}
	}
}

// Refresh takes in entries that were written since the journal last looked. If its newest entry is no longer
// there, somebody has deleted the session, and perhaps begun another under its name: the error is
// [store.ErrNotFound].
func (j *Journal) Refresh(ctx context.Context) error {
	there := j.last == 0
	for e, err := range j.o.Store.Scan(ctx, j.o.Key, max(j.last, 1)) {
		if err != nil {
			return err
		}
		if e.Seq == j.last && !there {
			if there = j.isNewest(e); !there {
				break
			}
			continue
		}
		if err := j.take(ctx, e); err != nil {
			return err
		}
	}
	if !there {
		return fmt.Errorf("entry %d is gone, the session was deleted: open it again: %w", j.last, store.ErrNotFound)
	}
	return nil
}

// take takes in the next entry.
func (j *Journal) take(ctx context.Context, e store.Entry) error {
	if err := j.apply(ctx, e); err != nil {
		return fmt.Errorf("read entry %d (%s): %w", e.Seq, e.Kind, err)
	}
	j.last, j.newest = e.Seq, store.Entry{Kind: e.Kind, Label: e.Label, Time: e.Time, Data: e.Data}
	return nil
}

// isNewest reports whether an entry is the newest that was taken in.
func (j *Journal) isNewest(e store.Entry) bool {
	return e.Kind == j.newest.Kind && e.Label == j.newest.Label &&
		e.Time.UnixMilli() == j.newest.Time.UnixMilli() && bytes.Equal(e.Data, j.newest.Data)
}
