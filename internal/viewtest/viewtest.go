// Package viewtest holds views to recorded hashes, for tests: a change that is not meant to
// change views must not change a hash.
package viewtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// Update says that hashes are recorded anew.
var Update = flag.Bool("update", false, "record the hashes of views anew")

// file is beside the test.
const file = "testdata/view-hashes.txt"

var counter = tokens.NewTokenizer(model.Model{}, nil)

// Add adds the hashes of a conversation, by name and policy: folded once to each
// budget, then turn by turn in a window of each size.
func Add(t *testing.T, to map[string]string, name string, msgs []transcript.Message) {
	t.Helper()
	for _, p := range policy.All() {
		budgets := []int{8_000, 20_000}
		if p.Name == "default" {
			budgets = append(budgets, 49_000)
		}
		var out []string
		for _, budget := range budgets {
			h := New()
			h.Fold(t, p, budget, msgs)
			out = append(out, h.String())
		}
		for _, window := range []int{8_000, 20_000} {
			h := New()
			h.foldLive(t, p, window, msgs)
			out = append(out, h.String())
		}
		to[name+"/"+p.Name] = strings.Join(out, " ")
	}
}

// Hash sums up views.
type Hash struct{ Sum hash.Hash }

// New returns the hash of no view.
func New() Hash { return Hash{sha256.New()} }

// String is what is recorded.
func (h Hash) String() string { return hex.EncodeToString(h.Sum.Sum(nil)[:16]) }

// view adds a view, or that there is none.
func (h Hash) view(t *testing.T, v transcript.View, err error) {
	t.Helper()
	if err != nil {
		h.failed(t, err)
		return
	}
	fmt.Fprintf(h.Sum, "view %d %t %d\n", len(v.Messages), v.DropThinking, v.Marker)
	for _, m := range v.Messages {
		if m.Source < 0 {
			made, err := json.Marshal(m.Made)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(h.Sum, "made %s\n", made)
			continue
		}
		fmt.Fprintf(h.Sum, "source %d\n", m.Source)
		for _, e := range m.Edits {
			fmt.Fprintf(h.Sum, "edit %d %t %q\n", e.Block, e.Drop, e.Text)
		}
	}
}

// failed adds an error by its kind. What it says is not part of the promise.
func (h Hash) failed(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, fold.ErrCannotFit):
		fmt.Fprintln(h.Sum, "cannot fit")
	case errors.Is(err, store.ErrNotFound):
		fmt.Fprintln(h.Sum, "not found")
	default:
		t.Fatal(err)
	}
}

// Tight is the budget of a session that may use all of so many tokens.
func Tight(tokens int) fold.Budget {
	one, all := fold.Tokens(1), fold.Share(1)
	return fold.Budget{Window: tokens + 1, Output: one, Buffer: one, Yellow: all, Red: all, Target: all}
}

// Fold folds a whole conversation to a budget, as "pleat compact" does.
func (h Hash) Fold(t *testing.T, p fold.Policy, budget int, msgs []transcript.Message) {
	t.Helper()
	p.Budget.Window = 0
	p.AtBirth = fold.Change(p.AtBirth, func(s *lever.Spill) { s.Window = 0 })
	s := open(t, p, Tight(budget))
	if err := s.Append(t.Context(), msgs...); err != nil {
		t.Fatal(err)
	}
	v, err := s.View(t.Context(), pleat.Turn{})
	h.view(t, v, err)
}

// foldLive plays a conversation turn by turn. On the way there is a compaction with a
// focus, a pin, a note, a pause, an undo and a refusal by the provider. Every view counts.
func (h Hash) foldLive(t *testing.T, p fold.Policy, window int, msgs []transcript.Message) {
	t.Helper()
	ctx := t.Context()
	if p.Name == "default" && window > 10_000 {
		p = policy.Pays(p)
	}
	s := open(t, p, fold.Budget{Window: window, Buffer: fold.Tokens(window / 20), Red: fold.Share(0.8)})
	n := len(msgs)
	for i, m := range msgs {
		if m.Role() == transcript.RoleAssistant {
			var turn pleat.Turn
			if i*2/n != (i-1)*2/n {
				turn.Idle = 2 * time.Hour
			}
			v, err := s.View(ctx, turn)
			h.view(t, v, err)
		}
		if err := s.Append(ctx, m); err != nil {
			t.Fatal(err)
		}
		h.interrupt(ctx, t, s, i*10/n, (i+1)*10/n)
	}
	v, err := s.View(ctx, pleat.Turn{})
	h.view(t, v, err)
}

// interrupt does what is due between one tenth of a conversation and the next.
func (h Hash) interrupt(ctx context.Context, t *testing.T, s *pleat.Session, before, now int) {
	t.Helper()
	if before == now {
		return
	}
	switch now {
	case 2:
		h.failed(t, errors.Join(s.Pin(ctx, "Answer in French."), s.Note(ctx, "port", "8081")))
	case 3:
		_, err := s.Compact(ctx, "the parser")
		h.failed(t, err)
	case 6:
		h.failed(t, s.Undo(ctx))
	case 8:
		v, err := s.Refused(ctx, &model.APIError{Kind: model.ErrorTooLong, Status: 400, Message: "prompt is too long"})
		h.view(t, v, err)
	}
}

func open(t *testing.T, p fold.Policy, budget fold.Budget) *pleat.Session {
	t.Helper()
	o := &pleat.Options{Policy: p, Budget: budget, Recall: pleat.UnfoldCall, Model: model.Model{
		Prices: []model.Price{{Input: 3, CacheWrite: 3.75, CacheRead: 0.3, Output: 15}},
	}}
	if p.Name == "default" {
		o.Check = anthropic.Checker(model.Model{})
	}
	if p.CharsPerToken == 0 {
		o.Tokens = counter
	}
	s, err := pleat.OpenSession(t.Context(), store.NewMemory(), store.SessionKey{Session: "hashes"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Compare compares hashes with the recorded ones that are meant, or records them.
func Compare(t *testing.T, got map[string]string, meant func(name string) bool) {
	t.Helper()
	recorded := Read(t)
	if *Update {
		maps.DeleteFunc(recorded, func(name, _ string) bool { return meant(name) })
		maps.Copy(recorded, got)
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(recorded)) {
			fmt.Fprintf(&b, "%s\t%s\n", name, recorded[name])
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want := recorded[name]; got[name] != want {
			t.Errorf("views of %s changed:\n got %s\nwant %s", name, got[name], want)
		}
	}
	for name := range recorded {
		if _, ok := got[name]; !ok && meant(name) {
			t.Errorf("there are recorded hashes for %s and no views", name)
		}
	}
}

// Read returns what is recorded.
func Read(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	recorded := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, hashes, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		recorded[name] = hashes
	}
	return recorded
}
