package pleat_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// TestAnswerOwnTools has a program with tools of the recall tools' names: they are its own,
// unless the recall tools are among the session's tools.
func TestAnswerOwnTools(t *testing.T) {
	own := pleat.Tool{Name: "search", Description: "Searches the web."}
	for _, tools := range [][]pleat.Tool{nil, {own}} {
		s := open(t, store.NewMemory(), &pleat.Options{Tools: tools})
		for _, name := range []string{"search", "note", "pin", "unfold"} {
			if r, ok := s.Answer(t.Context(), pleat.Call("c", name, `{"queries":["x"]}`)); ok {
				t.Errorf("with tools %v, %s was answered: %s", tools, name, r.Text())
			}
		}
	}
	_, err := pleat.OpenSession(t.Context(), store.NewMemory(), pleat.Key{Session: "two"},
		&pleat.Options{Tools: append(pleat.RecallTools(), own)})
	if err == nil || !strings.Contains(err.Error(), `"search"`) {
		t.Errorf("two tools of one name: %v", err)
	}
	prefixed := pleat.RecallTools()
	for i := range prefixed {
		prefixed[i].Name = "pleat_" + prefixed[i].Name
	}
	s := open(t, store.NewMemory(), &pleat.Options{Tools: append(prefixed, own), Budget: pleat.Budget{Window: 8_000}})
	work(t, s, 0, 12, 4_000)
	if shown := allText(view(t, s)); !strings.Contains(shown, `pleat_unfold("`) {
		t.Errorf("no stub names the tool as the model knows it:\n%s", shown)
	}
	if _, ok := s.Answer(t.Context(), pleat.Call("c", "search", `{"queries":["x"]}`)); ok {
		t.Error("the program's search was answered")
	}
	if r, ok := s.Answer(t.Context(), pleat.Call("c", "pleat_search", `{"queries":["line of file 3"]}`)); !ok ||
		r.Error {
		t.Errorf("pleat_search: %v %s", ok, r.Text())
	}
}

// TestBlocksAreCopied reuses one slice of blocks for three answers.
func TestBlocksAreCopied(t *testing.T) {
	s := open(t, store.NewMemory(), nil)
	blocks := make([]pleat.Block, 1)
	for _, text := range []string{"one", "two", "three"} {
		blocks[0] = pleat.Say(text)
		mustAppend(t, s, pleat.Assistant(blocks...))
	}
	parts := []pleat.Block{pleat.Say("four")}
	list := transcript.BlocksOf(parts...)
	parts[0] = pleat.Say("changed")
	if got := linesOf(view(t, s)) + list.Text(); got != "one\ntwo\nthree\nfour" {
		t.Errorf("got %q", got)
	}
}

