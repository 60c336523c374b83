package digester

import (
	"context"
	"errors"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
)

// claimDigest is what a process claims before it asks for a digest. The claim is short and taken
// again and again, so that nobody waits long for a process that died.
const (
	claimDigest = "digest"
	claimTime   = 15 * time.Second
	// claimPoll is how often a claim is tried for that another has. It does not divide the time after which
	// claims are taken again, so that the two do not meet each time.
	claimPoll = 270 * time.Millisecond
)

// claim makes sure that no other process asks for a digest of the session, and returns nil if one
// does. Who waits for the digest waits for the other's as well. The lock is held, and free while
// it waits.
func (d *Digester) claim(ctx context.Context, need fold.Need, background bool) *held {
	c, has := d.o.Journal.Store().(store.Claimer)
	if !has {
		return new(held)
	}
	h, st := &held{d: d, c: c}, d.o.Journal.State()
	known := st.NewestTold()
	for {
		var free bool
		d.unlocked(func() { free = h.take(ctx) })
		if free {
			h.keep(ctx)
			return h
		}
		if background {
			return nil
		}
		d.unlocked(func() { pause(ctx, claimPoll) })
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			o := d.asked(need, false)
			o.By, o.Why = "code", "another process is writing it, and has not finished"
			d.o.Warn(ctx, o, o.Unwritten())
		}
		if ctx.Err() != nil || d.o.Journal.Refresh(ctx) != nil || st.NewestTold() != known {
			return nil
		}
	}
}

// held is a claim that the session has. The zero value is that of a store without claims.
type held struct {
	d       *Digester
	c       store.Claimer
	release func(context.Context) error // nil: it could not be claimed
	stop    context.CancelFunc
	done    chan struct{}
}

// take claims the digest for claimTime. A store that fails does not keep anybody from asking:
// asking twice is dearer than asking once, but not wrong.
func (h *held) take(ctx context.Context) bool {
	release, ok, err := h.c.Claim(ctx, h.d.o.Journal.Key(), claimDigest, claimTime)
	if err != nil {
		h.d.o.Logger.Warn("a digest could not be claimed", append(h.d.session(), "err", err)...)
		return true
	}
	h.release = release
	return ok
}

// keep has the claim taken again in time, until end is called.
func (h *held) keep(ctx context.Context) {
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.done = make(chan struct{})
	go func() {
		defer close(h.done)
		for pause(ctx, claimTime/3) {
			h.drop(ctx)
			h.take(ctx) // if another was faster, both ask
		}
		h.drop(context.WithoutCancel(ctx))
	}()
}

func (h *held) drop(ctx context.Context) {
	if h.release == nil {
		return
	}
	if err := h.release(ctx); err != nil {
		h.d.o.Logger.Warn("a claim could not be released; it ends by itself", append(h.d.session(), "err", err)...)
	}
	h.release = nil
}

// end releases the claim.
func (h *held) end() {
	if h.stop != nil {
		h.stop()
		<-h.done
	}
}

// pause waits, and reports whether the context lasted.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
