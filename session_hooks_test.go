package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
)

// TestHookChangesNothing: what a hook does to the plan that it sees, and a program to a report, is not carried out.
func TestHookChangesNothing(t *testing.T) {
	spoil := func(f *fold.Fold) { f.Stub, f.Handle, f.Start = "changed", "aaaaaaaa", 0 }
	for name, change := range map[string]func(*fold.Plan){
		"none":  func(*fold.Plan) {},
		"folds": func(p *fold.Plan) { p.Folds = nil },
		"plan":  func(p *fold.Plan) { *p = fold.Plan{} },
		"fold": func(p *fold.Plan) {
			for _, f := range p.Folds {
				spoil(f)
			}
			p.Folds[0] = nil
			for f := range p.In.In(0, 1_000) {
				spoil(f)
			}
		},
	} {
		s := busy(t, 30, &pleat.Options{Budget: fold.Budget{Window: 8_000}, Hooks: pleat.Hooks{
			BeforeEpoch: func(_ context.Context, p *fold.Plan) (pleat.EpochDecision, error) {
				change(p)
				return pleat.EpochDecision{}, nil
			},
		}})
		for range 2 {
			got, err := s.Messages(t.Context())
			if err != nil || len(s.Folds()) == 0 || strings.Contains(allText(got), "changed") {
				t.Errorf("%s: %d folds, %v", name, len(s.Folds()), err)
			}
			for _, f := range s.Folds() {
				if f.Handle == "aaaaaaaa" || f.Stub == "changed" {
					t.Errorf("%s: fold %d is changed", name, f.ID)
				}
			}
			for _, f := range s.Report().Folds {
				spoil(f)
			}
		}
	}
}

// wishful folds all there is, seen or not, which is refused.
type wishful struct{}

func (wishful) Name() string { return "wishful" }

func (l wishful) Pull(ctx context.Context, d *fold.Draft) error {
	start, end := d.Fit(0, d.Marks().End)
	f, err := d.Span(ctx, start, end, l, "all")
	if err == nil {
		f.Stub = "[all]"
		d.FoldSpan(f)
	}
	return err
}

// TestStaysRed: a view that nothing is folded of is warned of when it becomes red, and once more
// when it is too large to be sent. Observers and the log are told what was refused.
func TestStaysRed(t *testing.T) {
	var log strings.Builder
	var told []string
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy: fold.Policy{Name: "mine", AtRed: fold.Steps{wishful{}}}, Budget: fold.Budget{Window: 6_000},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) {
			if e.Kind == pleat.EventWarning {
				told = append(told, e.Warning)
				if e.Plan == nil || len(e.Plan.Refused) != 1 {
					t.Errorf("%q: the plan is %v", e.Warning, e.Plan)
				}
			}
		},
	})
	mustAppend(t, s, pleat.User("Go."))
	for i := range 40 {
		id := fmt.Sprint(i)
		mustAppend(t, s, pleat.Assistant(pleat.Call(id, "bash", `{"command":"make"}`)),
			pleat.Results(pleat.Result(id, strings.Repeat("a line\n", 100))))
		view(t, s)
	}
	if len(told) != 2 || strings.Contains(told[0], "may be sent") || !strings.Contains(told[1], "may be sent") {
		t.Errorf("warnings are %q", told)
	}
	if n := strings.Count(log.String(), "no model has seen a result in the stretch"); n != 2 {
		t.Errorf("the log tells %d times what was refused:\n%s", n, log.String())
	}
}

// A hook before an epoch that panics is an error, and nothing is folded; what one after it panics with
// is logged. The session goes on.
func TestHooksPanic(t *testing.T) {
	var log strings.Builder
	before := true
	s := busy(t, 30, &pleat.Options{
		Budget: fold.Budget{Window: 8_000}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Hooks: pleat.Hooks{
			BeforeEpoch: func(context.Context, *fold.Plan) (d pleat.EpochDecision, err error) {
				if before {
					panic("oops")
				}
				return d, nil
			},
			AfterEpoch: func(context.Context, pleat.Report) { panic("too late") },
		},
	})
	_, err := s.Messages(t.Context())
	if err == nil || !strings.Contains(err.Error(), "hook before epoch: panicked: oops") || len(s.Folds()) > 0 {
		t.Errorf("before: %v, %d folds", err, len(s.Folds()))
	}
	before = false
	if _, err := s.Messages(t.Context()); err != nil || len(s.Folds()) == 0 {
		t.Errorf("after: %v, %d folds", err, len(s.Folds()))
	}
	if !strings.Contains(log.String(), "panicked: too late") || !strings.Contains(log.String(), "session_hooks_test.go") {
		t.Errorf("the log has:\n%s", log.String())
	}
}

