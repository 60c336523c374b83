package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// busy is a session that has done some work.
func busy(t testing.TB, rounds int, o *pleat.Options) *pleat.Session {
	t.Helper()
	s := open(t, store.NewMemory(), o)
	mustAppend(t, s, transcript.User("Read all files. Never touch legacy/."))
	work(t, s, 0, rounds, 4_000)
	return s
}

func compact(t testing.TB, s *pleat.Session) *fold.Plan {
	t.Helper()
	p, err := s.Compact(t.Context(), "")
	must(t, err)
	return p
}

func TestUndo(t *testing.T) {
	s := busy(t, 10, nil)
	whole := dump(t, view(t, s))
	compact(t, s)
	first := dump(t, view(t, s))
	if first == whole {
		t.Fatal("compacting changed nothing")
	}
	work(t, s, 10, 10, 4_000)
	before := dump(t, view(t, s))
	compact(t, s)
	epoch := func(want int) {
		t.Helper()
		if got := s.Snapshot().Epoch; got != want {
			t.Errorf("epoch %d is in force, want %d", got, want)
		}
	}
	epoch(2)
	must(t, s.Undo(t.Context()))
	epoch(1)
	if d := difftest.Values(before, dump(t, view(t, s))); d != "" {
		t.Errorf("after undoing the second epoch:\n%s", d)
	}
	must(t, s.Undo(t.Context()))
	epoch(0)
	v, err := s.View(t.Context(), pleat.Turn{})
	if err != nil || !v.IsWhole(s.Len()) {
		t.Errorf("after undoing both the view is not whole: %v", err)
	}
	if err := s.Undo(t.Context()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("nothing to undo: %v", err)
	}
	var got []string
	for _, e := range s.Report().Epochs {
		got = append(got, fmt.Sprint(e.Number, " ", e.Undo))
	}
	difftest.Equal(t, []string{"1 false", "2 false", "2 true", "1 true"}, got)
}

func TestUndoIsRefusedWhenItWouldNotFit(t *testing.T) {
	s := busy(t, 12, &pleat.Options{Budget: fold.Budget{Window: 8_000}})
	folded := dump(t, view(t, s))
	if err := s.Undo(t.Context()); !errors.Is(err, fold.ErrCannotFit) {
		t.Errorf("undo: %v", err)
	}
	if got := dump(t, view(t, s)); got != folded {
		t.Error("a refused undo changed the view")
	}
	// Whoever folds it anew can take all back, and the next view fits again.
	must(t, s.UndoAll(t.Context()))
	if snap := s.Snapshot(); snap.Tokens != snap.Whole {
		t.Errorf("%d of %d tokens are shown when all is undone", snap.Tokens, snap.Whole)
	}
	if view(t, s); s.Snapshot().Tokens > s.Snapshot().Limits.Max {
		t.Error("the view after undoing all does not fit")
	}
}

// What another process wrote meanwhile is taken back as well.
func TestUndoAllOfOthers(t *testing.T) {
	st := store.NewMemory()
	s := open(t, st, nil)
	work(t, s, 0, 20, 4_000)
	compact(t, s)
	other := open(t, st, nil)
	work(t, other, 20, 10, 4_000)
	compact(t, other)
	must(t, s.UndoAll(t.Context()))
	if n := s.Snapshot().Epoch; n != 0 || s.Len() != other.Len() {
		t.Errorf("epoch %d is in force, with %d messages of %d", n, s.Len(), other.Len())
	}
}

