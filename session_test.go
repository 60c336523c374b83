package pleat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/diff"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func open(t testing.TB, st store.Store, o *pleat.Options) *pleat.Session {
	t.Helper()
	s, err := pleat.OpenSession(context.Background(), st, store.SessionKey{Session: "test"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// work appends n rounds of reading files, each of about the given size.
func work(t testing.TB, s *pleat.Session, from, n, size int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		id := fmt.Sprintf("call_%d", i)
		text := strings.Repeat(fmt.Sprintf("line of file %d with some words in it\n", i), size/38)
		err := s.Append(context.Background(),
			transcript.Assistant(transcript.Say(fmt.Sprintf("Next, file %d.", i)), transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"src/file%d.go"}`, i))),
			transcript.Results(transcript.Result(id, text)))
		if err != nil {
			t.Fatal(err)
		}
	}
}

func message(t testing.TB, s *pleat.Session, i int) transcript.Message {
	t.Helper()
	m, err := s.Message(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func view(t testing.TB, s *pleat.Session) []transcript.Message {
	t.Helper()
	v, err := s.View(context.Background(), pleat.Turn{})
	if err != nil {
		t.Fatal(err)
	}
	msgs, err := s.Resolve(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	return msgs
}

func dump(t testing.TB, msgs []transcript.Message) string {
	t.Helper()
	data, err := json.MarshalIndent(msgs, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSessionPassesThroughWhileSmall(t *testing.T) {
	s := open(t, store.NewMemory(), nil)
	if err := s.Append(t.Context(), transcript.User("hello")); err != nil {
		t.Fatal(err)
	}
	work(t, s, 0, 5, 400)
	v, err := s.View(t.Context(), pleat.Turn{})
	if err != nil {
		t.Fatal(err)
	}
	if !v.IsWhole(s.Len()) {
		t.Error("the view of a small session is not the whole transcript")
	}
}

func TestSessionFitsAndRestores(t *testing.T) {
	store := store.NewMemory()
	o := &pleat.Options{Budget: fold.Budget{Window: 8_000}}
	s := open(t, store, o)
	if err := s.Append(t.Context(), transcript.User("Read all files. Never touch legacy/.")); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		work(t, s, i, 1, 4_000)
		view(t, s)
		if snap := s.Snapshot(); snap.Tokens > snap.Limits.Max {
			t.Fatalf("turn %d: %d tokens, at most %d may be sent", i, snap.Tokens, snap.Limits.Max)
		}
	}
	got := dump(t, view(t, s))
	if !strings.Contains(got, "Never touch legacy/.") {
		t.Error("the user's rule is not in the view")
	}
	again := dump(t, view(t, open(t, store, o)))
	if d := diff.Values(got, again); d != "" {
		t.Errorf("restored view (-live +restored):\n%s", d)
	}
	t.Log(s.Report())
	t.Log(got)
}
