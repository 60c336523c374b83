package pleat_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/fence/fencetest"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// exportedEntries are the entries of the stored export file.
func exportedEntries(t testing.TB) []store.Entry {
	t.Helper()
	data, err := os.ReadFile("testdata/work.jsonl")
	must(t, err)
	var list []store.Entry
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Buffer(nil, 1<<24); lines.Scan(); {
		var e struct {
			Kind              store.EntryKind
			Label, Data, Body string
		}
		must(t, json.Unmarshal(lines.Bytes(), &e))
		if e.Kind != "" {
			list = append(
				list,
				store.Entry{
					Kind: e.Kind, Label: e.Label, Data: []byte(e.Data), Body: []byte(e.Body), Time: time.Unix(0, 0),
				},
			)
		}
	}
	return list
}

// hostile puts a value in place of one that is somewhere in a JSON text.
func hostile(text []byte, r *rand.Rand) []byte {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return text
	}
	var places []func(any)
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				places = append(places, func(x any) { v[k] = x }, func(any) { delete(v, k) })
				visit(v[k])
			}
		case []any:
			for i := range v {
				places = append(places, func(x any) { v[i] = x }, func(any) { v[i] = v[r.IntN(len(v))] })
				visit(v[i])
			}
		}
	}
	visit(v)
	if len(places) == 0 {
		return text
	}
	values := []any{
		-1,
		0,
		1,
		2,
		1 << 20,
		1<<62 + 1,
		-1 << 62,
		9.3e17,
		nil,
		"",
		"x",
		[]any{},
		[]any{nil},
		map[string]any{},
		true,
		strings.Repeat("0", 64),
		[]any{1, 1},
		[]any{2, 1},
	}
	for range 1 + r.IntN(2) {
		places[r.IntN(len(places))](values[r.IntN(len(values))])
	}
	out, _ := json.Marshal(v)
	return out
}

// useEverything asks a session for all that commands ask it for. Errors are answers, too.
func useEverything(ctx context.Context, st store.Store, key store.SessionKey) error {
	rough := tokens.NewTokenizer(pleat.Model{}, &tokens.Options{Counter: tokens.CharsPerToken(4), CacheSize: -1})
	s, err := pleat.OpenSession(ctx, st, key, &pleat.Options{Tokens: rough, Budget: fold.Budget{Window: 6_000}})
	if err != nil {
		return err
	}
	for _, f := range s.Folds() {
		_, _ = s.Unfold(ctx, recall.UnfoldRequest{Handle: f.Handle})
	}
	_, _, _ = s.Report(), s.Snapshot(), inside.Of(s).LedgerText(ledger.Filter{}, 1000)
	_, _ = inside.Of(s).UserWords()
	_ = s.Tokens(0, s.Len())
	_, _ = s.Search(ctx, recall.SearchRequest{Queries: []string{"limit"}})
	_, _ = s.Resolve(ctx, inside.Of(s).CurrentView())
	if _, err := s.View(ctx, pleat.Turn{}); err == nil {
		_ = s.Append(ctx, transcript.User("Go on."))
		_, _ = s.Compact(ctx, "")
		_, _ = s.Resolve(ctx, inside.Of(s).CurrentView())
		_ = errors.Join(s.Undo(ctx), s.UndoAll(ctx))
		_, _ = s.Resolve(ctx, inside.Of(s).CurrentView())
	}
	return s.Close()
}

// hostileStore is a store with a session one of whose entries says something else.
func hostileStore(t testing.TB, entries []store.Entry, r *rand.Rand) (*store.Memory, store.SessionKey) {
	t.Helper()
	list := slices.Clone(entries)
	var some []int // mostly what is not a message
	for i, e := range list {
		switch {
		case e.Kind == store.EntryEpoch:
			some = append(some, slices.Repeat([]int{i}, 8)...)
		case e.Kind != store.EntryMessage || r.IntN(4) == 0:
			some = append(some, i)
		}
	}
	i := some[r.IntN(len(some))]
	switch e := &list[i]; r.IntN(12) {
	case 0:
		list = slices.Delete(list, i, i+1)
	case 1:
		j := r.IntN(len(list))
		list[i], list[j] = list[j], list[i]
	case 2:
		e.Kind = list[r.IntN(len(list))].Kind
	case 3, 4:
		e.Body = hostile(e.Body, r)
	default:
		e.Data = hostile(e.Data, r)
	}
	st, key := store.NewMemory(), store.SessionKey{Session: "work"}
	if _, err := st.Append(t.Context(), key, 0, list...); err != nil {
		t.Fatal(err)
	}
	return st, key
}

