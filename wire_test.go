package pleat_test

import (
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

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
