package pleat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/calibrate"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/page"
	"github.com/pleat-dev/pleat/internal/summarizer"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Options set a session up. The zero value works: the default policy, a window of
// [model.DefaultWindow] tokens, exact counting with o200k_base, no observers. Negative numbers
// are refused.
type Options struct {
	Policy fold.Policy // zero: the policy "default"
	// Budget bounds the view. Zero fields: the policy's, else the defaults. A zero Window: the
	// policy's or the model's, whichever is smaller; a Window given here is used as it is.
	Budget fold.Budget
	Model  model.Model // what the session talks to; zero: unknown

	// Wire sets Model, Codecs and Check together, where they are zero: anthropic.Messages,
	// openai.Chat and openai.Responses make one. Zero: there is no wire.
	Wire model.Wire

	// System is the system prompt, which counts and is never touched; empty if the messages
	// begin with it.
	System string
	Tools  []model.Tool // tool definitions, counted once; those of [RecallTools] among them are answered
	Child  bool         // the session of a sub-agent; some levers are for the main conversation only

	Project string     // the folder that the work is in; stored with a new session, for lists of sessions
	Head    fold.Parts // what System and Tools took, of a stored session that is opened without them

	// Memory is about how many bytes of messages the session keeps in memory; 0:
	// 32 MB. Older ones are read from the store when they are needed.
	Memory int

	Tokens tokens.MessageCounter                  // nil: a [tokens.Tokenizer] for the model
	Codecs map[transcript.Format]transcript.Codec // how stored messages of a wire are read back; see [transcript.Codec]

	Digest digest.Options // digests by a model; zero: by code

	// Recall says in a stub how to get content back. Nil: by calling the tool unfold of
	// [RecallTools], if Tools has it; else stubs do not say. A function that returns "" makes
	// stubs without handles.
	Recall func(handle string) string
	// Check refuses views that the wire would refuse, beyond what every wire refuses; nil:
	// there is no wire. The wire packages make one for their format. It is run on the
	// view of every new epoch. Only an error that wraps [transcript.ErrIllegal] means that another
	// view is planned.
	Check func(v transcript.View, t *transcript.Transcript) error
	// KeepFile keeps plain copies where a policy names folders, and returns the name that
	// the copy got: other sessions ask for the same names, and none may overwrite another's
	// file. Names are relative. Nil: no copies are kept, and stubs name handles instead.
	KeepFile func(name string, data []byte) (string, error)

	Hooks Hooks // zero: none
	// Observe gets every [Event], in order, with the context of the call that caused it. It must
	// not call the session; nil: nobody gets them.
	Observe func(ctx context.Context, key store.SessionKey, e Event)
	Logger  *slog.Logger // nil: nothing is logged
	// Stamps entries and times the limits on asking a model; nil: time.Now. No plan depends on it.
	Now func() time.Time
}

// Hooks let a program take part in epochs. They are called in the middle of the session's
// work and must not call the session.
type Hooks struct {
	// BeforeEpoch sees a plan before it is carried out. It can add pins: then the plan is made
	// again with them. It can veto the plan: an epoch that the window forces opens all the same,
	// and whoever asked for one gets an error. Pins that [Session.Pin] would refuse are an error.
	BeforeEpoch func(ctx context.Context, p *fold.Plan) (EpochDecision, error)
	// AfterEpoch sees what was done.
	AfterEpoch func(ctx context.Context, r Report)
}

// EpochDecision is a hook's answer. The zero value lets the epoch open.
type EpochDecision struct {
	Veto bool     // do not open the epoch
	Pins []string // texts to pin first; nil: none
}

