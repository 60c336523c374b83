package lever_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

func TestDigest(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lever fold.Lever
		want  string // results that are shown, of 9, or quoted by the page
		texts []string
	}{
		{"all but the newest", lever.Digest{Keep: 4}, "78", []string{"Never touch legacy/.", "src/{file0.go,"}},
		{"more of the newest where there is room", lever.Digest{Keep: 2, Fill: true}, "345678", nil},
		{"everything", lever.Digest{Whole: true, Tokens: 400}, "678", []string{"Never touch legacy/."}},
		{
			"in a frame",
			lever.Digest{Keep: 4, Stub: "<{n}>\n{summary}\n</>", Ack: "Understood."},
			"78",
			[]string{"<14>\n", "\n</>", "Understood."},
		},
		{
			"no model: pleat's page",
			lever.Summarize{Keep: 4, Stub: "<{n}>\n{summary}"},
			"78",
			[]string{"<14>\n", "src/{file0.go,"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := started(t, 9, 6_000, tt.lever)
			if got := shown(t, s, 9); got != tt.want {
				t.Errorf("results %q are shown, want %q", got, tt.want)
			}
			has(t, s, tt.texts...)
		})
	}
	refused(t, lever.Digest{Keep: -1}, "must not be negative")
	refused(t, lever.Summarize{Words: -1}, "must not be negative")
}

// Masks alone spare a view the page only while they hide little: of much, a page says more.
func TestDigestSpare(t *testing.T) {
	for _, tt := range []struct{ spare, pages int }{{0, 0}, {1, 1}} {
		s := started(
			t,
			20,
			10_000,
			lever.Aim{},
			lever.Mask{Keep: 3},
			lever.Digest{Keep: 4, Fill: true, Spare: tt.spare},
			lever.Refill{},
		)
		view(t, s)
		got := make(map[string]int)
		for _, f := range s.Report().Folds {
			got[f.Lever]++
		}
		if got["digest"] != tt.pages || got["mask"] == 0 {
			t.Errorf("spare %d: folds %v, want masks and %d pages", tt.spare, got, tt.pages)
		}
	}
}

// With a model, summarize shows its text as it came.
func TestSummarize(t *testing.T) {
	s := openWith(t, &pleat.Options{
		Policy: fold.Policy{Name: "test", AtRed: fold.Steps{lever.Summarize{Keep: 4, Stub: "<{summary}>"}}},
		Budget: fold.Budget{Window: 6_000},
		Digest: digest.Options{
			Generator: &pleattest.Script{Steps: []pleattest.Step{pleattest.Say("file0.go and file1.go were read.")}},
		},
	})
	say(t, s, transcript.User("Read all files."))
	reads(t, s, 0, 9)
	if all := strings.Join(view(t, s), "\n"); !strings.Contains(all, "<file0.go and file1.go were read.>") {
		t.Errorf("no summary:\n%.1000s", all)
	}
}

// The folds of levers that ask a model are digests; others are not.
func TestIsDigest(t *testing.T) {
	for _, tt := range []struct {
		lever fold.Lever
		want  bool
	}{
		{lever.Digest{Keep: 4}, true},
		{lever.Summarize{Keep: 4}, true},
		{lever.Snip{Above: 5, Head: 1, Tail: 4}, false},
		{lever.Mask{Keep: 4}, false},
	} {
		p, err := started(t, 9, 6_000, tt.lever).Plan(t.Context(), "")
		if err != nil || len(p.Folds) == 0 {
			t.Fatalf("%s: %d folds, %v", tt.lever.Name(), len(p.Folds), err)
		}
		if got := p.Folds[0].Digest; got != tt.want {
			t.Errorf("%s: got %v", tt.lever.Name(), got)
		}
	}
}

// A digest ends before the first result that no model has seen: a stretch that hides one is
// not folded, and a model would be paid for a text that no page shows.
func TestDigestStopsAtUnseen(t *testing.T) {
	script := &pleattest.Script{Steps: []pleattest.Step{pleattest.Say("## Findings\nFiles were read.")}}
	s := openWith(t, &pleat.Options{
		Policy: fold.Policy{Name: "test", AtRed: fold.Steps{lever.Summarize{Keep: 2, Stub: "<{summary}>"}}},
		Budget: fold.Budget{Window: 6_000},
		Digest: digest.Options{Generator: script},
	})
	say(t, s, transcript.User("Read all files."))
	reads(t, s, 0, 8)
	say(t, s, transcript.User("And go on."), transcript.User("Please."), transcript.User("Now."))
	if all := strings.Join(view(t, s), "\n"); !strings.Contains(all, "<") ||
		!strings.Contains(all, "a line of result 7.") ||
		strings.Contains(all, "a line of result 1.") {
		t.Errorf("the digest is not used:\n%.1500s", all)
	}
}

// The folds of a plan save together what the plan saves, also where a page covers what
// another lever has folded first.
func TestDigestCountsWhatItCovers(t *testing.T) {
	s := started(t, 12, 100_000, lever.Mask{Keep: 1, All: true}, lever.Digest{Keep: 2})
	p, err := s.Compact(t.Context(), "")
	difftest.Must(t, err)
	saved := 0
	for _, f := range p.Folds {
		saved += f.Before - f.After
	}
	if len(p.Folds) == 0 || saved != p.Before-p.After {
		t.Errorf("%d folds save %d tokens, the plan %d", len(p.Folds), saved, p.Before-p.After)
	}
}

// A model is asked for the newest turns too where they do not fit beside its digest: only the
// newest round stays then.
func TestDigestTellsNewestTurns(t *testing.T) {
	for _, tt := range []struct {
		window int
		want   bool // it reads the round before the newest
	}{{6_000, true}, {24_000, false}} {
		script := pleattest.Always("## Findings\nFiles were read.")
		s := openWith(t, &pleat.Options{
			Policy: fold.Policy{Name: "test", AtRed: fold.Steps{lever.Digest{Keep: 8, Fill: true}}},
			Budget: fold.Budget{Window: tt.window},
			Digest: digest.Options{Generator: script, NoFork: true, NoBackground: true},
		})
		say(t, s, transcript.User("Read all files."))
		reads(t, s, 0, 60)
		view(t, s)
		if len(script.Requests()) == 0 {
			t.Fatalf("window %d: no model is asked", tt.window)
		}
		got := script.Requests()[0].Messages[0].Text()
		if strings.Contains(got, "a line of result 59.") || strings.Contains(got, "a line of result 58.") != tt.want {
			t.Errorf("window %d: it reads the newest round, or of the one before it %v", tt.window, !tt.want)
		}
	}
}
