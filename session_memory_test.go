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
				must(t, err)
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
			if got := unfold(t, tight, recall.UnfoldRequest{Handle: f.Handle}); got.Whole != want.Whole {
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
		must(t, err)
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
		must(t, err)
		out[i] = string(b)
	}
	return out
}

// rotten is a store in which one body is damaged.
type rotten struct {
	*store.Memory
	bad transcript.Hash
}

func (r *rotten) Shared(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	if hash == r.bad {
		return nil, fmt.Errorf("body %v: %w", hash, store.ErrCorrupt)
	}
	return r.Memory.Shared(ctx, key, hash)
}

// One damaged body costs that message alone: the session opens and says so, the message's handle is ErrCorrupt,
// and all else works.
func TestDamagedBody(t *testing.T) {
	st := &rotten{Memory: store.NewMemory()}
	s := open(t, st, nil)
	mustAppend(t, s, transcript.User("look at a"))
	work(t, s, 0, 2, 400)
	for e, err := range st.Scan(t.Context(), s.Key(), 1, store.EntryMessage) {
		if err == nil && e.Seq == 4 {
			st.bad = e.BodyHash
		}
	}
	warned := ""
	s = open(t, st, &pleat.Options{Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) { warned += e.Warning }})
	if !strings.Contains(warned, "message 2 cannot be read back") || len(view(t, s)) != 5 || len(s.Violations()) > 0 {
		t.Errorf("%d messages, %v, observers were told %q", len(view(t, s)), s.Violations(), warned)
	}
	for i, e := range s.Ledger(ledger.Filter{}) {
		if _, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: e.Handle}); errors.Is(err, store.ErrCorrupt) != (i == 0) {
			t.Errorf("unfold the result of call %d: %v", e.Seq, err)
		}
	}
	if _, err := s.Search(t.Context(), recall.SearchRequest{Queries: []string{"words of file"}}); err != nil {
		t.Errorf("search: %v", err)
	}
}
