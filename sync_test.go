package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func TestAnswer(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Tools: pleat.RecallTools()})
	work(t, s, 0, 1, 400)
	handle := s.Ledger(pleat.LedgerFilter{})[0].Handle
	r, ok := s.Answer(t.Context(), pleat.Call("c", "unfold", `{"handle":"`+handle+`"}`))
	if !ok || r.Error || r.CallID != "c" || !strings.Contains(r.Text(), "line of file 0") {
		t.Errorf("unfold: %v %+v", ok, r)
	}
	if r, ok := s.Answer(t.Context(), pleat.Call("d", "unfold", `{"handle":"zzzzzzzz"}`)); !ok || !r.Error {
		t.Errorf("a handle that is not there: %v %+v", ok, r)
	}
	if _, ok := s.Answer(t.Context(), pleat.Call("e", "bash", `{}`)); ok {
		t.Error("answered a call of somebody else's tool")
	}
}

// TestSync hands over whole histories: longer ones, the same one, an edited one, one that
// was taken back.
func TestSync(t *testing.T) {
	st := store.NewMemory()
	s := open(t, st, nil)
	sync := func(s *pleat.Session, history []pleat.Message) *pleat.Session {
		t.Helper()
		next := mustSync(t, s, history)
		msgs, err := next.Resolve(t.Context(), transcript.Whole(next.Len()))
		must(t, err)
		if allText(msgs) != allText(history) {
			t.Errorf("the session has\n%s\nwant\n%s", allText(msgs), allText(history))
		}
		return next
	}
	think := transcript.Thinking{Text: transcript.Plain("hmm")}
	history := []pleat.Message{
		pleat.User("Hello."),
		pleat.Assistant(pleat.Say("Hi."), pleat.Call("a", "ls", `{}`)),
		pleat.Results(pleat.Result("a", "file.go")),
	}
	if sync(s, history[:1]) != s || sync(s, history) != s || sync(s, history) != s || s.Len() != 3 {
		t.Fatalf("a growing history: %d messages", s.Len())
	}
	thought := append([]pleat.Message{}, history...)
	thought[1] = pleat.Assistant(think, pleat.Say("Hi."), pleat.Call("a", "ls", `{}`))
	if mustSync(t, s, append(thought, say("One file."))) != s || s.Len() != 4 {
		t.Errorf("thinking that the session does not have makes another conversation: %d messages", s.Len())
	}
	edited := append([]pleat.Message{}, history...)
	edited[2] = pleat.Results(pleat.Result("a", "other.go"))
	fork := sync(s, edited)
	if fork == s || s.Len() != 4 || !strings.HasPrefix(fork.Key().Session, "test~") {
		t.Errorf("an edit: session %s, the first has %d messages", fork.Key(), s.Len())
	}
	if again := sync(s, edited); again.Key() != fork.Key() {
		t.Errorf("the same edit is session %s, then %s", fork.Key(), again.Key())
	}
	if fork = sync(fork, append(edited, pleat.User("And now?"))); fork.Len() != 4 {
		t.Errorf("the fork has %d messages", fork.Len())
	}
	other := append([]pleat.Message{}, history...)
	other[1] = pleat.Assistant(pleat.Say("Hi."), pleat.Call("a", "rm", `{}`))
	if fork := sync(s, other); fork == s {
		t.Error("a call of another tool with the same input is taken for the same message")
	}
	if back := sync(s, history[:1]); back == s || back.Len() != 1 {
		t.Errorf("a shorter history: %s has %d messages", back.Key(), back.Len())
	}
	first := sync(s, []pleat.Message{pleat.User("Another question.")})
	if first == s || first.Len() != 1 {
		t.Errorf("another beginning: %s has %d messages", first.Key(), first.Len())
	}
	handle := s.Ledger(pleat.LedgerFilter{})[0].Handle
	if _, err := first.Unfold(t.Context(), pleat.UnfoldRequest{Handle: handle}); !errors.Is(err, pleat.ErrNotFound) {
		t.Errorf("a fork from the beginning knows handles of the other: %v", err)
	}
}

// TestSyncNothing hands over what says nothing: that is no other conversation. System messages alone
// are one of which nothing was said yet.
func TestSyncNothing(t *testing.T) {
	s := mustSync(t, open(t, store.NewMemory(), nil), []pleat.Message{system("Be brief.")})
	s = mustSync(t, s, []pleat.Message{system("Be brief.")}) // nothing was said yet
	s = mustSync(t, s, turns(1, 40))
	for _, history := range [][]pleat.Message{nil, {{}}, append(turns(1, 40), pleat.Message{})} {
		if did, err := s.Sync(t.Context(), history); err == nil || did.From != s.Key() || s.Len() != 4 {
			t.Errorf("%d messages: %v, it goes on in %s with %d", len(history), err, s.Key(), s.Len())
		}
	}
	for range 2 {
		next := mustSync(t, s, []pleat.Message{system("Be long.")})
		if got := allText(view(t, next)); next == s || got != allText([]pleat.Message{system("Be long.")}) {
			t.Errorf("system messages alone go on in %s with %s", next.Key(), got)
		}
		if mustSync(t, next, []pleat.Message{system("Be long."), pleat.User("Hi.")}) != next {
			t.Error("the first words go on in another session")
		}
	}
	fresh := open(t, store.NewMemory(), nil)
	for _, history := range [][]pleat.Message{nil, {{}}} {
		if _, err := fresh.Sync(t.Context(), history); err == nil || fresh.Len() > 0 {
			t.Errorf("%d messages that say nothing begin a session: %v", len(history), err)
		}
	}
}

