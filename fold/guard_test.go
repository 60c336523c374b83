package fold_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

// greedy is a lever that tries what no lever may do.
type greedy struct {
	t *testing.T
}

func (greedy) Name() string { return "greedy" }

func (g greedy) Pull(ctx context.Context, d *fold.Draft) error {
	for i, m := range d.Facts() {
		for b, f := range m.Blocks {
			ref := transcript.BlockRef{Message: i, Block: b}
			switch {
			case i < d.Marks().Prompt:
				if d.FoldBlock(ref, g, "long", "[cut]") != nil {
					g.t.Errorf("the system prompt is folded")
				}
			case f.Kind == transcript.KindToolCall:
				if d.FoldBlock(ref, g, "long", "[cut]") != nil {
					g.t.Errorf("the input of the call in message %d is no JSON", i)
				}
			}
		}
	}
	for _, ref := range []transcript.BlockRef{{Message: -1}, {Message: d.Marks().End}, {Message: 1, Block: 9}} {
		if d.FoldBlock(ref, g, "long", "x") != nil {
			g.t.Errorf("%v is folded, which is not there", ref)
		}
	}
	if d.FoldSpan(nil) || d.FoldSpan(&fold.Fold{Start: 2, End: 6, Stub: "[gone]"}) {
		g.t.Error("a stretch is folded without a handle")
	}
	for _, change := range []func(f *fold.Fold){
		func(f *fold.Fold) { f.Start, f.End = 4, 10 },
		func(f *fold.Fold) { f.Handle = "aaaaaaaa" },
		func(f *fold.Fold) { f.Stub = " \n" },
		func(f *fold.Fold) { f.Ack = "\u00a0" },
	} {
		if _, err := d.Span(ctx, 4, 10, g, "old"); err != nil {
			return err
		}
		f, err := d.Span(ctx, 2, 10, g, "old")
		if err != nil {
			return err
		}
		f.Stub = "[gone]"
		if change(f); d.Clone().FoldSpan(f) {
			g.t.Errorf("folded with handle %q, stub %q and acknowledgement %q, from message %d", f.Handle,
				f.Stub, f.Ack, f.Start)
		}
	}
	for _, ref := range d.Results()[:1] {
		if d.Clone().FoldBlock(ref, g, "old", "[gone]") == nil || d.FoldBlock(ref, g, "old", "\t\n") != nil {
			g.t.Error("a result is replaced by nothing, or not at all")
		}
	}
	if start, end := d.Fit(2, d.Marks().End+5); start != d.Back(2) || end > d.Marks().End {
		g.t.Errorf("a stretch that goes beyond the end is fitted to %d and %d", start, end)
	}
	for start := range 5 {
		f, err := d.Span(ctx, start, 10, g, "old")
		if err != nil {
			return err
		}
		f.Stub = "[gone]"
		if whole := start >= d.Marks().Prompt && d.Back(start) == start; d.Clone().FoldSpan(f) != whole {
			g.t.Errorf("messages %d to 9: folded is not %t", start, whole)
		}
		if s, e := d.Fit(start, 10); s < d.Marks().Prompt || d.Back(s) != s || e > 10 {
			g.t.Errorf("messages %d to 9 are fitted to %d and %d", start, s, e)
		}
	}
	return nil
}

// cutter shortens calls.
type cutter struct{ folds *int }

func (cutter) Name() string { return "cutter" }

func (c cutter) Pull(_ context.Context, d *fold.Draft) error {
	for i, m := range d.Facts() {
		for b, f := range m.Blocks {
			if f.Kind == transcript.KindToolCall &&
				d.FoldBlock(transcript.BlockRef{Message: i, Block: b}, c, "long", "[cut]") != nil {
				*c.folds++
			}
		}
	}
	return nil
}

// TestTextInput: the input of a tool that takes text is cut as text.
func TestTextInput(t *testing.T) {
	folds := 0
	patch := transcript.Call("p1", "apply_patch", strings.Repeat("+ a line\n", 400))
	pleattest.Plan(t, 1_000, []transcript.Message{
		transcript.User("Mend it."), transcript.Assistant(patch),
		transcript.Results(transcript.Result("p1", "done")), transcript.Assistant(transcript.Say("Done.")),
		transcript.User("Go on."),
	}, cutter{&folds})
	if folds != 1 {
		t.Errorf("%d folds, want 1", folds)
	}
}