// TestBlocksOfOtherTypes gives blocks that the type system lets through.
func TestBlocksOfOtherTypes(t *testing.T) {
	s := open(t, store.NewMemory(), nil)
	call, result, text := pleat.Call("a", "ls", `{}`), pleat.Result("a", "file.go"), transcript.Say("Here it is.")
	mustAppend(t, s,
		pleat.Assistant(&call), transcript.NewMessage(transcript.RoleTool, &result), pleat.Assistant(&text))
	if got := linesOf(view(t, s)); got != "ls {}\nfile.go\nHere it is.\n" {
		t.Errorf("pointers to blocks: %q", got)
	}
	type wrapped struct{ pleat.ToolCall }
	var none *transcript.Text
	for name, b := range map[string]pleat.Block{"nil": nil, "nil pointer": none, "wrapped": wrapped{call}} {
		if err := s.Append(t.Context(), pleat.Assistant(b)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := s.Append(t.Context(), pleat.Message{}); err == nil || !strings.Contains(err.Error(), "no role") {
		t.Errorf("a message without a role: %v", err)
	}
	robot := transcript.NewMessage("robot", pleat.Say("Hi."))
	if err := s.Append(t.Context(), robot); err == nil || !strings.Contains(err.Error(), "system, developer, user, assistant and tool") {
		t.Errorf("a role that there is not: %v", err)
	}
	if did, err := s.Sync(t.Context(), append(view(t, s), robot)); err == nil || did.From != s.Key() {
		t.Errorf("a role that there is not goes on in %s: %v", s.Key(), err)
	}
	if _, err := s.Pull(t.Context()); err == nil || s.Snapshot().Epoch > 0 {
		t.Errorf("no lever was pulled: %v", err)
	}
	if _, err := s.Pull(t.Context(), nil); err == nil {
		t.Error("a lever that is nil: no error")
	}
	if s.Len() != 3 {
		t.Errorf("%d messages", s.Len())
	}
}

// linesOf has the text of every block on a line.
func linesOf(msgs []pleat.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		for _, blk := range m.Blocks().All() {
			if c, ok := blk.(pleat.ToolCall); ok {
				b.WriteString(c.Name + " ")
			}
			b.WriteString(transcript.BlockText(blk) + "\n")
		}
	}
	return b.String()
}

// TestPlacesThatAreNotThere asks for messages that a session does not have.
func TestPlacesThatAreNotThere(t *testing.T) {
	s := open(t, store.NewMemory(), nil)
	mustAppend(t, s, pleat.User("Hello."))
	for _, i := range []int{-1, 1, 5} {
		if _, err := s.Message(t.Context(), i); !errors.Is(err, pleat.ErrNotFound) {
			t.Errorf("message %d: %v", i, err)
		}
	}
	if all := s.Tokens(0, 1); s.Tokens(-1, 9) != all || s.Tokens(5, 2) != 0 || s.Tokens(1, 5) != 0 {
		t.Errorf("tokens of messages that are not there: %d, %d", s.Tokens(-1, 9), s.Tokens(1, 5))
	}
	for _, v := range []transcript.View{
		transcript.Whole(7),
		{Messages: []transcript.ViewMessage{{Source: 0, Edits: []transcript.BlockEdit{{Block: 4, Text: "x"}}}}},
	} {
		if msgs, err := s.Resolve(t.Context(), v); err == nil {
			t.Errorf("a view of another session: %d messages", len(msgs))
		}
	}
}

// TestStubsSayWhatIsTrue folds results in a session whose model has no way to get them back.
func TestStubsSayWhatIsTrue(t *testing.T) {
	for _, o := range []pleat.Options{
		{}, {NoRecall: true}, {NoRecall: true, Tools: pleat.RecallTools()}, {Tools: pleat.RecallTools()},
	} {
		o.Budget.Window = 8_000
		s := open(t, store.NewMemory(), &o)
		work(t, s, 0, 12, 4_000)
		shown := allText(view(t, s))
		mustAppend(t, s,
			pleat.Assistant(pleat.Call("big", "bash", `{"command":"make"}`)),
			pleat.Results(pleat.Result("big", strings.Repeat("some line of output\n", 10_000))))
		shown += allText(view(t, s))
		if !strings.Contains(shown, "[folded: ") {
			t.Fatalf("nothing is folded:\n%s", shown)
		}
		forbids := strings.Contains(shown, "do not repeat it") || strings.Contains(shown, "unfold(")
		if forbids != (len(o.Tools) > 0 && !o.NoRecall) || strings.Contains(shown, "to see it: ]") {
			t.Errorf("with %d tools:\n%s", len(o.Tools), shown)
		}
	}
}

// TestVetoOfTheModel has the model ask for a compaction that a hook forbids.
func TestVetoOfTheModel(t *testing.T) {
	pins := []string(nil)
	s := busy(t, 30, &pleat.Options{Tools: pleat.RecallTools(), Hooks: pleat.Hooks{
		BeforeEpoch: func(context.Context, *fold.Plan) (pleat.EpochDecision, error) {
			return pleat.EpochDecision{Veto: pins == nil, Pins: pins}, nil
		},
	}})
	r, ok := s.Answer(t.Context(), pleat.Call("c", "compact", `{}`))
	if !ok || !r.Error || !strings.Contains(r.Text(), "veto") || s.Snapshot().Epoch != 0 {
		t.Errorf("%v %s, epoch %d", ok, r.Text(), s.Snapshot().Epoch)
	}
	pins = []string{strings.Repeat("Mind this as well. ", 100_000)}
	if _, err := s.Compact(t.Context(), ""); err == nil || len(s.Pins()) > 0 {
		t.Errorf("a pin of a hook that no view can hold: %v, %d pins", err, len(s.Pins()))
	}
}

// TestSpillIsTold has a result that is too large to be shown.
func TestSpillIsTold(t *testing.T) {
	var told []*fold.Fold
	s := open(t, store.NewMemory(), &pleat.Options{Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) {
		if e.Kind == pleat.EventSpill {
			told = append(told, e.Fold)
		}
	}})
	err := s.Append(t.Context(), pleat.Assistant(pleat.Call("a", "bash", `{}`), pleat.Call("b", "bash", `{}`)),
		pleat.Results(pleat.Result("a", strings.Repeat("a line\n", 20_000)), pleat.Result("b", "short")))
	if err != nil || len(told) != 1 || told[0].Lever != "spill" || told[0].Handle != s.Report().Folds[0].Handle {
		t.Errorf("%v, told of %v", err, told)
	}
}

