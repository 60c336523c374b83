package pleat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/fence/fencetest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

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
		o := &pleat.Options{
			Budget: fold.Budget{Window: []int{1_500, 3_000, 8_000, 20_000}[seed%4]}, Tokens: counter,
		}
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
