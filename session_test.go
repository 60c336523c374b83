package pleat_test

import (
	"encoding/json"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// What these tests do most, by short names.
var (
	open    = pleattest.Open
	work    = pleattest.Read
	view    = pleattest.View
	allText = pleattest.Text

	mustAppend = pleattest.Append
)

func unfold(t testing.TB, s *pleat.Session, r recall.UnfoldRequest) recall.Unfolded {
	t.Helper()
	u, err := s.Unfold(t.Context(), r)
	must(t, err)
	return u
}

// must ends the test if something on its way failed.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func messages(t testing.TB, s *pleat.Session) []transcript.Message {
	t.Helper()
	msgs, err := s.Messages(t.Context())
	must(t, err)
	return msgs
}

func dump(t testing.TB, msgs []transcript.Message) string {
	t.Helper()
	data, err := json.MarshalIndent(msgs, "", " ")
	must(t, err)
	return string(data)
}

func TestSessionPassesThroughWhileSmall(t *testing.T) {
	s := open(t, store.NewMemory(), nil)
	mustAppend(t, s, transcript.User("hello"))
	work(t, s, 0, 5, 400)
	v, err := s.View(t.Context(), pleat.Turn{})
	must(t, err)
	if !v.IsWhole(s.Len()) {
		t.Error("the view of a small session is not the whole transcript")
	}
}
