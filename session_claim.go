package pleat

import (
	"context"
	"errors"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
)

// claimDigest is what a process claims before it asks for a digest. The claim is short and taken
// again and again, so that nobody waits long for a process that died.
const (
	claimDigest = "digest"
	claimTime   = 15 * time.Second
)

// claim makes sure that no other process asks for a digest of the session, and returns nil if one
// does. Who waits for the digest waits for the other's as well. The lock is held, and free while
// it waits.
func (s *Session) claim(ctx context.Context, need fold.Need, background bool) *held {
	c, has := s.store.(store.Claimer)
	if !has {
		return new(held)
	}
	h := &held{s: s, c: c}
	known := s.st.NewestTold()
	for {
		var free bool
		s.unlocked(func() { free = h.take(ctx) })
		if free {
			h.keep(ctx)
			return h
		}
		if background {
			return nil
		}
		s.unlocked(func() { pause(ctx, 250*time.Millisecond) })
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r := s.asked(need, false)
			r.By, r.Why = "code", "another process is writing it, and has not finished"
			s.warn(ctx, Event{Digest: r, Warning: r.Unwritten()})
		}
		if ctx.Err() != nil || s.refresh(ctx) != nil || s.st.NewestTold() != known {
			return nil
		}
	}
}

// asked is the origin of a digest that a model is asked for.
func (s *Session) asked(need fold.Need, background bool) *digest.Origin {
	return &digest.Origin{
		Start: need.Start, End: need.End, Model: s.o.Digest.Model.ID, Focus: need.Focus, Background: background,
	}
}

// held is a claim that the session has. The zero value is that of a store without claims.
type held struct {
	s       *Session
	c       store.Claimer
	release func(context.Context) error // nil: it could not be claimed
	stop    context.CancelFunc
	done    chan struct{}
}

// take claims the digest for claimTime. A store that fails does not keep anybody from asking:
// asking twice is dearer than asking once, but not wrong.
func (h *held) take(ctx context.Context) bool {
	release, ok, err := h.c.Claim(ctx, h.s.key, claimDigest, claimTime)
	if err != nil {
		h.s.o.Logger.Warn("a digest could not be claimed", "session", h.s.key.String(), "err", err)
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
		h.s.o.Logger.Warn("a claim could not be released; it ends by itself", "session", h.s.key.String(), "err", err)
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