// touchy is a lever that panics when it is asked one thing.
type touchy struct{ asked string }

func (l touchy) panics(asked string) {
	if l.asked == asked {
		panic("oops")
	}
}

func (l touchy) Name() string                          { l.panics("Name"); return "touchy" }
func (touchy) Pull(context.Context, *fold.Draft) error { return nil }
func (l touchy) Check() error                          { l.panics("Check"); return nil }
func (l touchy) Asks() fold.Ask                        { l.panics("Asks"); return fold.Ask{} }
func (touchy) Ahead(*fold.Draft, int)                  {}
func (l touchy) MarshalJSON() ([]byte, error)          { l.panics("MarshalJSON"); return []byte("{}"), nil }

// A lever that panics when it is asked something is an error that names it, before anything is folded.
func TestLeverPanicsWhenAsked(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{})
	for _, asked := range []string{"", "Name", "Check", "Asks"} {
		p := fold.Policy{Name: "mine", AtRed: fold.Steps{touchy{asked}}}
		_, opened := pleat.OpenSession(t.Context(), store.NewMemory(), pleat.Key{Session: "s"}, &pleat.Options{Policy: p})
		_, pulled := s.Pull(t.Context(), touchy{asked})
		for _, err := range []error{opened, pulled} {
			if (err == nil) != (asked == "") || err != nil && (!strings.Contains(err.Error(), "touchy") ||
				!strings.Contains(err.Error(), "panicked: oops")) {
				t.Errorf("%s panics: got %v", asked, err)
			}
		}
	}
	for _, asked := range []string{"Name", "MarshalJSON"} {
		p := fold.Policy{Name: "mine", AtRed: fold.Steps{touchy{asked}}}
		if _, err := policy.Format(p); err == nil || !strings.Contains(err.Error(), "panicked: oops") {
			t.Errorf("%s panics: the policy is written, %v", asked, err)
		}
	}
	file := []byte(`{"name": "mine", "at_red": [{"lever": "unread"}]}`)
	if _, err := policy.Parse(file, unread{}); err == nil || !strings.Contains(err.Error(), "panicked: oops") {
		t.Errorf("UnmarshalJSON panics: the policy is read, %v", err)
	}
}

// unread is a lever whose settings cannot be read.
type unread struct{ idle }

func (unread) Name() string                { return "unread" }
func (*unread) UnmarshalJSON([]byte) error { panic("oops") }

// unnamed is a lever without a name.
type unnamed struct{ touchy }

func (unnamed) Name() string { return "" }

// posing is a lever with the name of one of pleat's own.
type posing struct{ touchy }

func (posing) Name() string { return "mask" }

// Pull refuses what a policy with these levers would be refused for.
func TestPullChecksLevers(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{})
	mustAppend(t, s, pleattest.Reading(12, 60)...)
	for want, l := range map[string]fold.Lever{
		"step 2 is nil":               (*lever.Mask)(nil),
		"has no name":                 unnamed{},
		"one of pleat's own":          posing{},
		`lever "mask": `:              lever.Mask{Keep: -1},
		"can only be pulled at birth": lever.Spill{Chars: 5},
	} {
		p, err := s.Pull(t.Context(), lever.Aim{}, l)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want an error with %q", p, err, want)
		}
	}
	if n := len(s.Folds()); n > 0 {
		t.Errorf("%d folds are made", n)
	}
}

// naming is a lever at birth that names copies by the ids of calls.
type naming struct{ idle }

func (naming) Name() string                    { return "naming" }
func (naming) MayFold([]int, fold.Limits) bool { return true }

func (naming) Born(b *fold.Birth) {
	for i, r := range b.Results() {
		b.Fold(i, "large", r.CallID, func(_, kept string) string { return "[in " + kept + "]" })
	}
}

