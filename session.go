package pleat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/digester"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/internal/page"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Session owns one conversation: it stores what is said, decides what a model is shown
// of it, and gives back what was folded. Everything else in the engine is pure.
// It is safe for concurrent use: calls are serialized. Methods that return an error stop waiting when
// their context ends.
//
// Its parts can be read alone: the journal is the only way in, the state is what entries make of the
// conversation, the meter counts, the digester asks a model, and code writes the pages. Methods whose names
// end in Locked need the lock.
type Session struct {
	o        *Options                         // filled in; SetHead and SetBudget change it
	mu       *lock                            // of the session, whichever it moves to
	key      atomic.Pointer[store.SessionKey] // Sync changes it
	say      voice
	journal  *journal.Journal
	st       *epoch.State
	meter    *meter.Meter
	digester *digester.Digester
	pages    *page.Writer
	warned   warned
	shown    shown
}

// shown is what the session remembers of the newest views.
type shown struct {
	backs int // how often messages were taken back then: what was known before no longer holds
	legal legality

	// edited are the messages of the last resolved view of which a part is folded, so that their
	// originals, which may be large, are not read for each view.
	edited map[int]transcript.ViewMessage
}

// shownLocked returns it, empty if messages were taken back since.
func (s *Session) shownLocked() *shown {
	if s.shown.backs != s.st.Backs {
		s.shown = shown{backs: s.st.Backs}
		s.pages.Forget()
	}
	return &s.shown
}

// OpenSession opens a session, restoring it if the store has it. Views of a restored
// session are the same bytes as before. Options may be nil.
func OpenSession(ctx context.Context, st store.Store, key store.SessionKey, opts *Options) (*Session, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	switch {
	case fault.IsNil(st):
		return nil, errors.New(
			"open session: the store is nil: use store.NewMemory() or one that keeps sessions on disk")
	case key.Session == "":
		return nil, errors.New("open session: the key has no session name")
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("open session %s: %w", key, &fault.Options{Err: err})
	}
	given := o.Budget
	if err := o.fill(); err != nil {
		return nil, fmt.Errorf("open session %s: %w", key, &fault.Options{Err: err})
	}
	return open(ctx, st, key, &o, given, &lock{held: make(chan struct{}, 1)})
}

// open opens a session with options that are filled in; the lock is not needed.
func open(
	ctx context.Context, st store.Store, key store.SessionKey, o *Options, given fold.Budget, mu *lock,
) (*Session, error) {
	s := newSession(ctx, st, key, o, mu)
	if err := s.journal.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("open session %s: %w", key, err)
	}
	if s.journal.Last() > 0 {
		return s, nil
	}
	given.Window = cmp.Or(given.Window, o.Model.Window)
	err := s.journal.Create(ctx, journal.Session{
		Policy: o.Policy.Name, Model: o.Model.ID, Project: o.Project, Budget: given, Head: o.headParts(),
	}, o.Before)
	if err != nil && !(errors.Is(err, store.ErrConflict) && s.journal.Last() > 0) { // somebody else has just created it
		return nil, fmt.Errorf("create session %s: %w", key, err)
	}
	return s, nil
}

// newSession puts the parts of a session together, which have taken in nothing yet.
func newSession(ctx context.Context, st store.Store, key store.SessionKey, o *Options, mu *lock) *Session {
	c := conv.New(o.Tokens, conv.NewContents(st, key, o.Codecs, o.Memory))
	pages, state, gauge := page.NewWriter(c), epoch.New(c, o.headParts()), meter.New(o.Model, o.Budget)
	if pages.ReadFile = o.ReadFile; o.byTools {
		pages.Named = o.named
	}
	thinking := o.Model.Thinking
	state.Binds, state.Silent = thinking.Bound, thinking.Bound && thinking.Silent
	state.Layout.Recall, state.Layout.ThinkFirst = o.Recall, thinking.First
	say := voice{key, o, mu}
	entries := journal.New(journal.Options{
		Store: st, Key: key, State: state, Meter: gauge, Codecs: o.Codecs, Now: o.Now,
		Warn:   func(ctx context.Context, warning string) { say.warn(ctx, Event{Warning: warning}) },
		Failed: func(ctx context.Context, err error) { say.tell(ctx, Event{Kind: EventError, Err: err}) },
	})
	writer := digester.New(ctx, digester.Options{
		Digest: o.Digest, Live: o.Model, AsIs: o.Policy.Asks().AsIs, Journal: entries, Lock: mu, Now: o.Now,
		Rates:   func() model.Rates { return gauge.Rates(state.Parts.Total()) },
		Head:    func() (string, []model.Tool) { return o.System, o.Tools },
		Logger:  o.Logger,
		Writing: func(ctx context.Context, d *digest.Origin) { say.tell(ctx, Event{Kind: EventWriting, Digest: d}) },
		Written: func(ctx context.Context, d *digest.Origin) { say.tell(ctx, Event{Kind: EventDigest, Digest: d}) },
		Warn: func(ctx context.Context, d *digest.Origin, warning string) {
			say.warn(ctx, Event{Digest: d, Warning: warning})
		},
	})
	s := &Session{
		o: o, mu: mu, say: say, journal: entries, st: state, meter: gauge, digester: writer, pages: pages,
	}
	s.key.Store(&key)
	return s
}

