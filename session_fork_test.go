package pleat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// A fork folds no result that it has never shown, also if an answer to it follows: another
// session showed it, in whatever form.
func TestForkUnseen(t *testing.T) {
	ctx, o := t.Context(), &pleat.Options{Budget: fold.Budget{Window: 12_000}, Tokens: counter}
	fork := forked(t, o, append(looked("1"), looked("2")...)...)
	var news []transcript.Message
	for _, id := range []string{"3", "4", "5", "6", "7"} {
		news = append(news, looked(id)...)
	}
	if _, err := inside.Of(fork).Mark(ctx, []string{"b"}, nil, news...); err != nil {
		t.Fatal(err)
	}
	if _, err := fork.Pull(ctx, lever.Mask{Keep: 1, All: true}); err != nil {
		t.Fatal(err)
	}
	var shown string
	for _, m := range messages(t, fork) {
		for _, b := range m.Blocks().All() {
			if r, ok := b.(transcript.ToolResult); ok && strings.HasPrefix(r.Text(), "result ") {
				shown += r.CallID
			}
		}
	}
	if shown != "34567" {
		t.Errorf("results %q are shown, want those that the fork has never shown", shown)
	}
}

// looked is a call with a result of some length.
func looked(id string) []transcript.Message {
	return []transcript.Message{
		transcript.Assistant(transcript.Call(id, "bash", `{"command":"x `+id+`"}`)),
		transcript.Results(transcript.Result(id, "result "+id+strings.Repeat("\nanother line of it", 150))),
	}
}

// forked is a fork of a session in which the user has said one thing, and what follows.
func forked(t *testing.T, o *pleat.Options, then ...transcript.Message) *pleat.Session {
	t.Helper()
	st, from, to := store.NewMemory(), store.SessionKey{Session: "from"}, store.SessionKey{Session: "to"}
	s := openKey(t, st, from, o)
	at, err := inside.Of(s).Mark(t.Context(), []string{"a"}, nil, append([]transcript.Message{transcript.User("Go.")}, then...)...)
	must(t, err)
	must(t, pleat.Fork(t.Context(), st, from, at, to, nil))
	return openKey(t, st, to, o)
}

// Where what a fork has never shown does not fit, results that an answer follows go before
// those that no model has seen at all.
func TestForkUnseenTooMuch(t *testing.T) {
	fork := forked(t, &pleat.Options{Budget: fold.Budget{Window: 6_000}, Tokens: counter})
	for i := range 12 {
		mustAppend(t, fork, looked(fmt.Sprint(i))...)
	}
	msgs := messages(t, fork)
	r, ok := msgs[len(msgs)-1].Blocks().At(0).(transcript.ToolResult)
	if !ok || r.Text() != looked("11")[1].Blocks().At(0).(transcript.ToolResult).Text() {
		t.Errorf("the newest result, which no model has seen, is not whole: %v", msgs[len(msgs)-1])
	}
}

// A fork that is used without marks has shown what its views had.
func TestForkWithoutMarksSees(t *testing.T) {
	fork := forked(t, &pleat.Options{Budget: fold.Budget{Window: 100_000}, Tokens: counter})
	for _, id := range []string{"1", "2", "3", "4"} {
		mustAppend(t, fork, looked(id)...)
		view(t, fork)
	}
	plan, err := fork.Pull(t.Context(), lever.Mask{Keep: 1, All: true})
	must(t, err)
	if len(plan.Folds) != 3 {
		t.Errorf("%d results are folded, want the 3 that the fork has shown", len(plan.Folds))
	}
}