// TestLeversMayNot: what no lever may do, a draft does not do.
func TestLeversMayNot(t *testing.T) {
	prompt := transcript.NewMessage(transcript.RoleSystem,
		transcript.Say("You are careful. Never delete what is not yours."))
	pleattest.Plan(t, 4_000, append([]transcript.Message{prompt}, pleattest.Reading(20, 60)...), greedy{t})
}

// meddler folds a span, and then changes what it must not.
type meddler struct {
	meddle func(*fold.Draft, *fold.Fold)
}

func (meddler) Name() string { return "meddler" }

func (m meddler) Pull(ctx context.Context, d *fold.Draft) error {
	start, end := d.Fit(2, 8)
	f, err := d.Span(ctx, start, end, m, "old")
	if err != nil {
		return err
	}
	f.Stub = "[old work]"
	if m.meddle(d, f); !slices.Contains(d.Added(), f) {
		d.Folds().Replace(f)
	}
	return nil
}

// TestMeddlers: a lever that changes the set, or a fold after it was made, gets an error: what was
// stored could not be read again.
func TestMeddlers(t *testing.T) {
	for name, meddle := range map[string]func(*fold.Draft, *fold.Fold){
		"none":    func(d *fold.Draft, f *fold.Fold) { d.FoldSpan(f); d.FoldSpan(f); f.Final, f.Reason = true, "stale" },
		"replace": func(*fold.Draft, *fold.Fold) {},
		"outside": func(_ *fold.Draft, f *fold.Fold) { f.Start = -3 },
		"bare":    func(d *fold.Draft, f *fold.Fold) { d.FoldSpan(f); d.Folds().Bare = 9_999 },
		"start":   func(d *fold.Draft, f *fold.Fold) { d.FoldSpan(f); f.Start-- },
		"end":     func(d *fold.Draft, f *fold.Fold) { d.FoldSpan(f); f.End++ },
		"handle":  func(d *fold.Draft, f *fold.Fold) { d.FoldSpan(f); f.Handle = "abcdefgh" },
		"tokens":  func(d *fold.Draft, f *fold.Fold) { d.FoldSpan(f); f.Before = -1 },
		"stub":    func(d *fold.Draft, f *fold.Fold) { d.FoldSpan(f); f.Stub = "[old work, and more]" },
		"unnamed": func(d *fold.Draft, f *fold.Fold) { f.Lever = "" },
		"source":  func(d *fold.Draft, f *fold.Fold) { d.FoldSpan(f); d.Source = nil },
	} {
		p := fold.Policy{Name: "own", AtRed: fold.Steps{meddler{meddle}, reader{}}}
		src := pleattest.Source(pleattest.Reading(20, 60)...)
		o := fold.PlanOptions{
			Trigger: fold.TriggerRed, Limits: fold.Budget{Window: 4_000}.Limits(), Recall: fold.UnfoldCall,
		}
		o.Seen, o.Answered = 30, 30
		plan, err := fold.Make(t.Context(), src, fold.Set{}, &p, o)
		if own := name == "none"; own != (err == nil) {
			t.Errorf("%s: %v, %v", name, plan, err)
		} else if !own && !strings.Contains(err.Error(), `lever "meddler" `) {
			t.Errorf("%s: %v does not name the lever", name, err)
		}
	}
}

// TestMeddlersInForce: folds in force are as they were, whatever a lever does to what it was given.
func TestMeddlersInForce(t *testing.T) {
	src := pleattest.Source(pleattest.Reading(20, 60)...)
	o := fold.PlanOptions{
		Trigger: fold.TriggerRed, Limits: fold.Budget{Window: 4_000}.Limits(), Recall: fold.UnfoldCall,
	}
	o.Seen, o.Answered = 30, 30
	own := func(d *fold.Draft, f *fold.Fold) { d.FoldSpan(f) }
	first, err := fold.Make(t.Context(), src, fold.Set{},
		&fold.Policy{Name: "own", AtRed: fold.Steps{meddler{own}}}, o)
	difftest.Must(t, err)
	for name, meddle := range map[string]func(*fold.Fold){
		"id":    func(f *fold.Fold) { f.ID += 900 },
		"stub":  func(f *fold.Fold) { f.Stub = "[nothing]" },
		"hash":  func(f *fold.Fold) { f.Hash[0]++ },
		"start": func(f *fold.Fold) { f.Start++ },
	} {
		was := *first.Folds[0]
		p := fold.Policy{Name: "own", AtRed: fold.Steps{inForce{meddle}}}
		if plan, err := fold.Make(t.Context(), src, first.In, &p, o); err == nil {
			t.Errorf("%s: %v", name, plan)
		}
		if !reflect.DeepEqual(*first.Folds[0], was) {
			t.Errorf("%s: the fold in force is %+v", name, first.Folds[0])
		}
	}
}

