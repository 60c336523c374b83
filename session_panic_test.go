package pleat_test

import (
	"context"
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
	if !strings.Contains(log.String(), "panicked: too late") || !strings.Contains(log.String(), "session_panic_test.go") {
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
func (l touchy) Behind() int                           { l.panics("Behind"); return 0 }
func (l touchy) MarshalJSON() ([]byte, error)          { l.panics("MarshalJSON"); return []byte("{}"), nil }

// A lever that panics when it is asked something is an error that names it, before anything is folded.
func TestLeverPanicsWhenAsked(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{})
	for _, asked := range []string{"", "Name", "Check", "Asks", "Behind"} {
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