// A pin that no view has room for is refused.
func TestPinTooLarge(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 8_000}})
	if err := s.Pin(t.Context(), strings.Repeat("Never touch legacy. ", 1_000)); err == nil || len(s.Pins()) != 0 {
		t.Errorf("it was kept: %v", err)
	}
	text, failed, _ := inside.Of(s).Answer(t.Context(), "pin", `{"text":"`+strings.Repeat("Never touch legacy. ", 1_000)+`"}`)
	if !failed || strings.Contains(text, "kept") {
		t.Errorf("the model is told %q", text)
	}
	if err := s.Pin(t.Context(), "Never touch legacy."); err != nil {
		t.Error(err)
	}
}

// On a model that binds thinking, a fork says that thinking which another session got may be
// dropped, since that session may have folded something before it; so does the fork once it is
// opened again. What the fork itself gets is its own.
func TestForkUnbindsThinking(t *testing.T) {
	o := &pleat.Options{Model: model.Model{Window: 200_000, Thinking: model.ThinkingRule{Bound: true}}}
	st := store.NewMemory()
	round := func(id string) []transcript.Message {
		th := transcript.Thinking{Text: transcript.Plain("hmm " + id), Signature: "sig"}
		return []transcript.Message{
			transcript.Assistant(th, transcript.Call(id, "ls", `{}`)), transcript.Results(transcript.Result(id, "has "+id)),
		}
	}
	loose := func(s *pleat.Session) bool {
		t.Helper()
		v, err := s.View(t.Context(), pleat.Turn{})
		must(t, err)
		return v.DropThinking
	}
	s := open(t, st, o)
	history := slices.Concat([]transcript.Message{transcript.User("Go.")}, round("1"), round("2"))
	if mustSync(t, s, history); loose(s) {
		t.Error("the session says it of its own thinking")
	}
	other := append(history[:1:1], transcript.User("Go on."))
	own := mustSync(t, s, other)
	if loose(own) || loose(mustSync(t, own, append(other, round("3")...))) {
		t.Error("a fork says it of its own thinking")
	}
	changed := append(history[:2:2], transcript.Results(transcript.Result("1", "has more")))
	fork := mustSync(t, s, append(changed, round("2")...))
	if fork == s || !loose(fork) {
		t.Error("the fork does not say that thinking of another session may be dropped")
	}
	again, err := pleat.OpenSession(t.Context(), st, fork.Key(), o)
	if err != nil || !loose(again) {
		t.Errorf("the fork does not say it when it is opened again: %v", err)
	}
}

// A fork that Sync makes has the pins of the session, and knows how much the provider takes, also
// what was said of it behind the place where they part.
func TestForkInherits(t *testing.T) {
	ctx := t.Context()
	s := open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 64_000}})
	h := []transcript.Message{transcript.User("Find the bug.")}
	for i := range 12 {
		said := strings.Repeat(fmt.Sprintf("module_%d.go has value-%d. ", i, i*7919), 200)
		h = append(h, transcript.Assistant(transcript.Say(said)), transcript.User(fmt.Sprint("go on ", i)))
	}
	must(t, s.Pin(ctx, "let it go"))
	sync := func() {
		t.Helper()
		var err error
		if _, err = s.Sync(ctx, h); err == nil {
			_, err = s.Messages(ctx)
		}
		must(t, err)
	}
	sync()
	first := s.Key()
	refusal := model.ClassifyError(400, "",
		[]byte(`{"error":{"message":"prompt is too long: 31000 tokens > 9000 maximum"}}`))
	if _, err := s.Refused(ctx, refusal); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.Pin(ctx, "never push to main"), s.Unpin(ctx, "let it go")} {
		must(t, err)
	}
	h = append(h[:len(h)-2], transcript.User("no, do it differently"))
	sync()
	if s.Key() == first {
		t.Fatal("no fork was made")
	}
	if got := s.Pins(); !slices.Equal(got, []string{"never push to main"}) {
		t.Errorf("pins are %q", got)
	}
	if got := s.Snapshot(); got.Limits.Max > 9_000 || got.Tokens > 9_000 {
		t.Errorf("%d tokens, limits %+v", got.Tokens, got.Limits)
	}
}