// voice reports what happens in a session to observers and to the log.
type voice struct {
	key store.SessionKey
	o   *Options
	mu  *lock
}

func (v voice) tell(ctx context.Context, e Event) {
	if v.o.Observe != nil {
		e.Time = v.o.Now()
		v.mu.lend(func() { v.o.Observe(ctx, v.key, e) })
	}
}

// warn says that the session goes on, but not as it should, to observers and to the log.
func (v voice) warn(ctx context.Context, e Event) {
	e.Kind = EventWarning
	v.tell(ctx, e)
	args := []any{"session", v.key.String()}
	if e.Plan != nil && len(e.Plan.Refused) > 0 {
		args = append(args, "refused", e.Plan.Refused)
	}
	v.o.Logger.Warn(e.Warning, args...)
}

// Key names the session.
func (s *Session) Key() store.SessionKey { return *s.key.Load() }

// Close ends the session's background work and waits for it. The session can still be
// used, but prepares no more digests. The store is not closed.
func (s *Session) Close() error {
	held(s, func() *digester.Digester { return s.digester }).Close()
	return nil
}

// Refresh takes in what other processes wrote to the session since it last looked.
func (s *Session) Refresh(ctx context.Context) error {
	return s.locked(ctx, func() error {
		if err := s.journal.Refresh(ctx); err != nil {
			return fmt.Errorf("refresh session %s: %w", s.Key(), err)
		}
		return nil
	})
}

// SetBudget changes the budget from the next view on, as [Options].Budget would have set it.
// It forgets a guess from a refusal without numbers and, if b has a larger Window, the largest prompt that the
// provider said it accepts. After an error the budget is unchanged.
func (s *Session) SetBudget(b fold.Budget) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := *s.o
	o.Budget = b
	if err := o.fillBudget(); err != nil {
		return fmt.Errorf("set budget of session %s: %w", s.Key(), err)
	}
	s.o.Budget = o.Budget
	s.meter.SetBudget(o.Budget, b.Window)
	return nil
}

// SetHead sets the system prompt and the tools of requests from now on, and counts them anew. It is not
// stored. Calls by the earlier names of recall tools are still answered, since stubs name them.
func (s *Session) SetHead(system string, tools []model.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.setHead(system, tools)
	s.st.Layout.Recall = s.o.Recall
	s.st.SetHead(s.o.headParts())
}

// Len is the number of messages.
func (s *Session) Len() int {
	return held(s, func() int { return s.st.Len() })
}

// Tokens counts messages start ≤ i < end unfolded, in pleat's own tokens. Indexes outside of the
// conversation are moved to its nearest end.
func (s *Session) Tokens(start, end int) int {
	return held(s, func() int { return s.st.Facts().Tokens(max(start, 0), min(end, s.st.Len())) })
}

// Snapshot reads the meter, in tokens as the provider reports them. Its cost does not depend on the
// length of the session.
func (s *Session) Snapshot() fold.Snapshot { return held(s, s.snapshotLocked) }

func (s *Session) snapshotLocked() fold.Snapshot {
	snap := s.meter.Snapshot(s.st.Parts, s.st.WholeView())
	snap.Messages, snap.Epoch = s.st.Shown(), s.st.Epoch
	if n := len(s.st.History); n > 0 {
		snap.Trigger = s.st.History[n-1].Trigger
	}
	return snap
}