// TestRefusedAtOnce gives numbers that make no sense: nothing is opened, changed or stored.
func TestRefusedAtOnce(t *testing.T) {
	half, most := fold.Share(0.5), fold.Share(0.9)
	for name, o := range map[string]pleat.Options{
		"Memory":          {Memory: -1},
		"window of 1":     {Budget: pleat.Budget{Window: 1}},
		"window of -1":    {Budget: pleat.Budget{Window: -1}},
		"target at":       {Budget: pleat.Budget{Target: most, Red: half}},
		"yellow at":       {Budget: pleat.Budget{Yellow: fold.Tokens(5_001), Red: half, Window: 10_000}},
		"output at":       {Budget: pleat.Budget{Window: 5_000, Output: fold.Tokens(9_000)}},
		"Model.Window":    {Model: pleat.Model{Window: -1}},
		"Model.MaxInput":  {Model: pleat.Model{MaxInput: -1}},
		"Digest.Tokens":   {Digest: digest.Options{Tokens: -1}},
		"Digest.Deadline": {Digest: digest.Options{Deadline: -1}},
	} {
		st := store.NewMemory()
		_, err := pleat.OpenSession(t.Context(), st, pleat.Key{Session: "s"}, &o)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		for range st.Scan(t.Context(), pleat.Key{Session: "s"}, 0) {
			t.Errorf("%s: a session was stored", name)
		}
		if o.Budget == (pleat.Budget{}) {
			continue
		}
		s := open(t, store.NewMemory(), nil)
		before := s.Snapshot().Limits
		if err := s.SetBudget(o.Budget); err == nil || s.Snapshot().Limits != before {
			t.Errorf("SetBudget, %s: %v, %v", name, err, s.Snapshot().Limits)
		}
	}
	s := open(t, store.NewMemory(), nil)
	last := inside.Of(s).LastSeq()
	for _, u := range []pleat.Usage{{Input: -1}, {Input: 5, Output: -1}, {Input: 5, CacheRead: -2}} {
		if err := s.Used(t.Context(), u); err == nil || inside.Of(s).LastSeq() != last {
			t.Errorf("Used(%+v): %v", u, err)
		}
	}
	// The levels of a budget and of a policy may cross: the budget's hold.
	if err := s.SetBudget(pleat.Budget{Red: fold.Share(0.3)}); err != nil {
		t.Error(err)
	}
}

// pulled is a lever made of a function.
type pulled struct{ pull func(*fold.Draft, fold.Lever) }

func (pulled) Name() string { return "pulled" }

func (p pulled) Pull(_ context.Context, d *fold.Draft) error { p.pull(d, p); return nil }

// TestListsAreLent: what a lever does to the lists that it is given changes neither its plan nor
// what the user said.
func TestListsAreLent(t *testing.T) {
	meddle := pulled{func(d *fold.Draft, l fold.Lever) {
		for _, r := range d.Results()[:4] {
			d.FoldBlock(r, l, "old", "[old]")
		}
		_ = slices.DeleteFunc(d.Added(), func(f *fold.Fold) bool { return f.Before > 1 })
		if added := d.Added(); len(added) > 0 {
			added[0] = &fold.Fold{}
		}
		slices.Reverse(d.Source.Said())
	}}
	s := busy(t, 30, &pleat.Options{Budget: fold.Budget{Window: 6_000}, Policy: fold.Policy{
		Name: "own", AtRed: fold.Steps{meddle, lever.Squeeze{}},
	}})
	mustAppend(t, s, pleat.User("And no tests."))
	was, _ := inside.Of(s).UserWords()
	if _, err := s.Messages(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, _ := inside.Of(s).UserWords(); !reflect.DeepEqual(now, was) {
		t.Errorf("the user said %v", now)
	}
}

// TestPullShows: a lever that only shows more has an effect.
func TestPullShows(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{Window: 6_000}, Policy: fold.Policy{Name: "own", AtRed: fold.Steps{lever.Mask{Keep: 2}}},
	})
	for _, id := range strings.Fields("a b c d e f g h i j k l") {
		mustAppend(t, s, pleat.User("go "+id), pleat.Assistant(pleat.Call(id, "sh", `{}`)),
			pleat.Results(pleat.Result(id, strings.Repeat(id+" is a line\n", 100))), pleat.Assistant(pleat.Say("ok")))
		if _, err := s.Messages(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	must(t, s.SetBudget(fold.Budget{Window: 100_000}))
	before := s.Snapshot().Tokens
	plan, err := s.Pull(t.Context(), pulled{func(d *fold.Draft, _ fold.Lever) {
		d.Goal = d.Limits.Target
		for _, r := range d.Results() {
			d.Show(r, "")
		}
	}})
	if err != nil || plan.IsEmpty() || s.Snapshot().Tokens <= before {
		t.Errorf("%v, %v; %d tokens, %d before", plan, err, s.Snapshot().Tokens, before)
	}
}
