package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

var (
	counter = tokens.NewTokenizer(model.Model{}, nil)
	key     = store.SessionKey{Session: "s"}
	codecs  = map[transcript.Format]transcript.Codec{transcript.FormatAnthropic: anthropic.DecodeMessage}
)

// hooked is a store that can be made to fail, and to do something before it writes.
type hooked struct {
	*store.Memory
	before func(e []store.Entry) error
	wrote  func()
	body   func(h transcript.Hash) error
}

func (s *hooked) Append(ctx context.Context, k store.SessionKey, last uint64, e ...store.Entry) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.before != nil {
		if err := s.before(e); err != nil {
			return 0, err
		}
	}
	if s.wrote != nil {
		defer s.wrote()
	}
	return s.Memory.Append(ctx, k, last, e...)
}

func (s *hooked) Body(ctx context.Context, k store.SessionKey, h transcript.Hash) ([]byte, error) {
	if s.body != nil {
		if err := s.body(h); err != nil {
			return nil, err
		}
	}
	return s.Memory.Body(ctx, k, h)
}

// Shared is Body, so that it fails as well.
func (s *hooked) Shared(ctx context.Context, k store.SessionKey, h transcript.Hash) ([]byte, error) {
	return s.Body(ctx, k, h)
}

// opened is a journal with what it changes, and what was told of it.
type opened struct {
	*journal.Journal
	st     *epoch.State
	meter  *meter.Meter
	now    time.Time
	warned []string
	failed []error
}

// openKey opens a journal without having it look into the store.
func openKey(st store.Store, k store.SessionKey, codecs map[transcript.Format]transcript.Codec) *opened {
	o := &opened{
		st:    epoch.New(conv.New(counter, conv.NewContents(st, k, codecs, 0)), fold.Parts{System: 50}),
		meter: meter.New(model.Model{ID: "m"}, fold.Budget{Window: 100_000}), now: time.Unix(1e9, 0),
	}
	o.Journal = journal.New(journal.Options{
		Store: st, Key: k, State: o.st, Meter: o.meter, Codecs: codecs,
		Now:    func() time.Time { return o.now },
		Warn:   func(_ context.Context, w string) { o.warned = append(o.warned, w) },
		Failed: func(_ context.Context, err error) { o.failed = append(o.failed, err) },
	})
	return o
}

// open opens the journal of these tests, with all that is in the store.
func open(t *testing.T, st store.Store) *opened {
	t.Helper()
	o := openKey(st, key, codecs)
	must(t, o.Refresh(t.Context()))
	return o
}

var must = difftest.Must

// spill folds results of more than so many bytes at birth; 0: none.
func (o *opened) spill(bytes int) journal.Birth {
	large := func(b transcript.Block) bool {
		return b.Kind() == transcript.KindToolResult && len(transcript.BlockText(b)) > bytes
	}
	return journal.Birth{
		May: func(_ context.Context, m transcript.Message, _ func(int) int) bool {
			for _, b := range m.Blocks().All() {
				if bytes > 0 && large(b) {
					return true
				}
			}
			return false
		},
		Fold: func(_ context.Context, m transcript.Message) (folds []*fold.Fold, err error) {
			for i, b := range m.Blocks().All() {
				if large(b) {
					folds = append(folds, &fold.Fold{
						ID: len(o.st.Folds) + len(folds) + 1, Handle: "bbbbbbbb", Lever: "spill", Start: o.st.Len(),
						End: o.st.Len() + 1, Block: i, Hash: transcript.HashOf(transcript.BlockText(b)), Stub: "large",
						After: 5, Parts: fold.Parts{Stubs: 5},
					})
				}
			}
			return folds, nil
		},
	}
}

// append adds messages of which none is folded.
func (o *opened) append(t *testing.T, msgs ...transcript.Message) {
	t.Helper()
	if n, err := o.Append(t.Context(), o.spill(0), nil, msgs); n != len(msgs) || err != nil {
		t.Fatalf("%d of %d messages are added: %v", n, len(msgs), err)
	}
}

// round is a call of a tool and what it gave.
func round(id, result string) []transcript.Message {
	return []transcript.Message{
		transcript.Assistant(transcript.Call(id, "read", `{"path":"`+id+`.go"}`)),
		transcript.Results(transcript.Result(id, result)),
	}
}

// knows is all that the entries told, as text.
func (o *opened) knows(t *testing.T) []string {
	t.Helper()
	var out []string
	add := func(what string, v any) { out = append(out, fmt.Sprintf("%s: %v", what, v)) }
	for i := range o.st.Len() {
		m, err := o.st.Message(t.Context(), i)
		must(t, err)
		data, err := m.MarshalJSON()
		must(t, err)
		add("message", fmt.Sprintf("%d %s %s", o.st.Entry(i), data, m.Raw()))
	}
	u, known := o.meter.Bequeath()
	add("last", o.Last())
	add("view", o.st.Parts)
	add("shown", fmt.Sprint(o.st.Shown(), o.st.InForce(), o.st.Epoch, o.st.Backs, o.st.Marked, o.st.Forked))
	add("kept", fmt.Sprint(o.st.Pins, o.st.Notes))
	add("digests", fmt.Sprintf("%+v %d", o.Digests, o.st.NewestTold()))
	add("meter", fmt.Sprint(u, known, o.meter.Limits(), o.meter.Spent()))
	add("answered", o.Answered.UnixMilli())
	return out
}