// Session owns one conversation: it stores what is said, decides what a model is shown
// of it, and gives back what was folded. It is the only part of the engine with effects.
// It is safe for concurrent use; calls wait for one another.
type Session struct {
	store store.Store
	key   store.SessionKey
	o     Options

	mu    sync.Mutex
	st    *epoch.State
	last  uint64      // number of the newest entry applied
	entry store.Entry // that entry, without its body
	cal   *calibrate.Line
	usd   float64
	sent  int // tokens of the last view that was given out, by our count; 0: none yet
	legal int // length of the transcript when the view in force was last known to be legal; 0: not known
	cap   int // the largest prompt that the provider takes, by its count; 0: not told
	// refusedAt is a prompt that it refused without numbers, so that cap is a guess; 0: it is none.
	refusedAt int
	taken     int // the most that it has answered, or said that it takes, by its count; 0: not known
	refusal   int // tokens of the newest prompt that it refused, by its count; 0: not told

	answered time.Time // when the newest answer of the model was stored

	lead   *leadData // what Sync was given last; nil: as it was stored
	longer int       // tokens that lead has more than what it covers

	turns  []turn   // of the messages that Sync has compared
	synced []uint64 // at the end of each, the look of what a history was seen to have for it; 0: none

	byTools bool         // Options.Recall follows from the tools
	past    []model.Tool // that were there before SetHead

	// fresh are the messages being appended: they need not be read back from the store.
	fresh []newMessage

	pages   *page.Writer
	digests []digest.Origin // how every digest came to be
	dig     digesting

	stillRed int // the epoch under which a warning said that the view stays red, counted from 1
}

// OpenSession opens a session, restoring it if the store has it. Views of a restored
// session are the same bytes as before. Options may be nil.
func OpenSession(ctx context.Context, st store.Store, key store.SessionKey, opts *Options) (*Session, error) {
	s := &Session{store: st, key: key}
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
	s.dig.guard = summarizer.NewGuard(&s.o.Digest, s.o.Now)
	s.dig.ctx, s.dig.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.cal = new(calibrate.Line)
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
		err := s.write(ctx, store.Entry{Kind: store.EntrySession, Data: data})
		if err != nil && !(errors.Is(err, store.ErrConflict) && s.last > 0) { // somebody else has just created it
			return nil, fmt.Errorf("create session %s: %w", key, err)
		}
	}
	return s, nil
}

func (o *Options) check() error {
	for _, f := range []struct {
		name string
		n    int
	}{
		{"Memory", o.Memory},
		{"Model.Window", o.Model.Window},
		{"Model.MaxInput", o.Model.MaxInput},
		{"Head", min(o.Head.System, o.Head.Tools)},
		{"Digest.Tokens", o.Digest.Tokens},
		{"Digest.Deadline", int(o.Digest.Deadline)},
	} {
		if f.n < 0 {
			return fmt.Errorf("%s is %d: leave it zero for the default", f.name, f.n)
		}
	}
	called := make(map[string]int, len(o.Tools))
	for i, t := range o.Tools {
		if t.Name == "" && t.Raw == "" { // a wire has tools of the provider that go by other words
			return fmt.Errorf("tool %d of %d has no name", i+1, len(o.Tools))
		}
		called[t.Name]++
	}
	for _, t := range o.Tools {
		if called[t.Name] > 1 && recall.ToolOf(t) != "" {
			return fmt.Errorf("two tools are called %q: put a prefix before the name of the one from RecallTools",
				t.Name)
		}
	}
	if o.Policy.IsZero() {
		return nil
	}
	return o.Policy.Check(lever.All()...)
}

