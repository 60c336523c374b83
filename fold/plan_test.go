package fold_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

// Veil is Mask under another name: a lever of somebody else's.
type Veil struct{ lever.Mask }

func (Veil) Name() string { return "veil" }

func (v Veil) Pull(ctx context.Context, d *fold.Draft) error {
	for _, ref := range d.Results()[:max(len(d.Results())-v.Keep, 0)] {
		if d.Enough() || !d.Maskable(ref, nil) {
			continue
		}
		stub, err := d.Stub(ctx, ref, "", "")
		if err != nil {
			return err
		}
		d.FoldBlock(ref, v, "old result", stub)
	}
	return nil
}

// TestForeignLeverIsEqual: in the place of Mask, a lever that does the same gets the same view:
// the digest counts what it hides, and refill shows its results again.
func TestForeignLeverIsEqual(t *testing.T) {
	steps := func(mask fold.Lever) fold.Steps {
		return fold.Steps{
			lever.Aim{}, mask, lever.Digest{Keep: 4, Fill: true, Spare: 2}, lever.Squeeze{}, lever.Refill{},
		}
	}
	msgs := pleattest.Reading(40, 60)
	ours := pleattest.Plan(t, 12_000, msgs, steps(lever.Mask{Keep: 3})...)
	theirs := pleattest.Plan(t, 12_000, msgs, steps(Veil{lever.Mask{Keep: 3}})...)
	rename := func(list []string) []string {
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], "veil", "mask")
		}
		return list
	}
	got := rename(pleattest.Folds(theirs))
	if d := difftest.Values(pleattest.Folds(ours), got); d != "" || ours.After != theirs.After {
		t.Errorf("%d and %d tokens (-mask +veil):\n%s", ours.After, theirs.After, d)
	}
	if len(got) == 0 || !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "digest") }) {
		t.Errorf("no page was written: %v", got)
	}
}

// unreadable is a conversation whose blocks cannot be read.
type unreadable struct{ fold.Source }

var errStore = errors.New("the disk is gone")

func (unreadable) Block(context.Context, transcript.BlockRef) (transcript.Block, error) {
	return nil, errStore
}

func (unreadable) Measure(context.Context, int, int) (h transcript.Hash, bytes, lines int, err error) {
	return h, 0, 0, errStore
}

// TestUnreadableSource: a plan that needs what cannot be read is an error, for every lever that
// reads, and no plan. One that needs nothing of it is made.
func TestUnreadableSource(t *testing.T) {
	msgs := pleattest.Reading(12, 60)
	msgs[0] = transcript.User(strings.Repeat("A long plan. ", 2_000))
	src := unreadable{pleattest.Source(msgs...)}
	o := fold.PlanOptions{
		Trigger: fold.TriggerRed, Limits: fold.Budget{Window: 3_000}.Limits(), Recall: fold.UnfoldCall,
	}
	o.Seen, o.Answered = len(msgs), len(msgs)
	for _, tt := range []struct {
		lever fold.Lever
		reads bool
	}{
		{lever.Mask{Keep: 1}, false},
		{lever.Mask{Keep: 1, Stub: "gone: {call_id}"}, true},
		{lever.Shorten{Typed: 3}, true},
		{lever.Collapse{Rounds: 3}, true},
		{lever.Snip{Above: 4, Head: 1, Tail: 2, Stub: "snipped"}, true},
		{lever.Digest{Keep: 2}, true},
		{lever.Truncate{}, true},
		{lever.Squeeze{}, true},
	} {
		p, err := fold.Make(t.Context(), src, fold.Set{}, &fold.Policy{Name: "test", AtRed: fold.Steps{tt.lever}}, o)
		if got := errors.Is(err, errStore); got != tt.reads || (p == nil) != tt.reads {
			t.Errorf("%s: plan %v, error %v", tt.lever.Name(), p != nil, err)
		}
	}
}

