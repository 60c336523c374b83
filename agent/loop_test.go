package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// bench is an agent with a scripted model in a workspace of its own.
type bench struct {
	*agent.Agent
	dir    string
	script *pleattest.Script

	mu     sync.Mutex
	events []agent.Event
	keep   map[agent.EventKind]bool // which events are kept; nil: all
}

func newBench(t *testing.T, o agent.Options, steps ...pleattest.Step) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir(), script: &pleattest.Script{Steps: steps}}
	w := workspace(t, b.dir)
	if o.Generator == nil {
		o.Generator = b.script
	}
	o.Tools = append(append(agent.StandardTools(w, nil), calc), o.Tools...)
	o.Observe = func(e agent.Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.keep == nil || b.keep[e.Kind] {
			b.events = append(b.events, e)
		}
	}
	b.Agent = newAgent(t, &o)
	return b
}

// calc is a tool without an effect, whose results are as different as its calls.
var calc = agent.NewTool(model.Tool{Name: "calc", Schema: `{"type":"object"}`}, agent.EffectNone, nil,
	func(_ context.Context, _ agent.Call, in struct{ Expression string }) (string, error) {
		return in.Expression + "\n", nil
	})

func workspace(t *testing.T, dir string, more ...string) *agent.Workspace {
	t.Helper()
	w, err := agent.OpenWorkspace(dir, more...)
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

func newAgent(t *testing.T, o *agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(t.Context(), o)
	must(t, err)
	return a
}

func run(t *testing.T, a *agent.Agent, prompt string) {
	t.Helper()
	if _, err := a.Run(t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) file(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Join(b.dir, name), text)
}

// write writes a file, in a folder that need not be there.
func write(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), 0o644))
}