// What a provider says when it refuses a view holds from then on.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  *model.APIError
		max  int // tokens that the view may have then, by our count
		last int // the same much later; 0: not learned
	}{
		{"no numbers", nil, 64_500, 0},
		{"numbers", &model.APIError{Kind: model.ErrorTooLong, Used: 100_000, Limit: 32_000}, 23_000, 24_000},
		{
			"with the answer's reserve",
			&model.APIError{Kind: model.ErrorTooLong, Used: 71_000, Output: 40_000, Limit: 72_000}, 33_000, 33_000,
		},
		{"only by how much", &model.APIError{Kind: model.ErrorTooLong, Over: 30_000}, 41_500, 0},
		{"bytes", &model.APIError{Kind: model.ErrorTooLarge, Used: 9_000_000, Limit: 100}, 64_500, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := busy(t, 60, nil)
			before := dump(t, view(t, s))
			v, err := s.Refused(t.Context(), tt.err)
			must(t, err)
			msgs, err := s.Resolve(t.Context(), v)
			must(t, err)
			if dump(t, msgs) == before {
				t.Error("the same bytes again")
			}
			if got := s.Snapshot().Parts.Total(); got > tt.max || got < tt.max/4 {
				t.Errorf("%d tokens, at most %d were wanted and not much less", got, tt.max)
			}
			for i := range 60 {
				work(t, s, 60+i, 1, 4_000)
				view(t, s)
			}
			if got := s.Snapshot().Parts.Total(); tt.last > 0 && got > tt.last {
				t.Errorf("later a view has %d tokens again, at most %d were learned", got, tt.last)
			}
		})
	}
}

