// Package rows is what the stores in databases have in common: how sessions, entries,
// bodies and texts become rows, the checks that each row passes when it is read, and the
// steps of each operation. A store adds its SQL, as [Tables].
package rows

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/store"
)

// Tables is the part that differs between stores: the SQL, and what the errors of the
// driver mean. Session, Page, Read and CheckText begin and end a call themselves; see
// [Base.Enter]. The others run within a call.
type Tables interface {
	// Misfit reports whether Scan failed because a value does not fit its Go type.
	Misfit(err error) bool
	// Interrupted reports whether err is how the driver reports a cancelled context.
	Interrupted(err error) bool
	// Explain turns an error of the driver into one of package store, with the name of
	// the store and what to do about it.
	Explain(err error) error

	// Append adds drafts after entry number last, and returns the newest number. If source is not
	// nil, they are copies of its first entries: their bodies are there, their texts are copied.
	Append(ctx context.Context, key store.SessionKey, last uint64, drafts []Draft, source *Session) (uint64, error)
	// Session finds a session; nil if there is none.
	Session(ctx context.Context, key store.SessionKey) (*Session, error)
	// Sessions reads all sessions of a tenant, newest first.
	Sessions(ctx context.Context, tenant string) ([]*Session, error)
	// Page reads at most that many entries from a number on, in order: fewer if there are
	// no more or if they are large. With an error it returns the entries before it.
	Page(ctx context.Context, x *Session, from uint64, most int, kinds []store.EntryKind) ([]*Record, error)
	// Find finds the newest entry for each label. The labels are sorted.
	Find(ctx context.Context, tenant string, kind store.EntryKind, labels []string) ([]store.Found, error)
	// Forget deletes a session.
	Forget(ctx context.Context, key store.SessionKey) error

	// IndexSome indexes a batch of the pending texts of a session as it was read. It reports
	// whether there may be more.
	IndexSome(ctx context.Context, x *Session) (more bool, err error)
	// Rank finds the best places for words, in any order.
	Rank(ctx context.Context, x *Session, words []string, limit int) ([]store.Hit, error)
	// TakeClaim takes a claim unless somebody has it; DropClaim ends it.
	TakeClaim(ctx context.Context, work, token []byte, ttl time.Duration) (ok bool, err error)
	DropClaim(ctx context.Context, work, token []byte) error

	// Read runs one of the [Pages]. It is a call of its own and may take long.
	Read(ctx context.Context, read func(List) error, query string, args ...any) error
	// CheckText reads the text of an entry, as a call of its own.
	CheckText(ctx context.Context, x *Session, r *Record) error
}

// Base is a store over its tables, without the methods that only one kind of store has.
type Base struct {
	Name     string // where it is, for messages
	Log      *slog.Logger
	ReadOnly bool
	Quick    bool // compress for speed: a person waits for the store
	Keys     Keys // encrypt bodies, data and labels; then nothing is indexed
	Pages    Pages

	tables Tables

	mu       sync.Mutex // guards closed and the growth of work
	closed   bool
	work     sync.WaitGroup // calls under way
	once     sync.Once
	closeErr error
}

// Calls are the methods of package store that all stores in databases have alike. A store
// embeds them.
type Calls struct{ b *Base }

// Init makes the base ready for use.
func (b *Base) Init(tables Tables) Calls {
	b.tables = tables
	return Calls{b}
}

// Enter begins a call; Leave ends it.
func (b *Base) Enter(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.work.Add(1)
	return nil
}

// Leave ends a call.
func (b *Base) Leave() { b.work.Done() }

// Call runs f as a call.
func (b *Base) Call(ctx context.Context, f func() error) error {
	if err := b.Enter(ctx); err != nil {
		return err
	}
	defer b.Leave()
	return f()
}

// Do runs f as a call and finishes its error as Fail does.
func (b *Base) Do(ctx context.Context, f func() error, format string, args ...any) error {
	return b.Fail(ctx, b.Call(ctx, f), format, args...)
}

// doWriting is Do for a call that writes.
func (b *Base) doWriting(ctx context.Context, f func() error, format string, args ...any) error {
	if b.ReadOnly {
		return b.Fail(ctx, store.ErrReadOnly, format, args...)
	}
	return b.Do(ctx, f, format, args...)
}

// Close waits for calls under way and then runs release. It does so once.
func (b *Base) Close(release func() error) error {
	b.once.Do(func() {
		b.mu.Lock()
		b.closed = true
		b.mu.Unlock()
		b.work.Wait()
		if err := release(); err != nil {
			b.closeErr = fmt.Errorf("close store %s: %w", b.Name, err)
		}
	})
	return b.closeErr
}

// Explain turns an error into one of package store.
func (b *Base) Explain(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[damaged](err); ok || b.tables.Misfit(err) {
		return b.corrupt(err)
	}
	return b.tables.Explain(err)
}

// Fail completes an operation's error: "verb object: reason". A cancelled context is
// reported as such, whatever error the driver made of it.
func (b *Base) Fail(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	cancelled := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if ctx.Err() != nil && (cancelled || b.tables.Interrupted(err)) {
		err = ctx.Err()
	}
	return fmt.Errorf(format+": %w", append(args, b.Explain(err))...)
}

// Corrupt describes damage in the store.
func (b *Base) Corrupt(format string, args ...any) error {
	return b.corrupt(fmt.Errorf(format, args...))
}

func (b *Base) corrupt(err error) error {
	if errors.Is(err, ErrKey) {
		return fmt.Errorf("%s: %w", b.Name, unreadable{err})
	}
	return fmt.Errorf("%s: %v: %w", b.Name, err, store.ErrCorrupt)
}

// unreadable is [store.ErrCorrupt] to whoever asks, but calls nothing damaged: only the key is wrong.
type unreadable struct{ error }

func (unreadable) Is(target error) bool { return target == store.ErrCorrupt }

// In adds to the error of a damaged row where the row is. Other errors stay as they are.
func (b *Base) In(err error, format string, args ...any) error {
	if what, ok := errors.AsType[damaged](err); ok {
		return b.Corrupt(format+": %w", append(args, what.error)...)
	}
	return err
}
