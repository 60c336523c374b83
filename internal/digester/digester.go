// Package digester gets digests from a model for a session, while a caller waits or in the background. The
// session can be used meanwhile: a [Digester] frees its lock whenever it waits.
package digester

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/model"
)

// Options say for which session digests are written, and by whom.
type Options struct {
	Digest  digest.Options
	Live    model.Model // of the session
	AsIs    bool        // what the model writes is taken as it comes, and so waited for
	Journal *journal.Journal
	Lock    sync.Locker // of the session; held when a Digester is called, but for Close
	Now     func() time.Time
	Rates   func() model.Rates // that requests have now
	Head    func() (system string, tools []model.Tool)

	// Writing is told that a model is asked, Written that a digest was prepared in the background, and Warn what
	// went wrong; the origin may be nil.
	Writing, Written func(ctx context.Context, o *digest.Origin)
	Warn             func(ctx context.Context, o *digest.Origin, warning string)
	Logger           *slog.Logger
}

// Digester is a session's part in getting digests from a model.
type Digester struct {
	o      Options
	guard  *Guard
	flight *flight // nil: none
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	looked int // tokens of the view when a digest was last thought of
}

// New returns a digester whose work in the background ends with [Digester.Close].
func New(ctx context.Context, o Options) *Digester {
	d := &Digester{o: o}
	d.guard = NewGuard(&d.o.Digest, o.Now)
	d.ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return d
}

// flight is a digest that is being written.
type flight struct {
	background bool          // nobody waits for it
	began      time.Time     // when a caller first waited for it; zero: none has
	heard      chan struct{} // closed with the first byte of an answer
	done       chan struct{} // closed when the digest is there, or is not
}

// firstByte is how long a caller waits for a model that says nothing.
const firstByte = 10 * time.Second

// Close ends what is done in the background and waits for it. Digests are then written only while a caller
// waits.
func (d *Digester) Close() {
	d.o.Lock.Lock()
	defer d.o.Lock.Unlock()
	d.End()
}

// End is Close for a caller who has the lock, which is free while it waits.
func (d *Digester) End() {
	d.cancel()
	d.unlocked(d.work.Wait)
}

// ShareGuard holds the digester to the bounds that another one is held to: a model that does not help a session
// does not help its fork.
func (d *Digester) ShareGuard(other *Digester) { d.guard = other.guard }

// Can reports whether a model may be asked now, and if not, why.
func (d *Digester) Can() (bool, string) {
	if d.o.Digest.Generator == nil {
		return false, ""
	}
	return d.guard.Closed()
}

// Flying reports whether a digest is being written.
func (d *Digester) Flying() bool { return d.flight != nil }

// Answer gets the digest that a plan needs, while the caller waits.
func (d *Digester) Answer(ctx context.Context, need fold.Need) {
	st := d.o.Journal.State()
	newest := st.NewestTold()
	if err := d.o.Journal.Refresh(ctx); err == nil && st.NewestTold() != newest {
		return // another process has just stored one
	}
	f := d.flight
	if f == nil && d.waits() {
		f = d.takeOff(false)
		defer d.land(f)
		ctx, cancel := d.patience(ctx, time.Now())
		defer cancel()
		d.digest(ctx, need, f)
		return
	}
	if f == nil {
		f = d.fly(ctx, false, func(ctx context.Context, f *flight) error { d.digest(ctx, need, f); return nil })
	}
	d.await(ctx, f)
}

// waits reports whether digests are written only while a caller waits.
func (d *Digester) waits() bool { return d.o.Digest.NoBackground || d.o.AsIs || d.ctx.Err() != nil }