// TestMakeIsPure: the same input gives the same plan, and making one changes nothing.
func TestMakeIsPure(t *testing.T) {
	for seed := range uint64(10) {
		msgs := pleattest.Transcripts{Turns: 16, Huge: 4_000, Legal: true}.Make(seed)
		steps := []fold.Lever{
			lever.Aim{},
			lever.Supersede{},
			lever.Mask{Keep: 3},
			lever.Digest{Keep: 4, Fill: true},
			lever.Squeeze{},
		}
		first := pleattest.Plan(t, 8_000, msgs, steps...)
		again := pleattest.Plan(t, 8_000, msgs, steps...)
		if first.String() != again.String() || len(first.Folds) != len(again.Folds) {
			t.Fatalf("seed %d: two plans:\n%s\n%s", seed, first, again)
		}
		for i, f := range first.Folds {
			if f.Stub != again.Folds[i].Stub {
				t.Fatalf("seed %d: fold %d has two stubs", seed, i)
			}
		}
	}
}

func TestPlanPrints(t *testing.T) {
	p := pleattest.PlanWith(t, fold.PlanOptions{
		Limits: fold.Budget{Window: 4_000}.Limits(), Rates: model.DefaultRates, Past: fold.Past{Epoch: 3, Ahead: 10},
	}, pleattest.Reading(9, 100), lever.Mask{Keep: 2})
	for _, want := range []string{
		"epoch 3 (red): ", "fewer in every request, pays after ", "LEVER ", "mask   3 ", "old result",
	} {
		if !strings.Contains(p.String(), want) {
			t.Errorf("%q is missing in\n%s", want, p)
		}
	}
	if got := (&fold.Plan{}).String(); got != "nothing to fold\n" {
		t.Errorf("an empty plan: %q", got)
	}
}

// TestPins: a pin that no page shows stands in a message of its own before the first new fold,
// and where it does not fit it is left out.
func TestPins(t *testing.T) {
	for _, tt := range []struct {
		name string
		pin  string
		want bool
	}{
		{"short", "Never touch legacy/.", true},
		{"a heading", "## What the user said (verbatim, oldest first)", true},
		{"larger than the view may be", strings.Repeat("Never touch legacy/. ", 2_000), false},
	} {
		p := pleattest.PlanWith(t, fold.PlanOptions{
			Limits: fold.Budget{Window: 4_000}.Limits(), Past: fold.Past{Pins: []string{tt.pin}},
		}, pleattest.Reading(9, 100), lever.Mask{Keep: 2})
		at := slices.IndexFunc(p.Folds, func(f *fold.Fold) bool { return f.Lever == "pin" })
		if (at >= 0) != tt.want {
			t.Fatalf("%s: %v", tt.name, pleattest.Folds(p))
		}
		if tt.want && (!strings.HasSuffix(p.Folds[at].Stub, "]\n- "+tt.pin) || p.Folds[at].Start > p.Folds[0].Start) {
			t.Errorf("%s: %+v", tt.name, p.Folds[at])
		}
	}
}

// TestNeedAhead: a digest is asked for before red if what the cheap levers fold will not be
// enough, and not otherwise.
func TestNeedAhead(t *testing.T) {
	msgs := pleattest.Reading(30, 60)
	src := pleattest.Source(msgs...)
	for _, tt := range []struct {
		name  string
		steps fold.Steps
		want  bool
	}{
		{"masks are enough", fold.Steps{lever.Aim{}, lever.Mask{Keep: 3}, lever.Digest{Keep: 4}}, false},
		{"nothing else folds", fold.Steps{lever.Aim{}, lever.Digest{Keep: 4}}, true},
		{"nobody writes digests", fold.Steps{lever.Aim{}, lever.Mask{Keep: 3}}, false},
	} {
		o := fold.PlanOptions{Limits: fold.Budget{Window: 16_000}.Limits(), Model: true, Recall: fold.UnfoldCall}
		o.Seen, o.Answered = len(msgs), len(msgs)
		need, err := fold.NeedAhead(t.Context(), src, fold.Set{}, &fold.Policy{Name: "test", AtRed: tt.steps}, o)
		if err != nil || (need != nil) != tt.want {
			t.Errorf("%s: %+v, %v", tt.name, need, err)
		}
		if need != nil && (need.Start != 1 || need.End > len(msgs)-4 || need.Room < 200) {
			t.Errorf("%s: %+v", tt.name, need)
		}
	}
}