// A limit that was only guessed folds nothing that no model has seen; one that a refusal
// made sure does, and an answer above the guess raises it.
func TestGuessedLimit(t *testing.T) {
	s := busy(t, 60, &pleat.Options{Budget: fold.Budget{Window: 100_000}})
	view(t, s)
	refused := s.Snapshot().Tokens
	refuse(t, s, nil)
	guess := s.Snapshot().Limits.Max
	newest := func(from, tokens int) (whole bool) {
		t.Helper()
		var calls []transcript.Block
		var results []transcript.ToolResult
		text := strings.Repeat("a line that the model is to see\n", 500)
		for i := range tokens / 4_000 {
			id := fmt.Sprintf("new_%d", from+i)
			calls = append(calls, transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"new%d.go"}`, from+i)))
			results = append(results, transcript.Result(id, text))
		}
		mustAppend(t, s, transcript.Assistant(calls...), transcript.Results(results...))
		return strings.Count(allText(view(t, s)), text) == len(calls)
	}
	if whole := newest(0, int(guess)); !whole || s.Snapshot().Tokens <= guess || s.Snapshot().Tokens >= refused {
		t.Errorf("guessed %d, refused %d: %d are sent, and that the new results are whole is %v",
			guess, refused, s.Snapshot().Tokens, whole)
	}
	must(t, s.Used(t.Context(), model.Usage{Input: int(s.Snapshot().Tokens), Output: 10}))
	if got := s.Snapshot().Limits.Max; got <= guess || got >= refused {
		t.Errorf("after an answer %d tokens are taken to fit; guessed were %d", got, guess)
	}
	if newest(1_000, int(refused+8_000)) || s.Snapshot().Tokens >= refused {
		t.Errorf("%d tokens are sent, %d were refused", s.Snapshot().Tokens, refused)
	}
}

func TestRefusedGivesUp(t *testing.T) {
	s := open(t, store.NewMemory(), nil)
	mustAppend(t, s, transcript.User("hello"))
	view(t, s)
	if _, err := s.Refused(t.Context(), nil); !errors.Is(err, fold.ErrCannotFit) {
		t.Errorf("nothing can be folded: %v", err)
	}
}

func TestHooks(t *testing.T) {
	var seen []fold.Trigger
	var report pleat.Report
	decide := pleat.EpochDecision{Veto: true, Pins: []string{"The release is on Friday."}}
	p := named(t, "default")
	p = policy.Pays(p)
	s := open(t, store.NewMemory(), &pleat.Options{Policy: p, Hooks: pleat.Hooks{
		BeforeEpoch: func(_ context.Context, p *fold.Plan) (pleat.EpochDecision, error) {
			seen = append(seen, p.Trigger)
			return decide, nil
		},
		AfterEpoch: func(_ context.Context, r pleat.Report) { report = r },
	}})
	mustAppend(t, s, transcript.User("Go."))
	work(t, s, 0, 40, 4_000)
	v, err := s.View(t.Context(), pleat.Turn{})
	if err != nil || !v.IsWhole(s.Len()) {
		t.Errorf("a vetoed epoch opened: %v", err)
	}
	if _, err := s.Compact(t.Context(), ""); err == nil || len(report.Epochs) > 0 {
		t.Errorf("who asked for an epoch is not told of the veto: %v, %d epochs", err, len(report.Epochs))
	}
	decide.Veto = false
	compact(t, s)
	difftest.Equal(t, []fold.Trigger{fold.TriggerPays, fold.TriggerAsked, fold.TriggerAsked}, seen)
	if len(report.Epochs) != 1 {
		t.Errorf("reported %d epochs", len(report.Epochs))
	}
	if !strings.Contains(allText(view(t, s)), "The release is on Friday.") {
		t.Error("the hook's pin is not in the view")
	}
	decide = pleat.EpochDecision{}
	boom := errors.New("boom")
	bad := busy(t, 12, &pleat.Options{Budget: fold.Budget{Window: 8_000}, Hooks: pleat.Hooks{
		BeforeEpoch: func(context.Context, *fold.Plan) (pleat.EpochDecision, error) { return decide, boom },
	}})
	if _, err := bad.View(t.Context(), pleat.Turn{}); !errors.Is(err, boom) {
		t.Errorf("the hook's error: %v", err)
	}
}

func TestEvents(t *testing.T) {
	var got []pleat.EventKind
	s := busy(
		t,
		40,
		&pleat.Options{
			Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) { got = append(got, e.Kind) },
		},
	)
	view(t, s)
	compact(t, s)
	if got[0] != pleat.EventSnapshot || got[len(got)-1] != pleat.EventSnapshot {
		t.Errorf("no snapshot before and after: %v", got)
	}
	for _, want := range []pleat.EventKind{pleat.EventDigest, pleat.EventEpoch} {
		if n := countKinds(got, want); n != 1 {
			t.Errorf("%d events %q in %v", n, want, got)
		}
	}
	got = nil
	if _, err := s.Search(t.Context(), recall.SearchRequest{Queries: []string{"file 3"}}); err != nil {
		t.Fatal(err)
	}
	if countKinds(got, pleat.EventRecall) != 1 {
		t.Errorf("a search is not told: %v", got)
	}
}

func countKinds(list []pleat.EventKind, k pleat.EventKind) int {
	n := 0
	for _, e := range list {
		if e == k {
			n++
		}
	}
	return n
}

// Who asks for room gets some, in a window that is nearly empty too.
func TestCompactMakesRoom(t *testing.T) {
	for _, rounds := range []int{20, 40, 80} {
		if p := compact(t, busy(t, rounds, nil)); p.After > p.Before*6/10 {
			t.Errorf("%d rounds: %d → %d tokens", rounds, p.Before, p.After)
		}
	}
}

// A plan and its folds count alike when the provider counts otherwise than we do.
func TestFoldsCountLikeThePlan(t *testing.T) {
	s := busy(t, 20, nil)
	view(t, s)
	must(t, s.Used(t.Context(), model.Usage{Input: int(s.Snapshot().Tokens * 13 / 10)}))
	p, err := s.Pull(t.Context(), lever.Mask{})
	if err != nil || p.IsEmpty() {
		t.Fatalf("plan %v, %v", p, err)
	}
	saved := 0
	for _, f := range p.Folds {
		saved += f.Before - f.After
	}
	if off := saved - (p.Before - p.After); max(off, -off) > 2*len(p.Folds) {
		t.Errorf("%d → %d tokens by folds of %d", p.Before, p.After, saved)
	}
}

// Some models take less of a prompt than their window has.
func TestBudgetKeepsToMaxInput(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Model: model.Model{Window: 400_000, MaxInput: 272_000}})
	if l := s.Snapshot().Limits; l.Max != 272_000 || l.Red >= l.Max || l.Target >= l.Red {
		t.Errorf("limits %+v", l)
	}
}

// Taking thinking away may be all that is needed.
func TestPlanOfThinkingAlone(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 8_000}})
	think := transcript.Thinking{Text: transcript.Plain(strings.Repeat("hmm well ", 2_000))}
	turn := []transcript.Message{
		transcript.User("go"), transcript.Assistant(think, transcript.Say("ok")), transcript.User("next"),
	}
	mustAppend(t, s, turn...)
	p, err := s.Pull(t.Context(), lever.Aim{}, lever.Squeeze{})
	if err != nil || p.IsEmpty() || s.Snapshot().Parts.Thinking != 0 {
		t.Errorf("plan %v, %v: %+v", p, err, s.Snapshot().Parts)
	}
}

// On a model that binds thinking to the bytes before it, a view says when thinking that
// it shows can no longer verify.
func TestBoundThinking(t *testing.T) {
	o := &pleat.Options{Model: model.Model{Window: 200_000, Thinking: model.ThinkingRule{Bound: true}}}
	think := func(s *pleat.Session, id string) {
		t.Helper()
		th := transcript.Thinking{Text: transcript.Plain("hmm"), Signature: "sig"}
		mustAppend(t, s,
			transcript.Assistant(th, transcript.Call(id, "ls", `{}`)),
			transcript.Results(transcript.Result(id, "a b c")))
	}
	ask := func(s *pleat.Session) transcript.View {
		t.Helper()
		v, err := s.View(t.Context(), pleat.Turn{})
		must(t, err)
		return v
	}
	s := busy(t, 20, o)
	think(s, "t1")
	if ask(s).DropThinking {
		t.Error("nothing is folded and thinking is said to be invalid")
	}
	compact(t, s) // inside a run
	if !ask(s).DropThinking {
		t.Error("the view does not say that thinking became invalid")
	}
	work(t, s, 20, 20, 4_000)
	mustAppend(t, s, transcript.Assistant(transcript.Say("Done.")), transcript.User("And now?"))
	compact(t, s) // at a turn that a person began
	if v := ask(s); v.DropThinking || s.Snapshot().Parts.Thinking != 0 {
		t.Errorf("thinking is left: %v, %+v", v.DropThinking, s.Snapshot().Parts)
	}
	think(s, "t2")
	if ask(s).DropThinking {
		t.Error("thinking that was made behind the folded view is said to be invalid")
	}
}

// A snip that is asked for happens, and leaves the system prompt and the head alone.
func TestPullSnip(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 60_000}})
	for i := range 6 {
		rule := transcript.NewMessage(transcript.RoleSystem, transcript.Say(fmt.Sprint("rule ", i)))
		mustAppend(t, s, rule)
	}
	mustAppend(t, s, transcript.User("Go."))
	work(t, s, 0, 80, 900)
	p, err := s.Pull(t.Context(), lever.Snip{Above: 50, Head: 3, Tail: 47})
	if err != nil || len(p.Folds) != 1 {
		t.Fatalf("%v, %v", p, err)
	}
	if got := outline(view(t, s)); got[5] != "system: rule 5" || got[6] != "user: Go." {
		t.Errorf("the view begins:\n%s", strings.Join(got[:8], "\n"))
	}
}

// However many results a turn brought, none is folded as old before a model has seen it.
func TestUnseenResultsStay(t *testing.T) {
	p := named(t, "default")
	p = policy.Pays(p)
	s := open(t, store.NewMemory(), &pleat.Options{Policy: p})
	mustAppend(t, s, transcript.User("Go."))
	work(t, s, 0, 60, 4_000)
	var calls []transcript.Block
	var results []transcript.ToolResult
	for i := range 8 {
		id := fmt.Sprint("side_", i)
		calls = append(calls, transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"side%d.go"}`, i)))
		results = append(results, transcript.Result(id, strings.Repeat(fmt.Sprintf("unseen %d\n", i), 200)))
	}
	mustAppend(t, s, transcript.Assistant(calls...), transcript.Results(results...))
	text := allText(view(t, s))
	if len(s.Report().Epochs) != 1 {
		t.Fatalf("%d epochs", len(s.Report().Epochs))
	}
	for i := range 8 {
		if !strings.Contains(text, fmt.Sprintf("unseen %d\n", i)) {
			t.Errorf("result %d was folded before anybody saw it", i)
		}
	}
}