// results are all tool results of the transcript, in order.
func (b *bench) results() []transcript.ToolResult {
	var out []transcript.ToolResult
	msgs, err := b.Session().Resolve(context.Background(), transcript.Whole(b.Session().Len()))
	if err != nil {
		panic(err)
	}
	for _, m := range msgs {
		for _, blk := range m.Blocks().All() {
			if r, ok := blk.(transcript.ToolResult); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

func (b *bench) kinds() map[agent.EventKind]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := make(map[agent.EventKind]int)
	for _, e := range b.events {
		n[e.Kind]++
	}
	return n
}

func call(id, name, format string, args ...any) transcript.ToolCall {
	return transcript.Call(id, name, fmt.Sprintf(format, args...))
}

// answered fails if any call of the transcript has not exactly one result.
func (b *bench) answered(t *testing.T) {
	t.Helper()
	if open := b.Session().Ledger(ledger.Filter{Outcomes: []toolcall.Outcome{toolcall.Unanswered}}); len(open) > 0 {
		t.Errorf("%d calls have no result, the first is %s %s", len(open), open[0].Tool, open[0].Args)
	}
}

func TestParallelCallsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	// Each of the three waits for the other two: they must run at the same time.
	var gate sync.WaitGroup
	gate.Add(3)
	meet := agent.Tool{
		Definition: model.Tool{Name: "meet", Schema: `{"type":"object"}`},
		Run: func(_ context.Context, c agent.Call) (string, error) {
			gate.Done()
			gate.Wait()
			return "met " + c.ID, nil
		},
	}
	b := newBench(t, agent.Options{Tools: []agent.Tool{meet}},
		pleattest.Use(call("a", "meet", "{}"), call("b", "meet", "{}"), call("c", "meet", "{}")),
		pleattest.Say("done"))
	run(t, b.Agent, "meet")
	for i, r := range b.results() {
		if want := "met " + string(rune('a'+i)); r.Text() != want {
			t.Errorf("result %d is %q, want %q", i, r.Text(), want)
		}
	}
}

func TestDeniedToolIsToldAndTheLoopGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(
		t,
		agent.Options{
			Permit: func(_ context.Context, c agent.Call) (agent.Decision, error) {
				return agent.Decision{Allow: c.Name == "write_file", Reason: "not on a Sunday"}, nil
			},
		},
		pleattest.Use(
			call("1", "bash", `{"command":"touch made"}`),
			call("2", "write_file", `{"path":"b.txt","content":"b"}`),
		),
		pleattest.Say("I could only write."),
	)
	res, err := b.Run(t.Context(), "try")
	if err != nil || res.Stop != agent.StopDone {
		t.Fatalf("the run ended with %v, %v", res.Stop, err)
	}
	r := b.results()
	if !r[0].Error || !strings.Contains(r[0].Text(), "[denied]") || !strings.Contains(r[0].Text(), "not on a Sunday") {
		t.Errorf("the denied call was answered with %q", r[0].Text())
	}
	if r[1].Error {
		t.Errorf("the allowed call was answered with %q", r[1].Text())
	}
	if _, err := os.Stat(filepath.Join(b.dir, "made")); err == nil {
		t.Error("the denied command ran")
	}
	// Without anybody to ask, tools with effects are refused as well.
	b = newBench(t, agent.Options{}, pleattest.Use(call("1", "bash", `{"command":"touch made"}`)), pleattest.Say("no"))
	if _, err := b.Run(t.Context(), "try"); err != nil || !b.results()[0].Error {
		t.Errorf("without Permit: %v, %v", b.results(), err)
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	b := newBench(t, agent.Options{
		Permit: agent.AllowAll,
		Hooks: agent.Hooks{
			BeforeTool: func(_ context.Context, c agent.Call) (agent.Verdict, error) {
				return agent.Verdict{
					Deny: c.Name == "calc", Reason: "no sums today", Pins: []string{"saw " + c.ID},
				}, nil
			},
			AfterTool: func(_ context.Context, c agent.Call, r agent.CallResult) (agent.Verdict, error) {
				return agent.Verdict{Pins: []string{fmt.Sprint("after ", c.ID, " error ", r.Error)}}, nil
			},
		},
	}, pleattest.Use(call("1", "calc", `{"expression":"1+1"}`)), pleattest.Use(call("2", "glob", `{"pattern":"*"}`)),
		pleattest.Say("ok"))
	run(t, b.Agent, "sum")
	if r := b.results()[0]; !r.Error || !strings.Contains(r.Text(), "no sums today") {
		t.Errorf("the hook's denial came out as %q", r.Text())
	}
	want := []string{"saw 1", "after 1 error true", "saw 2", "after 2 error false"}
	if got := b.Session().Pins(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("pins are %q, want %q", got, want)
	}
}

func TestCancelLeavesNoCallUnanswered(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	hang := agent.Tool{
		Definition: model.Tool{Name: "hang", Schema: `{"type":"object"}`}, Effect: agent.EffectRun,
		Run: func(ctx context.Context, _ agent.Call) (string, error) {
			cancel()
			<-ctx.Done()
			return "half of it", ctx.Err()
		},
	}
	b := newBench(t, agent.Options{Tools: []agent.Tool{hang}, Permit: agent.AllowAll},
		pleattest.Use(call("1", "hang", "{}")), pleattest.Say("went on"))
	res, err := b.Run(ctx, "hang")
	if !errors.Is(err, context.Canceled) || res.Stop != agent.StopCancelled {
		t.Fatalf("the run ended with %v, %v", res.Stop, err)
	}
	b.answered(t)
	if text := b.results()[0].Text(); !strings.Contains(text, "half of it") ||
		!strings.Contains(text, "may or may not have") {
		t.Errorf("the interrupted call was answered with %q", text)
	}
	// The run goes on where it was.
	if res, err = b.Resume(t.Context()); err != nil || res.Text != "went on" {
		t.Errorf("resuming gave %+v, %v", res, err)
	}
	// And a finished conversation is not asked again.
	if res, err = b.Resume(t.Context()); err != nil || res.Text != "went on" || res.Turns != 0 {
		t.Errorf("resuming a finished run gave %+v, %v", res, err)
	}
}

// lateStore stores what a killed process had sent just before somebody else's first write.
type lateStore struct {
	store.Store
	late func()
}

func (s *lateStore) Append(
	ctx context.Context,
	key store.SessionKey,
	last uint64,
	entries ...store.Entry,
) (uint64, error) {
	if late := s.late; late != nil {
		s.late = nil
		late()
	}
	return s.Store.Append(ctx, key, last, entries...)
}

// A server may store what a killed agent had sent after the next one has read the session.
func TestResumeTakesInWhatCameLate(t *testing.T) {
	t.Parallel()
	key := store.SessionKey{Session: "s"}
	for name, tt := range map[string]struct {
		there, late []transcript.Message // late: messages that the killed process had sent
	}{
		"its answer": {
			[]transcript.Message{transcript.User("sum")},
			[]transcript.Message{transcript.Assistant(call("1", "calc", `{"expression":"1+1"}`))},
		},
		"results of its calls": {
			[]transcript.Message{
				transcript.User("sum"), transcript.Assistant(call("1", "calc", `{"expression":"1+1"}`)),
			},
			[]transcript.Message{transcript.Results(transcript.Result("1", "2"))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behind := store.NewMemory()
			dead, err := pleat.OpenSession(t.Context(), behind, key, nil)
			must(t, err)
			must(t, dead.Append(t.Context(), tt.there...))
			st := &lateStore{Store: behind}
			b := newBench(t, agent.Options{Store: st, Key: key},
				slices.Repeat([]pleattest.Step{pleattest.Say("two")}, 2)...)
			st.late = func() {
				if err := dead.Append(t.Context(), tt.late...); err != nil {
					t.Error(err)
				}
			}
			if res, err := b.Resume(t.Context()); err != nil || res.Text != "two" {
				t.Fatalf("resuming gave %+v, %v", res, err)
			}
			b.answered(t)
			var roles []string
			for i := range b.Session().Len() {
				m, err := b.Session().Message(t.Context(), i)
				must(t, err)
				roles = append(roles, string(m.Role()))
			}
			if got := strings.Join(roles, " "); got != "user assistant tool assistant" {
				t.Errorf("the session has %s", got)
			}
		})
	}
}

func TestCancelWhileTheModelAnswers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	gen := model.GeneratorFunc(func(ctx context.Context, _ *model.Request, sink func(model.Delta)) (model.Reply, error) {
		sink(model.Delta{Kind: transcript.KindText, Text: "half an ans"})
		cancel()
		<-ctx.Done()
		return model.Reply{
			Messages: []transcript.Message{transcript.Assistant(transcript.Say("half an ans"))},
		}, ctx.Err()
	})
	b := newBench(t, agent.Options{Generator: gen})
	if res, err := b.Run(ctx, "talk"); !errors.Is(err, context.Canceled) || res.Stop != agent.StopCancelled {
		t.Fatalf("the run ended with %v, %v", res.Stop, err)
	}
	if n := b.Session().Len(); n != 1 {
		t.Errorf("the transcript has %d messages, want the question alone", n)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	forever := func() *pleattest.Script {
		return &pleattest.Script{Then: func(n int, _ *model.Request) (model.Reply, error) {
			r := pleattest.Use(call(fmt.Sprint("c", n), "calc", `{"expression":"1+1"}`)).Reply
			r.Usage = model.Usage{Input: 1_000, Output: 100}
			return r, nil
		}}
	}
	priced := model.Model{ID: "priced", Window: 100_000, Prices: []model.Price{{Input: 10, Output: 100}}}
	for _, tt := range []struct {
		name   string
		limits agent.Limits
		want   agent.Stop
		turns  int
	}{
		{"turns", agent.Limits{Turns: 3}, agent.StopTurns, 3},
		{"tokens", agent.Limits{Tokens: 2_000}, agent.StopTokens, 2},
		{"usd", agent.Limits{USD: 0.05}, agent.StopUSD, 3},
	} {
		b := newBench(t, agent.Options{Generator: forever(), Limits: tt.limits, Session: pleat.Options{Model: priced}})
		res, err := b.Run(t.Context(), "count")
		if err != nil || res.Stop != tt.want || res.Turns != tt.turns {
			t.Errorf("%s: %+v, %v; want to stop for %s after %d turns", tt.name, res, err, tt.want, tt.turns)
		}
		b.answered(t)
	}
	if _, err := agent.New(t.Context(), &agent.Options{Generator: forever(), Limits: agent.Limits{USD: 1}}); err == nil {
		t.Error("a limit in USD for a model without prices was taken")
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		script := &pleattest.Script{Steps: []pleattest.Step{{Hang: true}}}
		a := newAgent(t, &agent.Options{Generator: script, Limits: agent.Limits{Time: time.Minute}})
		res, err := a.Run(t.Context(), "wait")
		if err != nil || res.Stop != agent.StopTime {
			t.Errorf("after a minute: %+v, %v", res, err)
		}
	})
}