// TestSyncRenamedAndEdited: where calls have other ids and a result was edited behind folds, no
// copy of the session goes on as the history does. The history gets a session of its own, at once.
func TestSyncRenamedAndEdited(t *testing.T) {
	history := func(ids, newest string) []pleat.Message {
		list := []pleat.Message{pleat.User("Find the bug")}
		for i := range 4 {
			id, text := fmt.Sprint(ids, i), strings.Repeat(fmt.Sprintln("content", i), 400)
			if i == 3 {
				text += newest
			}
			call := pleat.Call(id, "read", fmt.Sprintf(`{"path":"f%d"}`, i))
			list = append(list, pleat.Assistant(call), pleat.Results(pleat.Result(id, text)))
		}
		return append(list, pleat.Assistant(pleat.Say("done")), pleat.User("and now?"))
	}
	mem := store.NewMemory()
	s := mustSync(t, open(t, mem, &pleat.Options{Budget: fold.Budget{Window: 6000}}), history("", "")[:9])
	view(t, s) // folds
	for range 2 {
		own := mustSync(t, s, history("x", "edited"))
		if own.Len() != 11 || len(own.Violations()) > 0 {
			t.Errorf("%s has %d messages, %v", own.Key(), own.Len(), own.Violations())
		}
		if longer := mustSync(t, own, append(history("x", "edited"), say("here"))); longer != own {
			t.Errorf("a longer history is in %s", longer.Key())
		}
	}
}

// TestSyncTold goes on with a history whose first answer changes at every turn, and then one that grows:
// Sync says of each what it did, observers are told of the first fork in a row, and of no error.
func TestSyncTold(t *testing.T) {
	var told []string
	s := open(t, store.NewMemory(), &pleat.Options{Observe: func(_ context.Context, key pleat.Key, e pleat.Event) {
		if e.Kind == pleat.EventFork || e.Kind == pleat.EventError || e.Kind == pleat.EventWarning {
			told = append(told, fmt.Sprint(e.Kind, " ", key.Session != e.From.Session, " ", e.Shared, " ", e.Reason, e.Err))
		}
	}})
	history := func(n, way int) []pleat.Message {
		all := talk(n)
		all[1] = say(fmt.Sprint("First, as way ", way))
		return all
	}
	sync := func(h []pleat.Message) pleat.Synced {
		t.Helper()
		did, err := s.Sync(t.Context(), h)
		if must(t, err); s.Len() != len(h) || did.Appended != (did.Reason == "") || did.Appended != (did.From == s.Key()) {
			t.Errorf("%s has %d messages of %d: %+v", s.Key(), s.Len(), len(h), did)
		}
		return did
	}
	if did := sync(history(2, 0)); !did.Appended || did.Shared != 0 {
		t.Errorf("the first history: %+v", did)
	}
	for way := range 10 {
		if did := sync(history(3+way, 1+way)); !did.Forked || did.Shared != 1 {
			t.Errorf("way %d: %+v", way, did)
		}
	}
	for _, way := range []int{3, 7, 3, 5} { // back to ways that there are
		sync(history(20, way))
	}
	const first = "fork true 1 message 1 of the history is not message 1 of the session<nil>"
	if len(told) != 1 || told[0] != first {
		t.Errorf("told %q, want %q once", told, first)
	}
	sync(history(21, 5))
	if did := sync([]pleat.Message{pleat.User("Something else.")}); !did.New || did.Shared != 0 || len(told) != 2 {
		t.Errorf("another conversation: %+v, told %q", did, told)
	}
	if last := told[len(told)-1]; !strings.Contains(last, "the history has nothing of the session") {
		t.Errorf("told %q", last)
	}
}

// TestSyncUndoneView: a view that was stored back is known also when all of its folds were undone.
func TestSyncUndoneView(t *testing.T) {
	ctx := t.Context()
	for name, undo := range map[string]func(*pleat.Session) error{
		"undo": func(s *pleat.Session) error { return s.Undo(ctx) },
		"all":  func(s *pleat.Session) error { return s.UndoAll(ctx) },
	} {
		s := open(t, store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 9_000}, Tools: pleat.RecallTools()})
		key := s.Key()
		history := []pleat.Message{pleat.User("Find the bug.")}
		round := func(i int) {
			id := fmt.Sprint("c", i)
			history = append(history, pleat.Assistant(pleat.Call(id, "read", fmt.Sprintf(`{"path":"f%d.go"}`, i))),
				pleat.Results(pleat.Result(id, strings.Repeat(fmt.Sprintf("line of file %d\n", i), 200))))
		}
		var err error
		for i := 0; s.Snapshot().Epoch == 0; i++ {
			round(i)
			s = mustSync(t, s, history)
			if history, err = s.Messages(ctx); err != nil { // stored back
				t.Fatal(err)
			}
		}
		must(t, undo(s))
		n := s.Len()
		round(99)
		if s = mustSync(t, s, history); s.Key() != key || s.Len() != n+2 {
			t.Errorf("%s: session %s with %d messages, want %s with %d", name, s.Key(), s.Len(), key, n+2)
		}
	}
}