// What the model cannot ask for is folded only where it must be.
func TestPaysWithRecall(t *testing.T) {
	for _, none := range []bool{false, true} {
		s := open(t, store.NewMemory(), &pleat.Options{Policy: policy.Pays(named(t, "default")), NoRecall: none})
		mustAppend(t, s, transcript.User("Go."))
		work(t, s, 0, 60, 4_000)
		view(t, s)
		if n := len(s.Report().Epochs); n != 0 == none {
			t.Errorf("without recall %t: %d epochs", none, n)
		}
	}
}

// A policy with steps before every request folds when that saves money, too.
func TestPaysBesideEveryTurn(t *testing.T) {
	p := policy.Pays(named(t, "default"))
	p.EveryTurn = fold.Steps{lever.Mask{Keep: 1_000}}
	s := open(t, store.NewMemory(), &pleat.Options{Policy: p})
	mustAppend(t, s, transcript.User("Go."))
	work(t, s, 0, 40, 4_000)
	view(t, s)
	if e := s.Report().Epochs; len(e) != 1 || e[0].Trigger != fold.TriggerPays {
		t.Errorf("epochs %+v", e)
	}
}

// A dearer price tier just ahead is reason enough for an epoch, once.
func TestPriceCliff(t *testing.T) {
	p := named(t, "default")
	p = policy.Pays(p)
	s := open(t, store.NewMemory(), &pleat.Options{Policy: p, Model: model.Model{Window: 1_000_000, Prices: []model.Price{
		{Input: 1, CacheWrite: 1.25, CacheRead: 0.1}, {Above: 200_000, Input: 2, CacheWrite: 2.5, CacheRead: 0.2},
	}}})
	mustAppend(t, s, transcript.User("Tell me everything."))
	for i := range 40 { // about 200,000 tokens in which there is no result to fold
		text := strings.Repeat(fmt.Sprint("word", i, " "), 2_500)
		mustAppend(t, s, transcript.Assistant(transcript.Say(text)), transcript.User("Go on."))
		view(t, s)
	}
	if e := s.Report().Epochs; len(e) != 1 || e[0].Trigger != fold.TriggerCliff || e[0].After > 160_000 {
		t.Errorf("epochs %+v", e)
	}
}

