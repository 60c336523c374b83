package pleat_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// OpenSession refuses what makes no sense, and says what that is.
func TestOpenSessionRefuses(t *testing.T) {
	steps := fold.Steps{lever.Mask{Keep: 3}}
	for _, tt := range []struct {
		name  string
		store store.Store
		key   string
		opts  pleat.Options
		want  string
	}{
		{"no store", nil, "a", pleat.Options{}, "the store is nil"},
		{"no store behind a pointer", (*store.Memory)(nil), "a", pleat.Options{}, "the store is nil"},
		{"no name", store.NewMemory(), "", pleat.Options{}, "no session name"},
		{"window", store.NewMemory(), "a", pleat.Options{Budget: fold.Budget{Window: -5}}, "a window of -5 tokens"},
		{"share", store.NewMemory(), "a", pleat.Options{Budget: fold.Budget{Red: fold.Share(3)}}, "red at 300%"},
		{"tool", store.NewMemory(), "a", pleat.Options{Tools: append(pleat.RecallTools(), pleat.Tool{})}, "of 7 has no name"},
		{"memory", store.NewMemory(), "a", pleat.Options{Memory: -1}, "Memory is -1"},
		{
			"policy without steps", store.NewMemory(), "a",
			pleat.Options{Policy: fold.Policy{Name: "mine"}},
			`policy "mine": it has no steps`,
		},
		{
			"policy without a name", store.NewMemory(), "a",
			pleat.Options{Policy: fold.Policy{AtRed: steps}},
			"it has no name",
		},
		{
			"nil step", store.NewMemory(), "a",
			pleat.Options{Policy: fold.Policy{Name: "mine", AtRed: append(steps, nil)}},
			"step 2 of at_red is nil",
		},
		{
			"nil pointer", store.NewMemory(), "a",
			pleat.Options{Policy: fold.Policy{Name: "mine", AtRed: append(steps, (*lever.Mask)(nil))}},
			"step 2 of at_red is nil",
		},
		{
			"policy's budget", store.NewMemory(), "a",
			pleat.Options{Policy: fold.Policy{Name: "mine", AtRed: steps, Budget: fold.Budget{Window: -5}}},
			"a window of -5",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := pleat.OpenSession(t.Context(), tt.store, store.SessionKey{Session: tt.key}, &tt.opts)
			if err == nil {
				s.Close()
				t.Fatal("it opened")
			}
			if got := err.Error(); !strings.HasPrefix(got, "open session") || !strings.Contains(got, tt.want) {
				t.Errorf("got error %q, want one with %q", got, tt.want)
			}
		})
	}
}

// TestWireOption stores a message as it came off the wire and reads it back with the codec
// that the wire brought along.
func TestWireOption(t *testing.T) {
	m := model.Model{ID: "m", Window: 50_000}
	o := &pleat.Options{Wire: anthropic.Messages(m)}
	st := store.NewMemory()
	s := open(t, st, o)
	const raw = `{"role":"user", "content":"Go."}`
	msg, err := anthropic.DecodeMessage([]byte(raw))
	if err == nil {
		err = s.Append(t.Context(), msg)
	}
	must(t, err)
	again := open(t, st, o)
	got, err := again.Message(t.Context(), 0)
	if err != nil || got.Raw() != raw || got.Format() != transcript.FormatAnthropic {
		t.Errorf("%q, %v", got.Raw(), err)
	}
	if w := int(again.Snapshot().Limits.Window); w != m.Window {
		t.Errorf("a window of %d, want the model's", w)
	}
}

// TestModelByID: the table says what a model is of which only the name is given.
func TestModelByID(t *testing.T) {
	want, _ := model.DefaultModels().Lookup("gpt-4o")
	for name, o := range map[string]*pleat.Options{
		"model": {Model: model.Model{ID: "gpt-4o"}},
		"wire":  {Wire: anthropic.Messages(model.Model{ID: "gpt-4o"})},
	} {
		if got := int(open(t, store.NewMemory(), o).Snapshot().Limits.Window); got != want.Window {
			t.Errorf("%s: a window of %d, want %d", name, got, want.Window)
		}
	}
	o := &pleat.Options{Model: model.Model{ID: "gpt-4o", Window: 50_000}}
	if got := open(t, store.NewMemory(), o).Snapshot().Limits.Window; got != 50_000 {
		t.Errorf("a window of %d where 50,000 were given", got)
	}
}