// same compares a journal with one that reads the same entries.
func same(t *testing.T, o *opened, st store.Store) {
	t.Helper()
	if d := difftest.Values(o.knows(t), open(t, st).knows(t)); d != "" {
		t.Errorf("read back (-written +read):\n%s", d)
	}
}

// entries are those of a session, without their bodies.
func entries(t *testing.T, st store.Store, k store.SessionKey) (list []store.Entry) {
	t.Helper()
	for e, err := range st.Scan(t.Context(), k, 1) {
		must(t, err)
		list = append(list, e)
	}
	return list
}

// written writes an entry of every kind.
func written(t *testing.T, st store.Store) *opened {
	t.Helper()
	o, ctx := openKey(st, key, codecs), t.Context()
	must(t, o.Create(ctx, journal.Session{Model: "m"}, "What came before."))
	req, err := anthropic.Decode([]byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"On the wire."}]}`))
	must(t, err)
	o.append(t, req.Messages[0], transcript.User("injected").WithOrigin(transcript.OriginInjected))
	o.append(t, round("a", "not \xff UTF-8\n")...)
	o.append(t, round("b", "words of b")...)
	_, err = o.Append(ctx, o.spill(1_000), nil, round("c", strings.Repeat("large ", 1_000)))
	must(t, err)
	o.append(t, transcript.Assistant(transcript.Say("I have read them.")), transcript.User("It is five o'clock."))
	back, err := o.Back(o.st.Len()-1, 1, nil)
	must(t, err)
	must(t, o.Write(ctx, back))
	must(t, o.Write(ctx, store.Entry{Kind: store.EntryPrefix, Label: "here", Data: []byte(`{}`)}))
	for _, text := range []string{"never push to main", "let it go"} {
		must(t, o.Pin(ctx, text, false))
	}
	must(t, o.Pin(ctx, "let it go", true))
	must(t, o.Note(ctx, "plan", "first a, then b"))
	must(t, o.Note(ctx, "gone", "x"))
	must(t, o.Note(ctx, "gone", ""))
	o.meter.Sent(1_000)
	must(t, o.Usage(ctx, o.meter.UsageOf(model.Usage{Input: 1_300, Output: 10}, 0)))
	byModel, byCode := digest.Origin{Start: 2, End: 4, By: "model", USD: 0.5}, digest.Origin{Start: 2, End: 6, By: "code"}
	must(t, o.Digest(ctx, byModel, o.st.SourceHash(2, 4), "They read a."))
	must(t, o.Digest(ctx, byCode, o.st.SourceHash(2, 6), ""))
	must(t, o.Epoch(ctx, span(o, 2, 4)))
	return o
}

// span is an epoch that folds a stretch beside what is folded.
func span(o *opened, start, end int) epoch.Data {
	f := &fold.Fold{
		ID: len(o.st.Folds) + 1, Handle: "aaaaaaaa", Lever: "collapse", Start: start, End: end, Block: -1, Stub: "[folded]",
		After: 5, Parts: fold.Parts{Stubs: 5},
	}
	return epoch.Data{
		Epoch: o.st.Epochs + 1, Messages: o.st.Len(), Trigger: fold.TriggerRed, Folds: []*fold.Fold{f},
		InForce: append(o.st.InForce(), f.ID),
	}
}

// TestReadBack: what a journal has written it reads back, and it changes the same.
func TestReadBack(t *testing.T) {
	st := store.NewMemory()
	o := written(t, st)
	if len(o.st.InForce()) != 2 || o.st.Backs != 1 || o.st.Len() != 9 || o.st.Shown() != 9 || o.st.Marked != 9 ||
		fmt.Sprint(o.st.Pins) != "[never push to main]" || len(o.st.Notes) != 1 || o.st.NewestTold() == 0 ||
		o.meter.Spent() != 0.5 {
		t.Errorf("the entries make\n%s", strings.Join(o.knows(t), "\n"))
	}
	same(t, o, st)
	undo, _ := o.st.Undone()
	if must(t, o.Epoch(t.Context(), undo)); o.st.Epoch != 0 || o.st.NewestTold() != 0 || len(o.st.InForce()) != 1 {
		t.Errorf("after an undo, a digest that is not wanted is told, or what was born large is shown: %v", o.st.InForce())
	}
	same(t, o, st)
}

// TestStoredText: what an entry is found by, and its message, can be told from the entry alone, so that a session
// can be copied from one store to another with nothing lost.
func TestStoredText(t *testing.T) {
	var list []store.Entry
	o := written(t, &hooked{Memory: store.NewMemory(), before: func(e []store.Entry) error {
		list = append(list, e...)
		return nil
	}})
	messages := 0
	for _, e := range list {
		text, err := journal.Text(e, codecs)
		if err != nil || text != e.Text {
			t.Errorf("%s: text %q, %v; it was stored with %q", e.Kind, text, err, e.Text)
		}
		m, err := journal.Message(e, codecs)
		if (err == nil) != (e.Kind == store.EntryMessage) {
			t.Errorf("%s: %v", e.Kind, err)
		}
		if err != nil || messages == o.st.Len() { // the last was taken back
			continue
		}
		want, err := o.st.Message(t.Context(), messages)
		must(t, err)
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(m)
		if messages++; string(a) != string(b) || text == "" {
			t.Errorf("stored is %s, found by %q; written was %s", b, text, a)
		}
	}
	for _, e := range []store.Entry{list[2], {Kind: store.EntryMessage, Data: []byte("{")}} {
		if _, err := journal.Text(e, nil); err == nil {
			t.Error("a wire message is read without a codec, or any without its data")
		}
	}
}

// TestAnswered: when the model answered last is known, and whether that was elsewhere.
func TestAnswered(t *testing.T) {
	st := store.NewMemory()
	o := open(t, st)
	o.append(t, transcript.User("Go."))
	if o.now = o.now.Add(time.Minute); !o.Answered.IsZero() {
		t.Errorf("nothing is answered, but at %v", o.Answered)
	}
	o.meter.Sent(60_000)
	o.append(t, transcript.Assistant(transcript.Say("Done.")))
	for _, o := range []*opened{o, open(t, st)} {
		if !o.Answered.Equal(time.Unix(1e9+60, 0)) || o.Elsewhere == o.meter.HasSent() {
			t.Errorf("answered at %v, elsewhere %v", o.Answered, o.Elsewhere)
		}
	}
}

// TestAnsweredTakes: the provider takes a view that was answered, also one of which only the entries tell: an answer
// that was written later than what it answers was not told, but given.
func TestAnsweredTakes(t *testing.T) {
	for _, told := range []bool{false, true} {
		st := store.NewMemory()
		o := open(t, st)
		for i := range 30 {
			o.append(t, transcript.User(fmt.Sprintf("Read %d: %s", i, strings.Repeat("some words ", 500))))
			o.meter.Sent(o.st.Parts.Total())
			if !told {
				o.now = o.now.Add(time.Second)
			}
			o.append(t, transcript.Assistant(transcript.Say("Done.")))
		}
		for _, o := range []*opened{o, open(t, st)} {
			guess, ok := o.meter.GuessOf(o.meter.ReadRefusal(nil, 3_000), 2_000)
			if most := o.st.Parts.Total() - 10; !ok || (guess.Limit >= tokens.Reported(most)) == (told && o.Elsewhere) {
				t.Errorf("told %v, elsewhere %v: %+v, where %d tokens were answered", told, o.Elsewhere, guess, most)
			}
		}
	}
}

// TestHostile: entries that cannot be read are errors that name them, and of no other kind are entries taken in.
func TestHostile(t *testing.T) {
	for _, tt := range []struct {
		kind store.EntryKind
		data string
		want string // empty: nothing is wrong with it
	}{
		{"future", `{"x":1}`, ""},
		{store.EntryMessage, `{`, "read entry 1 (message)"},
		{store.EntryMessage, `{"form":"wire","format":"odd","role":"user"}`, "read entry 1 (message)"},
		{store.EntryEpoch, `{"epoch":1,"messages":9}`, "epoch 1 is not one of this conversation of 0 messages"},
		{store.EntryFold, `{"folds":[null]}`, "fold 1 is not one"},
		{store.EntryBack, `{"message":0,"messages":3}`, "take back messages 0 to 3 of 0"},
		{store.EntryUsage, `[]`, "read entry 1 (usage)"},
		{store.EntryDigest, `{"start":0,"end":9}`, ""},
	} {
		st := store.NewMemory()
		_, err := st.Append(t.Context(), key, 0, store.Entry{Kind: tt.kind, Data: []byte(tt.data), Body: []byte("x")})
		must(t, err)
		o := openKey(st, key, codecs)
		err = o.Refresh(t.Context())
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || o.st.Len() > 0 {
			t.Errorf("%s %s: %v", tt.kind, tt.data, err)
		}
	}
}

// TestFailed: who wants to know is told that the store cannot be written, but not that a caller went away.
func TestFailed(t *testing.T) {
	broken := errors.New("broken")
	st := &hooked{Memory: store.NewMemory()}
	o := open(t, st)
	ctx, cancel := context.WithCancel(t.Context())
	st.before = func([]store.Entry) error { return broken }
	if err := o.Pin(ctx, "x", false); !errors.Is(err, broken) || len(o.failed) != 1 || len(o.st.Pins) > 0 {
		t.Errorf("%v, told %v, pins %q", err, o.failed, o.st.Pins)
	}
	cancel()
	if err := o.Pin(ctx, "x", false); !errors.Is(err, context.Canceled) || len(o.failed) != 1 {
		t.Errorf("%v, told %v", err, o.failed)
	}
}