func TestOverflowFoldsHarderAndRetriesOnce(t *testing.T) {
	t.Parallel()
	tooLong := model.ClassifyError(
		400,
		"",
		[]byte(
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9000 tokens > 5000 `+
				`maximum"}}`,
		),
	)
	steps := []pleattest.Step{}
	for i := range 6 {
		steps = append(steps, pleattest.Use(call(fmt.Sprint("c", i), "read_file", `{"path":"f%d.txt"}`, i)))
	}
	steps = append(steps, pleattest.Fail(tooLong), pleattest.Say("made it"))
	b := newBench(t, agent.Options{}, steps...)
	for i := range 6 {
		b.file(t, fmt.Sprintf("f%d.txt", i), strings.Repeat(fmt.Sprintf("line of file %d\n", i), 200))
	}
	res, err := b.Run(t.Context(), "read all")
	if err != nil || res.Text != "made it" {
		t.Fatalf("the run ended with %+v, %v", res, err)
	}
	reqs := b.script.Requests()
	count := tokens.NewTokenizer(model.Model{}, nil)
	if before, after := count.CountRequest(*reqs[6]), count.CountRequest(*reqs[7]); after >= before {
		t.Errorf("the retry has %d tokens, the refused request had %d", after, before)
	}
	// Refused twice is an error, not a loop.
	b = newBench(
		t,
		agent.Options{},
		append(steps[:6:6], pleattest.Fail(tooLong), pleattest.Fail(tooLong), pleattest.Say("never"))...)
	for i := range 6 {
		b.file(t, fmt.Sprintf("f%d.txt", i), strings.Repeat(fmt.Sprintf("line of file %d\n", i), 200))
	}
	if res, err := b.Run(t.Context(), "read all"); err == nil || res.Stop != agent.StopFailed {
		t.Errorf("refused twice: %+v, %v", res, err)
	}
}