// inForce changes the folds that it finds.
type inForce struct{ meddle func(*fold.Fold) }

func (inForce) Name() string { return "in force" }

func (l inForce) Pull(_ context.Context, d *fold.Draft) error {
	for f := range d.Folds().In(0, d.Marks().End) {
		l.meddle(f)
	}
	return nil
}

// reader reads the conversation.
type reader struct{}

func (reader) Name() string { return "reader" }

func (reader) Pull(ctx context.Context, d *fold.Draft) error {
	_, err := d.Source.Block(ctx, transcript.BlockRef{})
	return err
}

// stubborn folds what it may not.
type stubborn struct{}

func (stubborn) Name() string { return "stubborn" }

func (s stubborn) Pull(ctx context.Context, d *fold.Draft) error {
	for i, m := range d.Facts() {
		for b := range m.Blocks {
			d.FoldBlock(transcript.BlockRef{Message: i, Block: b}, s, "all", "x")
		}
	}
	d.FoldSpan(&fold.Fold{Lever: s.Name(), Start: 2, End: 6, Stub: "[gone]"})
	d.FoldBlock(transcript.BlockRef{Message: 3}, nil, "all", "x")
	if f, err := d.Span(ctx, 2, 4, (*cutter)(nil), "all"); f != nil || err == nil {
		return errors.New("a stretch is described for no lever")
	}
	return nil
}

