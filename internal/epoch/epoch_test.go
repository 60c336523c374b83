package epoch_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// record adds messages to a state, in memory.
func record(s *epoch.State, msgs ...transcript.Message) {
	for _, m := range msgs {
		s.Record(m, conv.ShapesOf(m), conv.KeptMessage{Seq: uint64(s.Len() + 1)})
	}
}

// talked is the state of a conversation of n rounds.
func talked(n int) *epoch.State {
	count := tokens.NewTokenizer(model.Model{}, nil)
	s := epoch.New(conv.Of(count), fold.Parts{System: 50})
	record(s, transcript.User("Read all of it."))
	for i := range n {
		id := fmt.Sprint("c", i)
		record(s,
			transcript.Assistant(transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"f%d.go"}`, i))),
			transcript.Results(transcript.Result(id, strings.Repeat(fmt.Sprintf("line of %d\n", i), 100))))
	}
	return s
}

// open plans with a lever and enters the epoch, as a session does once it is stored.
func open(t *testing.T, s *epoch.State, l fold.Lever) epoch.Data {
	t.Helper()
	o := fold.PlanOptions{
		Past: s.Past(), Trigger: fold.TriggerRed, Limits: fold.Budget{Window: 2_000}.Limits(), Head: s.Layout.Head,
	}
	p, err := fold.Make(t.Context(), s, s.Layout.In, &fold.Policy{Name: "test", AtRed: fold.Steps{l}}, o)
	if err != nil || p.IsEmpty() {
		t.Fatalf("%v, %v", p, err)
	}
	d := epoch.Data{
		Epoch: p.Epoch, Messages: s.Len(), Trigger: p.Trigger, Folds: p.Folds, InForce: p.In.IDs(), Bare: p.In.Bare,
		Before: p.Before, After: p.After, Cache: p.Cache,
	}
	difftest.Must(t, s.Enter(d))
	if s.Parts.Total() != p.After {
		t.Errorf("the view has %d tokens, the plan said %d", s.Parts.Total(), p.After)
	}
	return d
}

// counts compares the running count of the view with one from scratch.
func counts(t *testing.T, s *epoch.State) {
	t.Helper()
	parts, n := s.Layout.Parts()
	if parts != s.Parts || n != s.Count || len(s.View()) != n {
		t.Errorf("counted %+v in %d messages, from scratch %+v in %d, %d rendered", s.Parts, s.Count, parts,
			n, len(s.View()))
	}
}

// TestEpochs opens epochs and takes them back: the view is what it was before each.
func TestEpochs(t *testing.T) {
	s := talked(8)
	counts(t, s)
	sizes := []int{s.Parts.Total()}
	for _, keep := range []int{5, 2} {
		open(t, s, lever.Mask{Keep: keep, All: true})
		counts(t, s)
		sizes = append(sizes, s.Parts.Total())
	}
	if s.Epoch != 2 || !s.Settled() || s.Refused() || !s.Folded() || len(s.Folds) != 6 {
		t.Errorf("epoch %d, %d folds", s.Epoch, len(s.Folds))
	}
	for want := 1; want >= 0; want-- {
		d, ok := s.Undone()
		if !ok {
			t.Fatal("nothing to undo")
		}
		difftest.Must(t, s.Enter(d))
		if s.Epoch != want || s.Parts.Total() != sizes[want] {
			t.Errorf("epoch %d with %d tokens, want %d with %d", s.Epoch, s.Parts.Total(), want, sizes[want])
		}
		counts(t, s)
	}
	if _, ok := s.Undone(); ok || s.Folded() {
		t.Error("there is still an epoch in force")
	}
}

// TestEnterRefuses what no session of this conversation wrote.
func TestEnterRefuses(t *testing.T) {
	span := func(id, start, end int) *fold.Fold { return &fold.Fold{ID: id, Start: start, End: end, Block: -1} }
	for _, tt := range []struct {
		name string
		data epoch.Data
	}{
		{"a fold behind the end", epoch.Data{Folds: []*fold.Fold{span(1, 3, 99)}, InForce: []int{1}}},
		{"a fold with another's number", epoch.Data{Folds: []*fold.Fold{span(7, 3, 5)}, InForce: []int{7}}},
		{"a fold that is not there", epoch.Data{InForce: []int{1}}},
		{"a fold listed twice", epoch.Data{Folds: []*fold.Fold{span(1, 3, 5)}, InForce: []int{1, 1}}},
		{"overlapping folds", epoch.Data{Folds: []*fold.Fold{span(1, 1, 5), span(2, 3, 7)}, InForce: []int{1, 2}}},
		{
			"a block that is not there",
			epoch.Data{Folds: []*fold.Fold{{ID: 1, Start: 1, End: 2, Block: 9}}, InForce: []int{1}},
		},
		{"more messages than there are", epoch.Data{Messages: 99}},
		{"no fold at all", epoch.Data{Folds: []*fold.Fold{nil}, InForce: []int{1}}},
	} {
		if err := talked(4).Enter(tt.data); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestBorn: a fold made at birth is in force from then on, and no undo takes it back.
func TestBorn(t *testing.T) {
	s := talked(3)
	before := s.Parts.Total()
	at := s.Len() - 1
	bf := s.Facts()[at].Blocks[0]
	born := &fold.Fold{
		ID: 1, Lever: "spill", Start: at, End: at + 1, Block: 0, Stub: "large", After: 5, Parts: fold.Parts{Stubs: 5},
		Before: int(bf.Tokens), Hash: bf.Hash, Final: true,
	}
	difftest.Must(t, s.Use([]*fold.Fold{born}))
	counts(t, s)
	if s.Parts.Total() >= before || s.Past().Folds != 1 {
		t.Errorf("%d tokens, before %d", s.Parts.Total(), before)
	}
	open(t, s, lever.Mask{All: true})
	d, _ := s.Undone()
	if !slices.Equal(d.InForce, []int{1}) {
		t.Errorf("after the undo %v are in force", d.InForce)
	}
	if err := s.Use([]*fold.Fold{{ID: 9}}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a fold of another session: %v", err)
	}
}

// TestTold: digests are kept for the messages that they were written for, and are old once an
// epoch opened after them.
func TestTold(t *testing.T) {
	s := talked(4)
	n := fold.Narrative{Start: 1, End: 5, Text: "Files were read.", Tokens: 4}
	s.Tell(n, transcript.HashOf("other messages"), 7)
	if s.NewestTold() != 0 {
		t.Error("a digest of other messages is used")
	}
	s.Tell(n, s.SourceHash(1, 5), 8)
	if told := s.Past().Told; len(told) != 1 || told[0].Old || s.NewestTold() != 8 {
		t.Errorf("%+v", told)
	}
	if got := s.ToldBefore(1, 6); got == nil || got.Text != n.Text || s.ToldBefore(0, 6) != nil ||
		s.ToldBefore(1, 4) != nil {
		t.Errorf("%+v", got)
	}
	open(t, s, lever.Mask{All: true})
	s.EpochSeq = 9
	if told := s.Past().Told; !told[0].Old {
		t.Errorf("%+v", told)
	}
}

// TestPayingFrom: folding old results pays from the place with the largest gain on, and nowhere
// while there is none but the newest, which is kept.
func TestPayingFrom(t *testing.T) {
	for _, tt := range []struct {
		rounds int
		cold   bool
		want   bool
	}{
		{1, false, false},
		{3, true, true},
		{60, false, true},
	} {
		s := talked(tt.rounds)
		from, cost := s.PayingFrom(lever.Mask{Keep: 1}, model.DefaultRates, tt.cold)
		if (from >= 0) != tt.want || tt.want && (cost.Gain <= 0 || from >= s.Len()-2) {
			t.Errorf("%d rounds, cold %v: from %d, %+v", tt.rounds, tt.cold, from, cost)
		}
	}
}

// saver claims that folding any result saves so many tokens.
type saver struct {
	lever.Mask
	tokens int
}

func (s saver) Saves(fold.Result) int { return s.tokens }

// TestPayingFromClaims: what a lever claims to save counts up to what there is.
func TestPayingFromClaims(t *testing.T) {
	s := talked(60)
	if from, cost := s.PayingFrom(saver{tokens: math.MinInt / 2}, model.DefaultRates, true); from >= 0 {
		t.Errorf("savings below zero: from %d, %+v", from, cost)
	}
	if from, cost := s.PayingFrom(saver{tokens: math.MaxInt / 2}, model.DefaultRates, true); cost.Removed > s.Whole() {
		t.Errorf("savings beyond the conversation: from %d, %+v", from, cost)
	}
}

func TestContent(t *testing.T) {
	s := talked(2)
	handle := s.Facts()[2].Blocks[0].Handle.String()
	p, _ := s.Place(handle)
	if got, err := s.Content(t.Context(), p, handle); err != nil || !strings.HasPrefix(got, "line of 0\n") {
		t.Errorf("%.20q, %v", got, err)
	}
	s.Folds = append(s.Folds, &fold.Fold{Handle: handle, Hash: transcript.HashOf("something else")})
	if _, err := s.Content(t.Context(), p, handle); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("content that was folded under another hash: %v", err)
	}
}

// TestPins: a text that is pinned again moves to the end.
func TestPins(t *testing.T) {
	s := talked(1)
	s.Pin("a", false)
	s.Pin("b", false)
	s.Pin("a", false)
	if got := s.Past().Pins; !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("pins %v", got)
	}
}