func TestEventsReachOneObserver(t *testing.T) {
	t.Parallel()
	var steps []pleattest.Step
	for i := range 8 {
		steps = append(steps, pleattest.Use(call(fmt.Sprint("c", i), "read_file", `{"path":"f%d.txt"}`, i)))
	}
	last := pleattest.Say("done")
	last.Reply.Usage = model.Usage{Input: 10, Output: 2}
	b := newBench(t, agent.Options{Session: pleat.Options{Budget: fold.Budget{Window: 10_000}}}, append(steps, last)...)
	for i := range 8 {
		b.file(t, fmt.Sprintf("f%d.txt", i), strings.Repeat(fmt.Sprintf("line of file %d\n", i), 250))
	}
	run(t, b.Agent, "read all")
	n := b.kinds()
	for _, k := range []agent.EventKind{"snapshot", "text", "tool_call", "tool_result", "epoch", "usage", "done"} {
		if n[k] == 0 {
			t.Errorf("there was no %s event among %v", k, n)
		}
	}
	if n["fold"]+n["digest"] == 0 {
		t.Errorf("nothing was folded: %v", n)
	}
	if n["tool_call"] != 8 || n["tool_result"] != 8 || n["done"] != 1 {
		t.Errorf("events are %v", n)
	}
}

var must = difftest.Must
