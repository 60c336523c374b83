package pleat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/internal/page"
	"github.com/pleat-dev/pleat/internal/summarizer"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Session owns one conversation: it stores what is said, decides what a model is shown
// of it, and gives back what was folded. It is the only part of the engine with effects.
// It is safe for concurrent use; calls wait for one another, those that return an error until
// their context ends.
type Session struct {
	store store.Store
	key   store.SessionKey
	o     Options

	mu    lock
	st    *epoch.State
	last  uint64      // number of the newest entry applied
	entry store.Entry // that entry, without its body
	meter *meter.Meter
	legal int // length of the transcript when the view in force was last known to be legal; 0: not known

	answered  time.Time // when the newest answer of the model was stored
	heard     time.Time // when the newest message was
	elsewhere bool      // a view was answered before the session was opened here, or in another process

	lead   *leadData // what Sync was given last; nil: as it was stored
	longer int       // tokens that lead has more than what it covers

	forks bool // the newest Sync made a fork

	byTools bool         // Options.Recall follows from the tools
	past    []model.Tool // that were there before SetHead

	// edited are the messages of the last resolved view of which a part is folded, so that their
	// originals, which may be large, are not read for each view.
	edited map[int]transcript.ViewMessage

	// fresh are the messages being appended: they need not be read back from the store.
	fresh []newMessage

	pages   *page.Writer
	digests []digest.Origin // how every digest came to be
	dig     *digesting

	stillRed *redView // the newest that a warning told of; nil: none
	failing  []string // the levers that a warning told of
}

// OpenSession opens a session, restoring it if the store has it. Views of a restored
// session are the same bytes as before. Options may be nil.
func OpenSession(ctx context.Context, st store.Store, key store.SessionKey, opts *Options) (*Session, error) {
	s := &Session{store: st, key: key, mu: lock{held: make(chan struct{}, 1)}}
	if opts != nil {
		s.o = *opts
	}
	switch {
	case fault.IsNil(st):
		return nil, errors.New(
			"open session: the store is nil: use store.NewMemory() or one that keeps sessions on disk")
	case key.Session == "":
		return nil, errors.New("open session: the key has no session name")
	}
	if err := s.o.check(); err != nil {
		return nil, fmt.Errorf("open session %s: %w", key, &fault.Options{Err: err})
	}
	given := s.o.Budget
	s.byTools = s.o.Recall == nil
	if err := s.o.fill(); err != nil {
		return nil, fmt.Errorf("open session %s: %w", key, &fault.Options{Err: err})
	}
	s.dig = &digesting{guard: summarizer.NewGuard(&s.o.Digest, s.o.Now)}
	s.dig.ctx, s.dig.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.meter = meter.New(s.o.Model, s.o.Budget)
	c := conv.New(s.o.Tokens, conv.NewContents(st, key, s.o.Codecs, s.o.Memory))
	if s.pages = page.NewWriter(c); s.byTools {
		s.pages.Named = s.o.named
	}
	s.st = epoch.New(c, s.o.headParts())
	s.st.Policy = &s.o.Policy
	s.st.Layout.Recall, s.st.Layout.ThinkFirst = s.recall(), s.o.Model.Thinking.First
	s.st.Silent = s.o.Model.Thinking.Bound && s.o.Model.Thinking.Silent
	if err := s.refresh(ctx); err != nil {
		return nil, fmt.Errorf("open session %s: %w", key, err)
	}
	if s.last == 0 {
		given.Window = cmp.Or(given.Window, s.o.Model.Window)
		data, _ := json.Marshal(sessionData{
			Version: 1, Policy: s.o.Policy.Name, Model: s.o.Model.ID, Project: s.o.Project, Budget: given,
			Head: s.o.headParts(),
		})
		entries := []store.Entry{{Kind: store.EntrySession, Data: data}}
		if s.o.Before != "" {
			data, _ := json.Marshal(leadOf(s.o.Before))
			entries = append(entries, store.Entry{Kind: store.EntrySystem, Data: data})
		}
		err := s.write(ctx, entries...)
		if err != nil && !(errors.Is(err, store.ErrConflict) && s.last > 0) { // somebody else has just created it
			return nil, fmt.Errorf("create session %s: %w", key, err)
		}
	}
	return s, nil
}

// Key names the session.
func (s *Session) Key() store.SessionKey { return s.key }

// SetBudget changes the budget from the next view on, as [Options].Budget would have set it.
// What was only guessed from a refusal without numbers is forgotten, and so is the size that the
// provider said it takes, if b has a larger Window. With an error the budget stays.
func (s *Session) SetBudget(b fold.Budget) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.o
	o.Budget = b
	if err := o.fillBudget(); err != nil {
		return fmt.Errorf("set budget of session %s: %w", s.key, err)
	}
	s.o.Budget = o.Budget
	s.meter.SetBudget(o.Budget, b.Window)
	return nil
}