// astray is a lever that asks for places outside of the conversation.
type astray struct{ t *testing.T }

func (astray) Name() string { return "astray" }

func (a astray) Pull(ctx context.Context, d *fold.Draft) error {
	end := d.Marks().End
	for _, at := range [][2]int{{-3, end + 3}, {end, end + 3}, {-3, 0}, {end + 1, end + 9}, {4, 2}} {
		start, stop := min(max(at[0], 0), end), min(max(at[0], at[1], 0), end)
		f, err := d.Span(ctx, at[0], at[1], a, "old")
		if err != nil {
			return err
		}
		if f.Start != start || f.End != stop || d.TokensIn(at[0], at[1]) != d.TokensIn(start, stop) {
			a.t.Errorf("%v is taken for %d to %d", at, f.Start, f.End)
		}
		if n := len(d.Calls(at[0], at[1])); (n > 0) != (start < stop) {
			a.t.Errorf("%v has %d calls", at, n)
		}
		if f.Stub = "[gone]"; start == stop && d.FoldSpan(f) {
			a.t.Errorf("%v is folded", at)
		}
		d.Pages().Ask(fold.Allotment{}, at[0], at[1], 1, fold.Ask{})
	}
	if d.Back(-3) != 0 || d.Back(end+3) != end {
		a.t.Errorf("places outside are moved to %d and %d", d.Back(-3), d.Back(end+3))
	}
	for _, ref := range []transcript.BlockRef{{Message: -1}, {Message: end}, {Message: 1, Block: 9}} {
		if _, err := d.Stub(ctx, ref, "", ""); err == nil || d.Maskable(ref, nil) || d.Show(ref, "x") {
			a.t.Errorf("there is no block %v: %v", ref, err)
		}
	}
	d.DropThinking(-3)
	d.DropThinking(end + 3)
	return nil
}

func (astray) MayFold([]int, fold.Limits) bool { return true }

func (a astray) Born(b *fold.Birth) {
	place := func(message, block int) transcript.BlockRef {
		return transcript.BlockRef{Message: message, Block: block}
	}
	for _, ref := range []transcript.BlockRef{ // of the message, 0 is text, 2 a result with what pleat does not know
		place(1, -1), place(1, 0), place(1, 2), place(1, 3), place(-1, 0), place(0, 0), place(0, 9), place(2, 0),
	} {
		if b.Fold(ref, "old", "", func(string, string) string { return "x" }) != nil {
			a.t.Errorf("%v is folded", ref)
		}
	}
	if b.Fold(place(1, 1), "old", "", func(string, string) string { return "x" }) == nil {
		a.t.Error("the result is not folded")
	}
}

// TestOutside: levers may ask for places and blocks that are not there.
func TestOutside(t *testing.T) {
	pleattest.Plan(t, 1_000, pleattest.Reading(5, 20), astray{t})
	strange := transcript.Result("8", "a long result that would be folded otherwise")
	strange.Parts = transcript.BlocksOf(append(strange.Parts.List(), transcript.Opaque{Type: "reference"})...)
	m := transcript.NewMessage(
		transcript.RoleUser, transcript.Say("Here it is."), transcript.Result("9", "a long result that can be folded"),
		strange,
	)
	p := &fold.Policy{Name: "p", AtBirth: fold.Steps{astray{t}}}
	if _, err := fold.AtBirth(t.Context(), pleattest.Source(transcript.User("Go.")), m, p, fold.BirthOptions{}); err != nil {
		t.Error(err)
	}
}