func (o *Options) fill() error {
	o.fillWire()
	if o.Policy.IsZero() {
		o.Policy = policy.Default()
	}
	if o.Tokens == nil {
		var t tokens.Options
		if n := o.Policy.CharsPerToken; n > 0 {
			t.Counter = tokens.CharsPerToken(n)
		}
		o.Tokens = tokens.NewTokenizer(o.Model, &t)
	}
	if o.Recall == nil {
		o.Recall = o.unfoldCall()
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	summarizer.Fill(&o.Digest, o.Policy.Asks().Breaker, o.Model)
	return o.fillBudget()
}

// unfoldCall is the call of the tool unfold, by the name that it has; empty: there is none.
func (o *Options) unfoldCall() func(handle string) string {
	name := o.named(recall.ToolUnfold)
	if name == "" {
		return func(string) string { return "" }
	}
	prefix := strings.TrimSuffix(name, recall.ToolUnfold)
	return func(handle string) string { return prefix + UnfoldCall(handle) }
}

// named returns the name that the model has for a recall tool; empty: it has none.
func (o *Options) named(tool string) string {
	for _, t := range o.Tools {
		if recall.ToolOf(t) == tool {
			return t.Name
		}
	}
	return ""
}

func (o *Options) fillWire() {
	if o.Model.ID == "" && o.Model.Window == 0 {
		o.Model = o.Wire.Model
	}
	if o.Check == nil {
		o.Check = o.Wire.Check
	}
	if o.Wire.Codec != nil && o.Codecs[o.Wire.Format] == nil {
		codecs := map[transcript.Format]transcript.Codec{o.Wire.Format: o.Wire.Codec}
		maps.Copy(codecs, o.Codecs)
		o.Codecs = codecs
	}
}

// fillBudget works the budget out that the policy and the model leave.
func (o *Options) fillBudget() error {
	if err := o.Budget.Check(); err != nil {
		return fmt.Errorf("budget: %w", err)
	}
	window := o.Budget.Window
	o.Budget = o.Budget.Or(o.Policy.Budget)
	if m := o.Model.Window; window == 0 && m > 0 && (o.Budget.Window == 0 || o.Budget.Window > m) {
		o.Budget.Window = m // a policy's window is no larger than the model's
	}
	if l := o.Budget.Limits(); o.Model.MaxInput > 0 && l.Max > o.Model.MaxInput {
		o.Budget.Output = fold.Tokens(l.Window - o.Model.MaxInput) // the rest of the window is for the answer alone
	}
	merged := fold.Budget{Window: o.Budget.Window, Output: o.Budget.Output} // levels of two hands may cross
	if err := merged.Check(); err != nil {
		return fmt.Errorf("budget: %w", err)
	}
	return nil
}

func (o *Options) headParts() fold.Parts {
	if o.System == "" && len(o.Tools) == 0 {
		return o.Head
	}
	var p fold.Parts
	if o.System != "" {
		p.System = o.Tokens.CountText(o.System)
	}
	if t, ok := o.Tokens.(interface{ CountTools([]model.Tool) int }); ok && len(o.Tools) > 0 {
		p.Tools = t.CountTools(o.Tools)
	}
	return p
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
	if s.o.Budget = o.Budget; s.refusedAt > 0 || b.Window > s.cap {
		s.cap, s.refusedAt = 0, 0
	}
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
func (s *Session) Reported(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.theirs(n)
}

// Message returns message i of the transcript, counted from 0, or [ErrNotFound]. In place of a
// message whose stored bytes are damaged it returns one that says so; a store that cannot be read
// is an error.
func (s *Session) Message(ctx context.Context, i int) (transcript.Message, error) {
	s.mu.Lock()
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
	s.mu.Lock()
	defer s.mu.Unlock()
	msgs, err := s.resolve(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("resolve view of session %s: %w", s.key, err)
	}
	return msgs, nil
}

func (s *Session) resolve(ctx context.Context, v transcript.View) (msgs []transcript.Message, err error) {
	for i, m := range v.Messages {
		if m.Source >= s.st.Len() {
			return nil, fmt.Errorf("message %d: %w", i, transcript.ErrBadView)
		}
	}
	err = s.st.Reading(ctx, func(t *transcript.Transcript) (err error) {
		msgs, err = v.Resolve(t.At)
		return err
	})
	return msgs, err
}

// Append adds messages. When it returns they are durable. Results that are too
// large are spilled on the way, as the policy says. If another process wrote to the session
// meanwhile, the session takes in what it wrote and returns [ErrConflict]; if it deleted the
// session, [ErrNotFound]: then open it again. Messages are written several
// at a time, in order, and one whose results may be spilled begins a write of its own: an
// error is an [*AppendError], which says how many were added before it. Calls that a crash left
// without a result get one by [Session.Repair].
func (s *Session) Append(ctx context.Context, msgs ...transcript.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(ctx, msgs)
}

// append adds messages and, in the same write as the last of them, further entries.
func (s *Session) append(ctx context.Context, msgs []transcript.Message, more ...store.Entry) error {
	done := 0
	var b appendBatch
	flush := func() error {
		err := s.appendBatch(ctx, &b)
		if err == nil {
			done += len(b.fresh)
			b = appendBatch{}
		}
		return err
	}
	for rest := msgs; len(rest) > 0; {
		some := s.prepareSome(rest)
		rest = rest[len(some):]
		for _, n := range some {
			err := n.err
			if err == nil {
				err = s.join(ctx, &b, n.newMessage, flush)
			} else if again := flush(); again != nil {
				err = again
			}
			if err != nil {
				return &AppendError{s.key, done, len(msgs), err}
			}
		}
	}
	b.entries = append(b.entries, more...)
	if err := flush(); err != nil {
		return &AppendError{s.key, done, len(msgs), err}
	}
	return nil
}

type appendBatch struct {
	entries []store.Entry
	fresh   []newMessage
	spilled []*fold.Fold
	bytes   int
	results int // bytes of the results right before the next message, at least
}

// resultsBefore returns how many bytes the results at the end of the transcript have.
func (s *Session) resultsBefore() (n int) {
	facts := s.st.Facts()
	for i := len(facts) - 1; i >= 0 && facts.Has(i, transcript.KindToolResult); i-- {
		for k := range facts[i].Blocks {
			n += int(facts[i].Blocks[k].Bytes)
		}
	}
	return n
}

// batchBytes is how much is written at a time, about.
const batchBytes = 8 << 20

// join adds a message to a write. Spilling is decided on a message that is not recorded
// yet but knows all before it, so a message that may have to spill begins a write. Message
// and fold reach the store together: a message whose spill was lost would go out whole.
func (s *Session) join(ctx context.Context, b *appendBatch, n newMessage, flush func() error) error {
	results := b.results
	if len(b.entries) == 0 {
		results = s.resultsBefore()
	}
	size := func(block int) int { return n.shapes[block].Bytes + results }
	spills, err := s.o.Policy.MayFoldAtBirth(n.m, size, s.birthLimits())
	if err != nil {
		return err
	}
	if spills || b.bytes > batchBytes {
		if err := flush(); err != nil {
			return err
		}
	}
	b.entries, b.fresh = append(b.entries, n.entry), append(b.fresh, n)
	b.bytes += len(n.entry.Body) + len(n.entry.Text)
	if b.results = 0; n.m.Blocks().Has(transcript.KindToolResult) {
		b.results = results + len(n.entry.Body)
	}
	if !spills {
		return nil
	}
	return s.spill(ctx, b, n.m)
}

func (s *Session) appendBatch(ctx context.Context, b *appendBatch) error {
	if len(b.entries) == 0 {
		return nil
	}
	s.fresh = b.fresh
	defer func() { s.fresh = nil }()
	if err := s.write(ctx, b.entries...); err != nil {
		return err
	}
	for _, f := range b.spilled {
		s.tell(ctx, Event{Kind: EventSpill, Fold: f})
	}
	return nil
}

// spill adds the folds of a message's large results, if there are any.
func (s *Session) spill(ctx context.Context, b *appendBatch, m transcript.Message) error {
	o := fold.BirthOptions{
		Limits: s.birthLimits(), Folds: len(s.st.Folds), In: s.st.Layout.In, Recall: s.st.Layout.Recall,
	}
	if s.o.KeepFile != nil {
		o.Keep = func(name, text string) string { return s.keepFile(ctx, name, text) }
	}
	var err error
	if b.spilled, err = fold.AtBirth(s.st, m, &s.o.Policy, o); err != nil || len(b.spilled) == 0 {
		return err
	}
	data, err := json.Marshal(foldData{Folds: b.spilled})
	if err != nil {
		return fmt.Errorf("encode folds: %w", err)
	}
	b.entries = append(b.entries, store.Entry{Kind: store.EntryFold, Data: data})
	return nil
}

// keepFile keeps a plain copy. What is copied is in the store, so work goes on without the copy.
func (s *Session) keepFile(ctx context.Context, name, text string) string {
	kept, err := s.o.KeepFile(name, []byte(text))
	if err != nil {
		s.warn(ctx, Event{Warning: fmt.Sprintf("%s could not be written, the store has it: %v", name, err)})
		return ""
	}
	return kept
}

// write stores entries and, once they are durable, takes them in.
func (s *Session) write(ctx context.Context, entries ...store.Entry) error {
	now := s.o.Now()
	for i := range entries {
		entries[i].Time = now
	}
	last, err := s.store.Append(ctx, s.key, s.last, entries...)
	if err != nil {
		if errors.Is(err, store.ErrConflict) {
			s.fresh = nil // what is read now is somebody else's
			if again := s.refresh(ctx); again != nil {
				err = again // trying again is of no use
			}
		}
		if ctx.Err() == nil { // else it is the caller who stopped
			s.tell(ctx, Event{Kind: EventError, Err: err})
		}
		return err
	}
	for i := range entries {
		entries[i].Seq = last - uint64(len(entries)-1-i)
		if err := s.take(ctx, entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// take takes in the next entry.
func (s *Session) take(ctx context.Context, e store.Entry) error {
	if err := s.apply(ctx, e); err != nil {
		return err
	}
	s.last, s.entry = e.Seq, store.Entry{Kind: e.Kind, Label: e.Label, Time: e.Time, Data: e.Data}
	return nil
}

// isNewest reports whether an entry is the newest that was taken in.
func (s *Session) isNewest(e store.Entry) bool {
	return e.Kind == s.entry.Kind && e.Label == s.entry.Label && e.Time.UnixMilli() == s.entry.Time.UnixMilli() &&
		bytes.Equal(e.Data, s.entry.Data)
}

// maxConflicts is how often something is tried again because others wrote meanwhile.
const maxConflicts = 100

// put writes an entry that does not depend on what others write: it is written after
// theirs.
func (s *Session) put(ctx context.Context, e store.Entry) error {
	for try := 0; ; try++ {
		if err := s.write(ctx, e); !errors.Is(err, store.ErrConflict) || try == maxConflicts {
			return err
		}
	}
}

// refresh takes in entries that were written since the session last looked. If its newest
// entry is no longer there, somebody has deleted the session, and perhaps begun another under
// its name: the error is [store.ErrNotFound].
func (s *Session) refresh(ctx context.Context) error {
	there := s.last == 0
	for e, err := range s.store.Scan(ctx, s.key, max(s.last, 1)) {
		if err != nil {
			return err
		}
		if e.Seq == s.last && !there {
			if there = s.isNewest(e); !there {
				break
			}
			continue
		}
		if err := s.take(ctx, e); err != nil {
			return err
		}
	}
	if !there {
		return fmt.Errorf("entry %d is gone, the session was deleted: open it again: %w", s.last, store.ErrNotFound)
	}
	return nil
}

// most is the largest view that may be sent, in our own tokens.
func (s *Session) most() int { return max(s.limits().Max, s.sure()) }

// limits are the levels in our own tokens.
func (s *Session) limits() fold.Limits { return s.inOwnTokens(s.levels()) }

func (s *Session) inOwnTokens(l fold.Limits) fold.Limits {
	if s.cal.Samples() == 0 {
		return l
	}
	e := func(n int) int { return max(s.cal.Estimate(n), n/8, 1) } // less is no estimate, but a false report
	return fold.Limits{Target: e(l.Target), Yellow: e(l.Yellow), Red: e(l.Red), Max: e(l.Max), Window: e(l.Window)}
}

// birthLimits are those by which a result is too large to be shown at all. A refusal does not
// change them: where less room is left, a result that nobody has seen goes last.
func (s *Session) birthLimits() fold.Limits { return s.inOwnTokens(s.o.Budget.Limits()) }

// Snapshot reads the meter. It costs the same whatever the length of the session.
func (s *Session) Snapshot() fold.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot()
}

func (s *Session) snapshot() fold.Snapshot {
	l := s.levels()
	snap := fold.Snapshot{
		Parts: s.st.Parts, Tokens: s.st.Parts.Total(), Whole: s.whole(),
		Limits: l, Messages: s.st.Count + s.leads(), Epoch: s.st.Epoch,
	}
	snap.Tokens, snap.Whole = s.theirs(snap.Tokens), s.theirs(snap.Whole)
	snap.Utilization = float64(snap.Tokens) / float64(l.Window)
	snap.State = l.State(snap.Tokens)
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
	s.o.Logger.Warn(e.Warning, "session", s.key.String())
}

func (s *Session) tell(ctx context.Context, e Event) {
	if s.o.Observe != nil {
		e.Time = s.o.Now()
		s.o.Observe(ctx, s.key, e)
	}
}
