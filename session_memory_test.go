package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// A session that keeps next to nothing in memory shows the same views, byte for byte, as
// one that keeps everything, and gives back the same content.
func TestSmallMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for seed := range uint64(8) {
		msgs := pleattest.Transcripts{Turns: 30, Huge: 10_000}.Make(seed)
		budget := fold.Budget{Window: 8_000}
		wide := open(t, store.NewMemory(), &pleat.Options{Budget: budget})
		tight := open(t, store.NewMemory(), &pleat.Options{Budget: budget, Memory: 1})
		for i, m := range msgs {
			var views [2][]transcript.Message
			for k, s := range []*pleat.Session{wide, tight} {
				mustAppend(t, s, m)
				if i%5 > 0 {
					continue
				}
				v, err := s.View(t.Context(), pleat.Turn{})
				if errors.Is(err, fold.ErrCannotFit) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if views[k], err = s.Resolve(t.Context(), v); err != nil {
					t.Fatal(err)
				}
			}
			if d := difftest.Values(texts(t, views[0]), texts(t, views[1])); d != "" {
				t.Fatalf("seed %d, message %d: views differ:\n%s", seed, i, d)
			}
		}
		for _, f := range wide.Folds() {
			want := unfold(t, wide, recall.UnfoldRequest{Handle: f.Handle})
			if got := unfold(t, tight, recall.UnfoldRequest{Handle: f.Handle}); got.Whole() != want.Whole() {
				t.Fatalf("seed %d: handle %s gives back other content", seed, f.Handle)
			}
		}
	}
}

// What pages of one plan share does not outlive the plan.
func TestPlanIsForgotten(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Tokens: counter})
	work(t, s, 0, 30, 2_000)
	plans := map[string]func(context.Context, string) (*fold.Plan, error){"plan": s.Plan, "compact": s.Compact}
	for name, plan := range plans {
		p, err := plan(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if name == "compact" && !slices.ContainsFunc(p.Folds, func(f *fold.Fold) bool { return f.Digest }) {
			t.Fatal("no page was written")
		}
		if pleat.HoldsPlan(s) {
			t.Errorf("%s: the plan's lines are still held", name)
		}
	}
}

// texts writes messages down for comparing.
func texts(t *testing.T, msgs []transcript.Message) []string {
	t.Helper()
	out := make([]string, len(msgs))
	for i, m := range msgs {
		b, err := m.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(b)
	}
	return out
}

// Messages that are appended together are the same session as messages appended one by one.
func TestAppendTogether(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		msgs := pleattest.Transcripts{Turns: 20, Huge: 60_000}.Make(seed)
		one, all := store.NewMemory(), store.NewMemory()
		a := open(t, one, nil)
		for _, m := range msgs {
			mustAppend(t, a, m)
		}
		mustAppend(t, open(t, all, nil), msgs...)
		if d := difftest.Values(entriesOf(t, one, a.Key()), entriesOf(t, all, a.Key())); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

func entriesOf(t *testing.T, store store.Store, key store.SessionKey) []string {
	t.Helper()
	var out []string
	for e, err := range store.Scan(t.Context(), key, 1) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d %s %s %v", e.Seq, e.Kind, e.Data, e.BodyHash))
	}
	return out
}

// rotten is a store in which one body is damaged.
type rotten struct {
	*store.Memory
	bad  transcript.Hash
	away error // reading any body fails with it
}

func (r *rotten) Shared(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	switch {
	case r.away != nil:
		return nil, r.away
	case hash == r.bad:
		return nil, fmt.Errorf("body %v: %w", hash, store.ErrCorrupt)
	}
	return r.Memory.Shared(ctx, key, hash)
}