// The book's summary has at most 1,000 words, and counts as what it is.
func TestBookWords(t *testing.T) {
	s := busy(t, 400, &pleat.Options{Policy: named(t, "book"), Budget: fold.Budget{Window: 20_000}})
	for _, m := range view(t, s) {
		if !strings.HasPrefix(m.Text(), "[session summary") {
			continue
		}
		if n := len(strings.Fields(m.Text())); n > 1_010 {
			t.Errorf("%d words", n)
		}
		parts := s.Snapshot().Parts
		if got, want := parts.Pins+parts.Ledger+parts.Digest, counter.CountText(m.Text()); got < want*9/10 ||
			got > want*11/10 {
			t.Errorf("counted as %d tokens, it has %d", got, want)
		}
		return
	}
	t.Error("no summary")
}

// A page tells its reader what they can do: it names the recall tools only where stubs say
// to call them.
func TestPageNamesWhatThereIs(t *testing.T) {
	for name, tt := range map[string]struct {
		recall     func(string) string
		want, miss string
	}{
		"tools": {pleat.UnfoldCall, `search("words")`, "pleat unfold"},
		"command": {
			func(h string) string { return "pleat unfold " + h }, "the whole stretch is pleat unfold ", "search(",
		},
		"no tool": {nil, "do not repeat them.", "Nothing is lost"},
	} {
		t.Run(name, func(t *testing.T) {
			s := busy(t, 20, &pleat.Options{Recall: tt.recall})
			if _, err := s.Pull(t.Context(), lever.Aim{}, lever.Digest{Keep: 8, Fill: true}); err != nil {
				t.Fatal(err)
			}
			got := allText(view(t, s))
			if !strings.Contains(got, tt.want) || strings.Contains(got, tt.miss) {
				t.Errorf("want %q and no %q in:\n%s", tt.want, tt.miss, got)
			}
		})
	}
}

