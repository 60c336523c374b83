package pleat_test

import (
	"errors"
	"testing"

	"github.com/pleat-dev/pleat"
)

// A wire message that its codec cannot read back is stored in the neutral form: one odd
// message must not lock a session up for good.
func TestUnreadableWireMessage(t *testing.T) {
	store := pleat.NewMemStore()
	o := &pleat.Options{Codecs: map[pleat.Format]pleat.Codec{
		pleat.FormatChat: func([]byte) (pleat.Message, error) { return pleat.Message{}, errors.New("odd") },
	}}
	s := open(t, store, o)
	m := pleat.WireMessage(pleat.RoleUser, pleat.FormatChat, `{"role":"user","content":"hello"}`, pleat.Say("hello"))
	if err := s.Append(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	again := open(t, store, o)
	if got := message(t, again, 0); got.Text() != "hello" || got.Raw() != m.Raw() {
		t.Errorf("read back %q, raw %q", got.Text(), got.Raw())
	}
}
