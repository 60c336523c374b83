package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// readStore counts the bodies that are read.
type readStore struct {
	store.Store
	bodies int
}

func (r *readStore) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	r.bodies++
	return r.Store.Body(ctx, key, hash)
}

// A view whose large results are folded does not read them, however little is kept in memory.
func TestFoldedIsNotRead(t *testing.T) {
	for _, size := range []int{100_000, 3_000_000} {
		st := &readStore{Store: store.NewMemory()}
		s := open(t, st, &pleat.Options{Memory: 1 << 20, Budget: pleat.Budget{Window: 100_000}})
		mustAppend(t, s, pleat.User("start"))
		for i := range 30 {
			a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
			mustAppend(t, s, pleat.Assistant(pleat.Call(a, "sh", `{"command":"cat log"}`), pleat.Call(b, "sh", `{"command":"ls"}`)),
				pleat.Results(pleat.Result(a, strings.Repeat(a+" some line\n", size/20)), pleat.Result(b, "go.mod")))
			for range 2 { // the second view is the first one again
				st.bodies = 0
				if _, err := s.Messages(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if st.bodies > 0 {
				t.Fatalf("results of %d bytes: view %d reads %d bodies", size, i, st.bodies)
			}
		}
	}
}

// TestWeight: what a session says that it takes of memory is what opening it takes, within a half.
func TestWeight(t *testing.T) {
	for _, memory := range []int{64 << 10, 0} {
		st, o := store.NewMemory(), &pleat.Options{Memory: memory, Budget: pleat.Budget{Window: 16_000}}
		talkOf(t, open(t, st, o), 400)
		before := heap()
		s := open(t, st, o)
		view(t, s)
		if took, says := heap()-before, inside.Of(s).MemoryBytes(); says < took*2/3 || says > took*3/2 {
			t.Errorf("memory %d: it takes %d bytes and says %d", memory, took, says)
		}
	}
}

// talkOf has a session fold many rounds.
func talkOf(t *testing.T, s *pleat.Session, rounds int) {
	for i := range rounds {
		id := fmt.Sprint("c", i)
		mustAppend(t, s, pleat.User("Look at the next file, please."), pleat.Assistant(pleat.Call(id, "read_file",
			fmt.Sprintf(`{"path":"src/f%d.go"}`, i))), pleat.Results(pleat.Result(id, strings.Repeat("a line\n", 300))))
		view(t, s)
	}
}

// heap is how many bytes are in use, without what pools and finalizers still have.
func heap() int {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// counting counts the bytes of bodies that are read.
type counting struct {
	*store.Memory
	bytes int
}

func (c *counting) Shared(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	b, err := c.Memory.Shared(ctx, key, hash)
	c.bytes += len(b)
	return b, err
}

// Of a stretch that goes on from one that was measured only what is new is read back, and what was
// measured is what unfolding shows.
func TestMeasureReadsLittleBack(t *testing.T) {
	st := &counting{Memory: store.NewMemory()}
	tight := open(t, st, &pleat.Options{Memory: 64 << 10})
	wide := open(t, store.NewMemory(), nil)
	msgs := []transcript.Message{transcript.User("read them all")}
	for i := range 400 {
		id := fmt.Sprint(i)
		msgs = append(
			msgs,
			transcript.Assistant(transcript.Say("now "+id), transcript.Call(id, "read_file", `{"path":"f`+id+`"}`)),
			transcript.Results(transcript.Result(id, strings.Repeat("some words of file "+id+"\n", 600))),
		)
	}
	for _, s := range []*pleat.Session{tight, wide} {
		mustAppend(t, s, msgs...)
	}
	for _, c := range []struct{ start, end, most int }{
		{1, 701, 8 << 20},
		{1, 801, 2 << 20},
		{1, 11, 1 << 20},
		{1, 1, 0},
		{201, 221, 1 << 20},
		{1, 801, 0},
	} {
		st.bytes = 0
		h, bytes, lines := pleat.MeasureStretch(tight, c.start, c.end)
		if st.bytes > c.most {
			t.Errorf("to measure messages %d to %d, %d bytes were read back, want at most %d", c.start,
				c.end, st.bytes, c.most)
		}
		text := pleat.RenderStretch(wide, c.start, c.end)
		want := strings.Count(text, "\n")
		if h != transcript.HashOf(text) || bytes != len(text) || lines != want {
			t.Errorf("messages %d to %d: %v, %d bytes, %d lines; want %v, %d, %d",
				c.start, c.end, h, bytes, lines, transcript.HashOf(text), len(text), want)
		}
	}
}

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
