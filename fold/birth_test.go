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
		transcript.User("Go."), transcript.Assistant(transcript.Call("a", "bash", `{"command":"make"}`)),
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
		folds, err := fold.AtBirth(t.Context(), src, m, p, o)
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
		if folds, err := fold.AtBirth(t.Context(), pleattest.Source(), m, p, fold.BirthOptions{Keep: keep}); err != nil ||
			len(folds) > 0 {
			t.Errorf("%d folds with the name %s, %v", len(folds), name, err)
		}
	}
}

// bornMeddler changes what it must not of a fold that it made, or of the message.
type bornMeddler struct {
	faulty
	meddle func(*fold.Birth, *fold.Fold)
}

func (m bornMeddler) Born(b *fold.Birth) {
	for i := range b.Results() {
		m.meddle(b, b.Fold(i, "large", "", func(handle, _ string) string { return "[large] " + b.Where(handle) }))
	}
}

// TestMeddlersAtBirth: folds that a lever changed are refused at birth as they are in a draft.
func TestMeddlersAtBirth(t *testing.T) {
	for name, meddle := range map[string]func(*fold.Birth, *fold.Fold){
		"none":   func(_ *fold.Birth, f *fold.Fold) { f.Final, f.Reason = false, "long" },
		"stub":   func(_ *fold.Birth, f *fold.Fold) { f.Stub = strings.Repeat("preview ", 9_000) },
		"blank":  func(_ *fold.Birth, f *fold.Fold) { f.Stub = "" },
		"after":  func(_ *fold.Birth, f *fold.Fold) { f.After = -1 },
		"place":  func(_ *fold.Birth, f *fold.Fold) { f.Start, f.End = f.Start-1, f.End-1 },
		"block":  func(_ *fold.Birth, f *fold.Fold) { f.Block-- },
		"hash":   func(_ *fold.Birth, f *fold.Fold) { f.Hash = transcript.HashOf("x") },
		"handle": func(_ *fold.Birth, f *fold.Fold) { f.Handle = "aaaaaaaa" },
	} {
		s := pleattest.Source(transcript.Assistant(transcript.Call("a", "bash", `{}`)))
		m := transcript.Results(transcript.Result("a", strings.Repeat("a line\n", 200)))
		p := &fold.Policy{Name: "test", AtBirth: fold.Steps{bornMeddler{meddle: meddle}}}
		folds, err := fold.AtBirth(t.Context(), s, m, p, fold.BirthOptions{})
		if own := name == "none"; own != (err == nil) || own != (len(folds) == 1) {
			t.Errorf("%s: %v, %v", name, folds, err)
		} else if !own && !strings.Contains(err.Error(), `lever "faulty" changed fold `) {
			t.Errorf("%s: %v does not name the lever", name, err)
		}
	}
}