// TestRefused: a lever whose folds a rule refuses is told why, by the plan.
func TestRefused(t *testing.T) {
	p := pleattest.Plan(t, 4_000, []transcript.Message{
		transcript.NewMessage(transcript.RoleSystem,
			transcript.Say("You are careful. Never delete what is not yours.")),
		transcript.Assistant(transcript.Thinking{Text: transcript.Plain("I should look at all of it first.")}),
		transcript.Assistant(transcript.Call("1", "bash", `{"command":"make all the things there are"}`)),
		transcript.Results(transcript.Result("1", "make: nothing to be done for all")),
		transcript.Results(transcript.Result("1", "make: nothing to be done for all")),
	}, stubborn{})
	want := `nothing to fold
refused: stubborn at message 1: the system prompt stays
refused: stubborn at message 2: a block of this kind goes only with its message
refused: stubborn at message 3: the stub of this call must be a JSON object, as its input is
refused: stubborn at message 4: no model has seen the result (and 1 more)
refused: stubborn at message 3: begin with the fold that Draft.Span returns for these messages
refused: nil at message 4: pass the lever that folds, which is nil
`
	if got := p.String(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

// faulty panics.
type faulty struct{}

func (faulty) Name() string { return "faulty" }

func (faulty) Pull(_ context.Context, d *fold.Draft) error {
	_ = d.Facts()[d.Marks().End]
	return nil
}

func (faulty) MayFold(sizes []int, _ fold.Limits) bool { return sizes[1] > 0 }

func (faulty) Born(*fold.Birth) { panic("born") }

// TestPanic: a lever that panics ends the plan, not the program, and is named.
func TestPanic(t *testing.T) {
	src := pleattest.Source(pleattest.Reading(3, 20)...)
	_, err := fold.Make(t.Context(), src, fold.Set{}, &fold.Policy{Name: "p", AtRed: fold.Steps{faulty{}}},
		fold.PlanOptions{Trigger: fold.TriggerRed})
	_, ahead := fold.NeedAhead(t.Context(), src, fold.Set{}, &fold.Policy{Name: "p", AtRed: fold.Steps{faulty{}}},
		fold.PlanOptions{})
	m, birth := transcript.Results(transcript.Result("9", "x")), &fold.Policy{Name: "p", AtBirth: fold.Steps{faulty{}}}
	_, born := fold.AtBirth(t.Context(), src, m, birth, fold.BirthOptions{})
	_, may := birth.MayFoldAtBirth(m, func(int) int { return 1 }, fold.Limits{})
	for _, err := range []error{err, ahead, born, may} {
		if err == nil || !strings.Contains(err.Error(), `lever "faulty" panicked: `) ||
			!strings.Contains(err.Error(), "guard_test.go") || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want an error that names the lever and where it panicked, in a line", err)
		}
		var p interface{ Stack() []byte }
		if !errors.As(err, &p) || !bytes.Contains(p.Stack(), []byte("guard_test.go")) {
			t.Errorf("%v has no stack", err)
		}
	}
}

// unread is a conversation none of whose blocks may be read.
type unread struct {
	fold.Source
	t *testing.T
}

func (u unread) Block(_ context.Context, ref transcript.BlockRef) (transcript.Block, error) {
	u.t.Errorf("block %v was read", ref)
	return nil, errors.New("it cannot be read")
}

// TestFoldBlockReadsNothing: whether a block may be folded, and by which stub, is known without it.
func TestFoldBlockReadsNothing(t *testing.T) {
	msgs := append(
		pleattest.Reading(3, 20),
		transcript.Assistant(transcript.Call("p", "patch", strings.Repeat("a line of text\n", 40))),
		transcript.Results(transcript.Result("p", "done")), transcript.Assistant(transcript.Say("Done.")),
	)
	o := fold.PlanOptions{Trigger: fold.TriggerRed}
	o.Seen = len(msgs)
	p, err := fold.Make(t.Context(), unread{pleattest.Source(msgs...), t}, fold.Set{},
		&fold.Policy{Name: "p", AtRed: fold.Steps{stubborn{}}}, o)
	if err != nil || !slices.ContainsFunc(p.Folds, func(f *fold.Fold) bool { return f.Start == len(msgs)-3 }) {
		t.Errorf("the call that takes text is not folded: %v, %v", p, err)
	}
}

// twice folds a stretch and then the words in it.
type twice struct{ t *testing.T }

func (twice) Name() string { return "twice" }

func (w twice) Pull(ctx context.Context, d *fold.Draft) error {
	start, end := d.Fit(d.Marks().Head, d.Marks().Newest)
	f, err := d.Span(ctx, start, end, w, "old")
	if err != nil {
		return err
	}
	f.Stub = "[gone]"
	if !d.FoldSpan(f) {
		return errors.New("the stretch is not folded")
	}
	before := d.Tokens()
	for i := start; i < end; i++ {
		for b := range d.Facts()[i].Blocks {
			d.FoldBlock(transcript.BlockRef{Message: i, Block: b}, w, "long", "[cut]")
		}
	}
	if d.Tokens() != before || d.Tokens() != d.TokensIn(0, len(d.Facts())) {
		w.t.Errorf("%d tokens after folding what is folded, %d before, %d counted", d.Tokens(), before,
			d.TokensIn(0, len(d.Facts())))
	}
	return nil
}

// TestFoldFolded: what a folded stretch hides saves nothing a second time.
func TestFoldFolded(t *testing.T) {
	msgs := []transcript.Message{transcript.User("go")}
	for range 5 {
		msgs = append(msgs, transcript.Assistant(transcript.Say(strings.Repeat("What I found. ", 40))),
			transcript.User(strings.Repeat("And what about that? ", 40)))
	}
	pleattest.Plan(t, 1_000, msgs, twice{t})
}

// silent drops the first messages without a word in their place.
type silent struct{ ack string }

func (silent) Name() string { return "silent" }

func (s silent) Pull(ctx context.Context, d *fold.Draft) error {
	f, err := d.Span(ctx, 0, 2, s, "old")
	if err == nil {
		f.Ack = s.ack
		d.FoldSpan(f)
	}
	return err
}

// TestBeginsWithAnswer: no lever makes a view that begins with an answer.
func TestBeginsWithAnswer(t *testing.T) {
	long := strings.Repeat("And what about that? ", 40)
	answer := transcript.Assistant(transcript.Say(long))
	for _, tt := range []struct {
		ack   string
		third transcript.Message
		folds bool
	}{
		{"", answer, false},
		{"Noted.", transcript.User(long), false},
		{"", transcript.User(long), true},
	} {
		msgs := []transcript.Message{transcript.User(long), answer, tt.third, transcript.User("go on"), answer}
		p := pleattest.Plan(t, 1_000, msgs, silent{tt.ack})
		if folds := len(p.Folds) > 0; folds != tt.folds {
			t.Errorf("acknowledged by %q, before %s: %s", tt.ack, tt.third.Role(), p)
		}
	}
}