// await waits for a digest in flight: for a model that says nothing no longer than firstByte, and
// for one digest only once, however often callers come and go. What is given up goes on.
func (d *Digester) await(ctx context.Context, f *flight) {
	if f.began.IsZero() {
		f.began = time.Now()
	}
	ctx, cancel := d.patience(ctx, f.began)
	defer cancel()
	silent, end := context.WithDeadline(ctx, f.began.Add(firstByte))
	defer end()
	d.unlocked(func() {
		select {
		case <-f.heard:
		case <-f.done:
		case <-silent.Done():
		}
		select {
		case <-f.heard:
		default:
			ctx = silent
		}
		select {
		case <-f.done:
		case <-ctx.Done():
		}
	})
	f.background = true
}

// patience bounds how long a caller waits for a digest, from when it began to. A quarter of the
// caller's own time is left for the page by code.
func (d *Digester) patience(ctx context.Context, began time.Time) (context.Context, context.CancelFunc) {
	until := began.Add(d.o.Digest.Deadline)
	if own, ok := ctx.Deadline(); ok {
		if early := own.Add(-time.Until(own) / 4); early.Before(until) {
			until = early
		}
	}
	return context.WithDeadline(ctx, until)
}

// takeOff notes that a digest is being written, and land that it no longer is.
func (d *Digester) takeOff(background bool) *flight {
	d.flight = &flight{background: background, heard: make(chan struct{}), done: make(chan struct{})}
	return d.flight
}

func (d *Digester) land(f *flight) {
	d.flight = nil
	close(f.done)
}

// fly has a digest written while the session goes on, for as long as one in the background may take.
// The lock is held when it calls write.
func (d *Digester) fly(ctx context.Context, background bool, write func(context.Context, *flight) error) *flight {
	f := d.takeOff(background)
	d.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*d.o.Digest.Deadline)
		defer cancel()
		defer context.AfterFunc(d.ctx, cancel)()
		d.o.Lock.Lock()
		defer d.o.Lock.Unlock()
		defer d.land(f)
		// Whoever could recover from a panic of an observer or a counter is not below us.
		if err := fault.Caught(func() error { return write(ctx, f) }); err != nil {
			d.o.Logger.Warn("a digest could not be prepared", append(fault.Log(err), d.session()...)...)
		}
	})
	return f
}

// session names the session in the log.
func (d *Digester) session() []any { return []any{"session", d.o.Journal.Key().String()} }

// unlocked calls f with the lock free.
func (d *Digester) unlocked(f func()) {
	d.o.Lock.Unlock()
	defer d.o.Lock.Lock()
	f()
}

// Ahead has a digest written in the background if the window is nearly full and the next epoch at red needs
// one, which need finds out; warm then looks through what its page is written from.
func (d *Digester) Ahead(
	ctx context.Context, view int, l fold.Limits,
	need func(ctx context.Context) (*fold.Need, error), warm func(ctx context.Context) error,
) {
	if d.waits() || d.flight != nil || view < l.Yellow || view >= d.looked && view-d.looked < l.Window/20 {
		return
	}
	d.looked = view
	d.fly(ctx, true, func(ctx context.Context, f *flight) error {
		n, err := need(ctx)
		if err != nil || n == nil {
			return err
		}
		d.digest(ctx, *n, f)
		if st := d.o.Journal.State(); st.NewestTold() <= st.EpochSeq {
			return nil
		}
		return warm(ctx)
	})
}

// OriginOf tells how the digest of a fold came to be: by the model whose text it shows, or by code, and
// then why. The digests before known are of earlier epochs.
func (d *Digester) OriginOf(f *fold.Fold, known int) digest.Origin {
	switch f.By {
	case "notes":
		return digest.Origin{Start: f.Start, End: f.End, By: f.By}
	case "model":
		known = 0
	}
	for _, o := range slices.Backward(d.o.Journal.Digests[known:]) {
		if o.By == f.By {
			return o
		}
	}
	o := digest.Origin{Start: f.Start, End: f.End, By: f.By}
	if _, o.Why = d.Can(); d.flight != nil {
		o.Why = "it is still being written"
	}
	if o.Why != "" {
		o.Model = d.o.Digest.Model.ID
	}
	return o
}