// A budget that is set later is the one that the next view keeps.
func TestSetBudget(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 100_000}})
	for i := range 40 {
		id := fmt.Sprint(i)
		mustAppend(t, s,
			transcript.Assistant(transcript.Call(id, "read_file", `{"path":"f`+id+`"}`)),
			transcript.Results(transcript.Result(id, strings.Repeat("some words of file "+id+"\n", 60))))
	}
	tokens := func(want fold.State) int {
		t.Helper()
		view(t, s)
		snap := s.Snapshot()
		if snap.State != want {
			t.Errorf("%d of %d tokens: %v, want %v", snap.Tokens, snap.Limits.Window, snap.State, want)
		}
		return int(snap.Tokens)
	}
	wide := tokens(fold.Green)
	s.SetBudget(fold.Budget{Window: 8_000})
	if narrow := tokens(fold.Green); narrow >= 8_000 || narrow >= wide {
		t.Errorf("%d tokens in a window of 8,000, %d in a wide one", narrow, wide)
	}
	s.SetBudget(fold.Budget{Window: 100_000})
	must(t, s.Undo(t.Context()))
	if again := tokens(fold.Green); again != wide {
		t.Errorf("%d tokens after all was undone, want %d", again, wide)
	}
}

// A paste that is larger than the budget by itself is cut to what the user typed beside it,
// its beginning and end, and comes back under its handle.
func TestLargePasteFits(t *testing.T) {
	s := busy(t, 5, &pleat.Options{Budget: fold.Budget{Window: 20_000}})
	paste := strings.Repeat("    main.go:12: connection refused by peer\n", 2_000)
	mustAppend(t, s, transcript.User("why does this fail?\n"+paste+"it worked yesterday"))
	msgs := view(t, s)
	last := msgs[len(msgs)-1].Text()
	for _, want := range []string{
		"why does this fail?\n    main.go:12:", "it worked yesterday", "lines left out",
	} {
		if !strings.Contains(last, want) {
			t.Errorf("the newest message lacks %q", want)
		}
	}
	if snap := s.Snapshot(); snap.Tokens > snap.Limits.Target || len(msgs) < 5 {
		t.Errorf("%d tokens in %d messages, target %d", snap.Tokens, len(msgs), snap.Limits.Target)
	}
}