// TestKeepFileNames: what comes from outside leads a copy nowhere else.
func TestKeepFileNames(t *testing.T) {
	var names []string
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy:   fold.Policy{Name: "p", AtBirth: fold.Steps{naming{}}, AtRed: fold.Steps{lever.Squeeze{}}},
		KeepFile: func(name string, _ []byte) (string, error) { names = append(names, name); return name, nil },
	})
	for _, id := range []string{"a", "/etc/cron.d/x", "../../x", "a\x00b"} {
		mustAppend(t, s,
			pleat.User("Go."), pleat.Assistant(pleat.Call(id, "bash", "{}")),
			pleat.Results(pleat.Result(id, strings.Repeat("log\n", 500))))
	}
	if len(names) != 4 || names[0] != "a" {
		t.Fatalf("kept %q", names)
	}
	for _, name := range names {
		if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) {
			t.Errorf("kept as %q", name)
		}
	}
}

// clear folds all there is, and shows nothing for it.
type clear struct{}

func (clear) Name() string { return "clear" }

func (c clear) Pull(ctx context.Context, d *fold.Draft) error {
	f, err := d.Span(ctx, 0, len(d.Facts()), c, "cleared")
	if err == nil {
		d.FoldSpan(f)
	}
	return err
}

// A view has messages, whatever a policy folds.
func TestViewWithoutMessages(t *testing.T) {
	p := fold.Policy{Name: "mine", AtRed: fold.Steps{clear{}}}
	s := open(t, store.NewMemory(), &pleat.Options{Policy: p, Budget: pleat.Budget{Window: 8_000}})
	mustAppend(t, s, pleattest.Reading(30, 60)...)
	mustAppend(t, s, pleat.Assistant(pleat.Say("Done.")), pleat.User("And now?"))
	if got := view(t, s); len(got) == 0 || len(got) == s.Len() && len(s.Folds()) == 0 {
		t.Errorf("%d messages of %d are shown, with %d folds", len(got), s.Len(), len(s.Folds()))
	}
}

// careless is a lever that cannot say what it saves.
type careless struct{ lever.Mask }

func (careless) Name() string { return "careless" }

func (careless) Saves(fold.Result) int { panic("oops") }

// hasty is a lever that fails at birth.
type hasty struct{ broken }

func (hasty) Name() string { return "hasty" }

func (hasty) MayFold([]int, fold.Limits) bool { panic("oops") }

func (hasty) Born(*fold.Birth) { panic("oops") }

// broken is a lever that fails, or panics.
type broken struct{ err error }

func (broken) Name() string { return "broken" }

func (b broken) Pull(context.Context, *fold.Draft) error {
	if b.err == nil {
		panic("oops")
	}
	return b.err
}

// The levers that do not fail fold without one that does, at birth, when it pays and at red. A warning names
// it, once.
func TestLeverLeftOut(t *testing.T) {
	for name, tt := range map[string]struct {
		p    fold.Policy
		want string
	}{
		"fails":      {fold.Policy{AtRed: fold.Steps{broken{errors.New("no network")}}}, `lever "broken": no network; `},
		"panics":     {fold.Policy{AtRed: fold.Steps{broken{}}}, `lever "broken" panicked: oops (`},
		"every turn": {fold.Policy{EveryTurn: fold.Steps{broken{}}}, `lever "broken" panicked: oops (`},
		"pays":       {fold.Policy{WhenItPays: fold.Steps{careless{}}}, `lever "careless" panicked: oops (`},
		"at birth":   {fold.Policy{AtBirth: fold.Steps{hasty{}}}, `lever "hasty" panicked: oops (`},
	} {
		t.Run(name, func(t *testing.T) {
			var warnings []string
			tt.p.Name, tt.p.AtRed = "mine", append(tt.p.AtRed, lever.Squeeze{})
			s := open(t, store.NewMemory(), &pleat.Options{
				Policy: tt.p, Budget: pleat.Budget{Window: 8_000},
				Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) {
					if e.Kind == pleat.EventWarning {
						warnings = append(warnings, e.Warning)
					}
				},
			})
			for range 4 {
				mustAppend(t, s, pleattest.Reading(12, 60)...)
				view(t, s)
			}
			if len(s.Folds()) == 0 {
				t.Error("nothing is folded")
			}
			if len(warnings) != 1 || !strings.HasPrefix(warnings[0], tt.want) {
				t.Errorf("warnings: %q", warnings)
			}
			if _, err := s.Pull(t.Context(), broken{}); err == nil {
				t.Error("what a caller pulled is left out")
			}
		})
	}
}