// One damaged body costs that message alone: the session opens, the message says what it
// is, its handle is ErrCorrupt, all others work, and calls keep their results.
func TestDamagedBody(t *testing.T) {
	mem := store.NewMemory()
	s := open(t, mem, nil)
	msgs := []transcript.Message{
		transcript.User("look at a and b"),
		transcript.Assistant(
			transcript.Call("1", "read_file", `{"path":"a"}`),
			transcript.Call("2", "read_file", `{"path":"b"}`),
		),
		transcript.Results(transcript.Result("1", "the words of a"), transcript.Result("2", "the words of b")),
		transcript.Assistant(transcript.Say("seen both")),
	}
	mustAppend(t, s, msgs...)
	st := &rotten{Memory: mem}
	seq := 0
	for e, err := range mem.Scan(t.Context(), s.Key(), 1, store.EntryMessage) {
		if seq++; err == nil && seq == 3 {
			st.bad = e.BodyHash
		}
	}
	check := func(t *testing.T, again *pleat.Session) {
		t.Helper()
		for _, e := range s.Ledger(ledger.Filter{}) {
			_, err := again.Unfold(t.Context(), recall.UnfoldRequest{Handle: e.Handle})
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("unfold the damaged result of call %d: %v, want ErrCorrupt", e.Seq, err)
			}
		}
		if got := message(t, again, 2); !strings.Contains(got.Blocks().At(0).(transcript.ToolResult).Text(), "damaged") {
			t.Errorf("the damaged message says %v", got)
		}
		if got := message(t, again, 3).Text(); got != "seen both" {
			t.Errorf("the message after it says %q", got)
		}
		v, err := again.View(t.Context(), pleat.Turn{})
		if err != nil {
			t.Fatal(err)
		}
		shown, err := again.Resolve(t.Context(), v)
		if err != nil || len(shown) != 4 {
			t.Fatalf("view of %d messages, %v", len(shown), err)
		}
		if tr := transcript.NewTranscript(shown...); tr.Round(0).Open() || len(tr.Orphans()) > 0 {
			t.Error("a call lost its result")
		}
		if _, err := again.Search(t.Context(), recall.SearchRequest{Queries: []string{"words seen both"}}); err != nil {
			t.Errorf("search: %v", err)
		}
	}
	t.Run("opened", func(t *testing.T) {
		warned := ""
		check(t, open(t, st, &pleat.Options{Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) {
			warned += e.Warning + "\n"
		}}))
		if !strings.Contains(warned, "message 2 cannot be read back") {
			t.Errorf("observers were told %q", warned)
		}
	})
	t.Run("read later", func(t *testing.T) {
		whole := &rotten{Memory: mem}
		again := open(t, whole, &pleat.Options{Memory: 1})
		whole.bad = st.bad
		check(t, again)
	})
}

// That the store cannot be read just now is an error, and nothing is made up.
func TestStoreAway(t *testing.T) {
	store := &rotten{Memory: store.NewMemory()}
	s := open(t, store, &pleat.Options{Memory: 1, Budget: fold.Budget{Window: 4_000}})
	for i := range 40 {
		id := fmt.Sprint(i)
		mustAppend(t, s,
			transcript.Assistant(transcript.Call(id, "read_file", `{"path":"f`+id+`"}`)),
			transcript.Results(transcript.Result(id, strings.Repeat("some words of file "+id+"\n", 60))))
	}
	store.away = errors.New("the disk is away")
	if _, err := s.Compact(t.Context(), "anything"); !errors.Is(err, store.away) {
		t.Errorf("compact: %v", err)
	}
	if _, err := s.Resolve(t.Context(), transcript.Whole(s.Len())); !errors.Is(err, store.away) {
		t.Errorf("resolve: %v", err)
	}
	if m, err := s.Message(t.Context(), 0); !errors.Is(err, store.away) {
		t.Errorf("message: %v, %v", m, err)
	}
	if p, err := s.Plan(t.Context(), "anything"); !errors.Is(err, store.away) {
		t.Errorf("plan: %v, %v", p, err)
	}
	if r := s.Report(); len(r.Epochs) > 0 {
		t.Error("an epoch was opened")
	}
	store.away = nil
	if _, err := s.Compact(t.Context(), "anything"); err != nil {
		t.Errorf("compact again: %v", err)
	}
}