// A file that the agent reads again after every epoch is kept instead of being folded
// once more, and the report says so.
func TestThrashingIsNoticed(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 12_000}})
	read := func(id string) {
		t.Helper()
		mustAppend(t, s,
			transcript.Assistant(transcript.Call(id, "read_file", `{"path":"src/schema.go"}`)),
			transcript.Results(
				transcript.Result(
					id,
					"package schema\n\nconst Marker = \"the schema itself\"\n"+strings.Repeat("// more of it\n", 60),
				),
			))
	}
	mustAppend(t, s, transcript.User("Go on until it works."))
	for i := range 3 {
		read(fmt.Sprintf("again_%d", i))
		work(t, s, 10*i, 10, 3_000)
		compact(t, s)
	}
	if got := allText(view(t, s)); !strings.Contains(got, "the schema itself") {
		t.Errorf("the file that is read again and again is folded:\n%s", s.Report())
	}
	e := s.Report().Epochs
	if k := e[len(e)-1].Kept; len(k) != 1 || k[0] != "src/schema.go" {
		t.Errorf("the report does not say that it is kept: %+v", e)
	}
	if len(e[0].Kept) != 0 {
		t.Errorf("kept at first sight: %v", e[0].Kept)
	}
}

func named(t testing.TB, name string) fold.Policy {
	t.Helper()
	p, err := policy.ByName(name)
	must(t, err)
	return p
}

var outline = pleattest.Outline

// TestEveryTurn: the steps of every turn are pulled at red too, and fold what they can though the
// view is small.
func TestEveryTurn(t *testing.T) {
	for name, p := range map[string]fold.Policy{
		"alone":       {EveryTurn: fold.Steps{lever.Mask{Keep: 3}}},
		"before red":  {EveryTurn: fold.Steps{lever.Mask{Keep: 3}}, AtRed: fold.Steps{lever.Nothing{}}},
		"with a goal": {EveryTurn: fold.Steps{lever.Aim{}, lever.Mask{Keep: 3}}},
	} {
		for _, from := range []int{0, 20} { // the first view is asked for in a small view, or in a red one
			p.Name = "mine"
			s := open(t, store.NewMemory(), &pleat.Options{Policy: p, Budget: fold.Budget{Window: 6_000}})
			mustAppend(t, s, pleat.User("Go."))
			for i := range 30 {
				id := fmt.Sprint(i)
				mustAppend(t, s, pleat.Assistant(pleat.Call(id, "bash", `{"command":"make"}`)),
					pleat.Results(pleat.Result(id, strings.Repeat("a line\n", 150))))
				if i < from {
					continue
				}
				view(t, s)
				snap, want := s.Snapshot(), i+1-3
				if name == "with a goal" {
					want = 0
				}
				if n := len(s.Folds()); snap.State == fold.Red || n < want {
					t.Errorf("%s, after %d rounds: %d results folded, %d tokens of %d", name, i+1, n, snap.Tokens,
						snap.Limits.Max)
				}
			}
		}
	}
}

// TestMessagesBound: where thinking is bound to what is before it, Messages wants to know that requests ask to drop
// what does not verify, and says so before anything is folded.
func TestMessagesBound(t *testing.T) {
	th := transcript.Thinking{Text: transcript.Plain("Hm."), Raw: `{"type":"thinking","thinking":"Hm.","signature":"x"}`}
	for _, tt := range []struct {
		rule model.ThinkingRule
		id   string
		fine bool
	}{
		{id: "claude-opus-5-5"},
		{id: "claude-opus-5-5", rule: model.ThinkingRule{Drops: true}, fine: true},
		{id: "claude-sonnet-5-5", rule: model.ThinkingRule{Silent: true}, fine: true},
		{id: "claude-opus-4-8", fine: true},
	} {
		s := open(t, store.NewMemory(), &pleat.Options{Wire: anthropic.Messages(model.Model{ID: tt.id, Thinking: tt.rule})})
		mustAppend(t, s, transcript.User("Go on."))
		_, err := s.Messages(t.Context())
		must(t, err) // nothing is known of thinking yet
		mustAppend(t, s,
			transcript.Assistant(th, transcript.Call("c1", "ls", `{}`)), transcript.Results(transcript.Result("c1", "a b")))
		if _, err := s.Messages(t.Context()); (err == nil) != tt.fine ||
			err != nil && !strings.Contains(err.Error(), "set Thinking.Drops") {
			t.Errorf("%s, %+v: %v", tt.id, tt.rule, err)
		}
	}
}
