package fold_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

// TestAtBirth folds results of a message that is about to join a conversation of two.
func TestAtBirth(t *testing.T) {
	src := pleattest.Source(
		transcript.User("Go."),
		transcript.Assistant(transcript.Call("a", "bash", `{"command":"make"}`)),
	)
	long := strings.Repeat("a line\n", 2_000)
	p := &fold.Policy{Name: "test", AtBirth: fold.Steps{lever.Spill{Chars: 1_000, Preview: 200, Dir: "out"}}}
	for _, tt := range []struct {
		name string
		text string
		keep bool
		want int
	}{
		{"short", "a line\n", false, 0},
		{"long", long, false, 1},
		{"long, with a plain copy", long, true, 1},
	} {
		kept := ""
		o := fold.BirthOptions{Limits: fold.Budget{Window: 100_000}.Limits(), Folds: 7, Recall: fold.UnfoldCall}
		if tt.keep {
			o.Keep = func(name, text string) string {
				kept = text
				return "/tmp/" + name
			}
		}
		m := transcript.Results(transcript.Result("a", tt.text))
		if may, err := p.MayFoldAtBirth(m, func(int) int { return len(tt.text) }, o.Limits); err != nil ||
			may != (tt.want > 0) {
			t.Errorf("%s: may fold: %v, %v", tt.name, may, err)
		}
		folds, err := fold.AtBirth(src, m, p, o)
		if err != nil || len(folds) != tt.want {
			t.Fatalf("%s: %d folds, %v", tt.name, len(folds), err)
		}
		for _, f := range folds {
			if f.ID != 8 || f.Start != 2 || f.Block != 0 || !f.Final || f.After >= f.Before || f.Bytes != len(long) ||
				!strings.Contains(f.Stub, "bash make") || !strings.Contains(f.Stub, fold.UnfoldCall(f.Handle)) {
				t.Errorf("%s: %+v", tt.name, f)
			}
			if (f.File != "") != tt.keep || tt.keep && kept != long {
				t.Errorf("%s: plain copy %q of %d bytes", tt.name, f.File, len(kept))
			}
		}
	}
}

// blank replaces results by space.
type blank struct{ faulty }

func (blank) Born(b *fold.Birth) {
	for i := range b.Results() {
		b.Fold(i, "large", "out.txt", func(_, kept string) string { return " " + kept })
	}
}

// TestBlankAtBirth: a stub that says nothing replaces nothing.
func TestBlankAtBirth(t *testing.T) {
	m := transcript.Results(transcript.Result("a", strings.Repeat("a line\n", 200)))
	p := &fold.Policy{Name: "test", AtBirth: fold.Steps{blank{}}}
	for name, keep := range map[string]func(name, text string) string{
		"": nil, "of a copy that was not kept": func(string, string) string { return "" },
	} {
		if folds, err := fold.AtBirth(pleattest.Source(), m, p, fold.BirthOptions{Keep: keep}); err != nil ||
			len(folds) > 0 {
			t.Errorf("%d folds with the name %s, %v", len(folds), name, err)
		}
	}
}
