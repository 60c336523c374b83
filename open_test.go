package pleat_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/store"
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
