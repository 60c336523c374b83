package pleat_test

import (
	"errors"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// A wire message that its codec cannot read back is stored in the neutral form: one odd
// message must not lock a session up for good.
func TestUnreadableWireMessage(t *testing.T) {
	store := store.NewMemory()
	o := &pleat.Options{Codecs: map[transcript.Format]transcript.Codec{
		transcript.FormatChat: func([]byte) (transcript.Message, error) { return transcript.Message{}, errors.New("odd") },
	}}
	s := open(t, store, o)
	m := transcript.WireMessage(
		transcript.RoleUser,
		transcript.FormatChat,
		`{"role":"user","content":"hello"}`,
		transcript.Say("hello"),
	)
	if err := s.Append(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	again := open(t, store, o)
	if got := message(t, again, 0); got.Text() != "hello" || got.Raw() != m.Raw() {
		t.Errorf("read back %q, raw %q", got.Text(), got.Raw())
	}
}