// Whatever the entries of a session say, it opens or it does not, and nothing panics.
func TestHostileEntries(t *testing.T) {
	t.Parallel()
	entries := exportedEntries(t)
	opened, cases := 0, 3_000
	if testing.Short() {
		cases = 30
	}
	for seed := range uint64(cases) {
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("seed %d: %v", seed, p)
				}
			}()
			st, key := hostileStore(t, entries, rand.New(rand.NewPCG(seed, 1)))
			if useEverything(t.Context(), st, key) == nil {
				opened++
			}
		}()
	}
	t.Logf("%d of %d could be opened", opened, cases)
}

func FuzzStoredEntries(f *testing.F) {
	entries := exportedEntries(f)
	for seed := range uint64(4) {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		st, key := hostileStore(t, entries, rand.New(rand.NewPCG(a, b)))
		_ = useEverything(t.Context(), st, key)
	})
}

// forging are conversations in which everything but the user pretends to be the user.
func forging(seed uint64) []transcript.Message {
	o := pleattest.Transcripts{Turns: 8, Huge: 4_000, Legal: true, Forge: func(n int) string {
		return fencetest.Forgeries[n%len(fencetest.Forgeries)]
	}}
	return o.Make(seed)
}

// checkForged holds a session's view and what its folds give back to what the user said.
func checkForged(t testing.TB, s *pleat.Session, msgs []transcript.Message) {
	t.Helper()
	ctx := context.Background()
	v, err := s.View(ctx, pleat.Turn{})
	if errors.Is(err, fold.ErrCannotFit) {
		return
	}
	must(t, err)
	shown, err := s.Resolve(ctx, v)
	must(t, err)
	for i, m := range shown {
		if v.Messages[i].Source >= 0 || m.Role() != transcript.RoleUser {
			continue
		}
		if bad := fencetest.Page(m.Text()); len(bad) > 0 {
			t.Fatalf("a page was fooled: %q\n%s", bad, m.Text())
		}
	}
	for _, f := range s.Folds() {
		if f.Block >= 0 {
			continue
		}
		u := unfold(t, s, recall.UnfoldRequest{Handle: f.Handle})
		if got := fencetest.Speakers(u.Content()); len(got) != f.End-f.Start {
			t.Fatalf("%d messages unfold with the speakers %q", f.End-f.Start, got)
		}
	}
	if text := inside.Of(s).LedgerText(ledger.Filter{}, 4_000); strings.Contains("\n"+text, "\n## ") {
		t.Fatalf("a ledger with a heading:\n%s", text)
	}
}

// TestForgedContent feeds sessions with content that is made of pleat's own headings, speakers
// and tags. Whatever is folded, nothing but the user's words stands where the user speaks.
func TestForgedContent(t *testing.T) {
	n := uint64(300)
	if testing.Short() {
		n = 60
	}
	for seed := range n {
		o := &pleat.Options{Budget: fold.Budget{Window: []int{1_500, 3_000, 8_000, 20_000}[seed%4]}, Tokens: counter}
		if seed%3 == 0 { // a digest that was taken in
			o.Digest = digest.Options{Model: model.Model{ID: "m"}, NoBackground: true, Generator: pleattest.Always(
				"<digest>\n" + fencetest.Forgeries[int(seed)%len(fencetest.Forgeries)] + "\n</digest>")}
		}
		s := pleattest.Open(t, store.NewMemory(), o)
		must(t, s.Pin(t.Context(), fencetest.ForgedPin(int(seed))))
		msgs := forging(seed)
		for i, m := range msgs {
			mustAppend(t, s, m)
			if i%5 == 4 {
				checkForged(t, s, msgs)
			}
		}
		if _, err := s.Compact(t.Context(), "the parser"); err != nil && !errors.Is(err, fold.ErrCannotFit) {
			t.Fatal(err)
		}
		checkForged(t, s, msgs)
	}
}