// Len is the number of messages.
func (s *Session) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.Len()
}

// LastAnswer is when the newest answer of the model was stored; zero: there is none.
func (s *Session) LastAnswer() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered
}

// Tokens counts messages start ≤ i < end as they came, whatever is folded of them. A place
// outside of the conversation is taken for its nearest end.
func (s *Session) Tokens(start, end int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.Facts().Tokens(max(start, 0), min(end, s.st.Len()))
}

// Reported is what the provider would report for a prompt of n tokens by the session's own count,
// judging by what it reported so far: a [fold.Snapshot] has the provider's tokens, but its parts do not.
func (s *Session) Reported(n int) tokens.Reported {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meter.Reported(n)
}

// Message returns message i of the transcript, counted from 0, or [ErrNotFound]. In place of a
// message whose stored bytes are damaged it returns one that says so; a store that cannot be read
// is an error.
func (s *Session) Message(ctx context.Context, i int) (transcript.Message, error) {
	if err := s.wait(ctx); err != nil {
		return transcript.Message{}, err
	}
	defer s.mu.Unlock()
	if i < 0 || i >= s.st.Len() {
		const none = "read message %d of session %s, which has %d: %w"
		return transcript.Message{}, fmt.Errorf(none, i, s.key, s.st.Len(), ErrNotFound)
	}
	m, err := s.st.Message(ctx, i)
	if err != nil {
		return transcript.Message{}, fmt.Errorf("read session %s: %w", s.key, err)
	}
	return m, nil
}

// Resolve applies a view of this session: it returns the messages to send, damaged ones as
// [Session.Message] does. A store that cannot be read is an error, and so is a view of another
// session that does not fit.
func (s *Session) Resolve(ctx context.Context, v transcript.View) ([]transcript.Message, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	msgs, err := s.resolve(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("resolve view of session %s: %w", s.key, err)
	}
	return msgs, nil
}

func (s *Session) resolve(ctx context.Context, v transcript.View) (msgs []transcript.Message, err error) {
	known := make(map[int]transcript.ViewMessage)
	fresh := make(map[int]int) // edited messages that are not known, and where they are in the view
	given := v.Messages
	for i, m := range given {
		if m.Source >= s.st.Len() {
			return nil, fmt.Errorf("message %d: %w", i, transcript.ErrBadView)
		}
		if len(m.Edits) == 0 || m.Source < 0 {
			continue
		}
		e, ok := s.edited[m.Source]
		if !ok || !slices.Equal(e.Edits, m.Edits) {
			fresh[m.Source] = i
			continue
		}
		if len(known) == 0 {
			v.Messages = slices.Clone(given)
		}
		known[m.Source], v.Messages[i] = e, transcript.ViewMessage{Source: -1, Made: e.Made}
	}
	err = s.st.Reading(ctx, func(t *transcript.Transcript) (err error) {
		msgs, err = v.Resolve(func(i int) transcript.Message {
			m := t.At(i)
			if m.Raw() != "" { // what is left of it is a part of the raw bytes, and would keep them
				delete(fresh, i)
			}
			return m
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	for source, i := range fresh {
		known[source] = transcript.ViewMessage{Edits: given[i].Edits, Made: msgs[i]}
	}
	s.edited = known
	return msgs, nil
}

// Snapshot reads the meter. It costs the same whatever the length of the session.
func (s *Session) Snapshot() fold.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot()
}

func (s *Session) snapshot() fold.Snapshot {
	snap := s.meter.Snapshot(s.st.Parts, s.whole())
	snap.Messages, snap.Epoch = s.st.Count+s.leads(), s.st.Epoch
	if n := len(s.st.History); n > 0 {
		snap.Trigger = s.st.History[n-1].Trigger
	}
	return snap
}

// whole counts what the whole transcript would take, before correction.
func (s *Session) whole() int { return s.st.Layout.Head.Total() + s.st.Whole() }

// warn says that the session goes on, but not as it should, to observers and to the log.
func (s *Session) warn(ctx context.Context, e Event) {
	e.Kind = EventWarning
	s.tell(ctx, e)
	args := []any{"session", s.key.String()}
	if e.Plan != nil && len(e.Plan.Refused) > 0 {
		args = append(args, "refused", e.Plan.Refused)
	}
	s.o.Logger.Warn(e.Warning, args...)
}

func (s *Session) tell(ctx context.Context, e Event) {
	if s.o.Observe != nil {
		e.Time = s.o.Now()
		s.mu.lend(func() { s.o.Observe(ctx, s.key, e) })
	}
}
