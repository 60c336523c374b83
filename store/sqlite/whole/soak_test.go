package whole_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

func call(id, name, format string, args ...any) transcript.ToolCall {
	return transcript.Call(id, name, fmt.Sprintf(format, args...))
}

// produced is the output of the n-th call of the soak: 1 to 200 KB of lines, the same
// whenever it is asked for.
func produced(n int) string {
	size := 1_000 + (n*7919)%200_000
	if n%4 != 0 { // most outputs are small, as in life
		size = 1_000 + size%9_000
	}
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%06d call %d: value %x in src/mod%d/file_%d.go:%d\n",
			i, n, (i+1)*(n+7)*2654435761%4294967291, n%13, i%97, i*3+n)
	}
	return b.String()
}

var produce = agent.Tool{
	Definition: model.Tool{
		Name:        "produce",
		Description: "Produces output.",
		Schema:      `{"type":"object","properties":{"n":{"type":"integer"}}}`,
	},
	Run: func(_ context.Context, c agent.Call) (string, error) {
		var in struct{ N int }
		err := c.Decode(&in)
		return produced(in.N), err
	},
}

// soak is a model for a long run: it checks every request that it gets.
type soak struct {
	t     *testing.T
	turns int
	max   int // tokens
	count *tokens.Tokenizer

	n       int // requests
	calls   int
	largest int
	heap    []uint64
}

func (s *soak) Generate(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
	s.n++
	size := s.count.CountRequest(*req)
	if s.largest = max(s.largest, size); size > s.max {
		s.t.Errorf("request %d has %d tokens, %d may be sent", s.n, size, s.max)
	}
	s.legal(req)
	if s.n%50 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s.heap = append(s.heap, m.HeapAlloc)
	}
	var step pleattest.Step
	switch {
	case s.n == s.turns:
		step = pleattest.Say("done")
	case s.n%23 == 0:
		step = pleattest.Use(call(fmt.Sprint("s", s.n), "search", `{"queries":["call %d value"]}`, s.n))
	case s.n%29 == 0:
		step = pleattest.Use(call(fmt.Sprint("s", s.n), "ledger", `{}`))
	case s.n%10 == 0: // several at once
		step = pleattest.Use(s.next(), s.next(), s.next())
	default:
		step = pleattest.Use(s.next())
	}
	step.Reply.Usage = model.Usage{Input: size, Output: 50}
	return step.Reply, nil
}

func (s *soak) next() transcript.ToolCall {
	s.calls++
	return call(fmt.Sprint("p", s.calls), "produce", `{"n":%d}`, s.calls)
}

// legal holds a request to the rules of all wires.
func (s *soak) legal(req *model.Request) {
	for name, check := range map[string]func() ([]transcript.Violation, error){
		"anthropic": func() ([]transcript.Violation, error) {
			body, err := anthropic.Encode(req)
			if err != nil {
				return nil, err
			}
			r, err := anthropic.Decode(body)
			if err != nil {
				return nil, err
			}
			return r.Check(model.Model{}), nil
		},
		"chat": func() ([]transcript.Violation, error) {
			body, err := openai.EncodeChat(req)
			if err != nil {
				return nil, err
			}
			r, err := openai.DecodeChat(body)
			if err != nil {
				return nil, err
			}
			return r.Check(model.Model{}), nil
		},
		"responses": func() ([]transcript.Violation, error) {
			body, err := openai.EncodeResponses(req)
			if err != nil {
				return nil, err
			}
			r, err := openai.DecodeResponses(body)
			if err != nil {
				return nil, err
			}
			return r.Check(model.Model{}), nil
		},
	} {
		bad, err := check()
		if err != nil || len(bad) > 0 {
			s.t.Errorf("request %d is not legal for %s: %v %v", s.n, name, bad, err)
		}
	}
}

// TestSoak runs long sessions in small windows. PLEAT_SOAK says how many turns.
func TestSoak(t *testing.T) {
	turns := 40
	if testing.Short() {
		turns = 15
	}
	if n, err := strconv.Atoi(os.Getenv("PLEAT_SOAK")); err == nil {
		turns = n
	}
	for _, window := range []int{8_000, 60_000} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			store, err := sqlite.Open(filepath.Join(t.TempDir(), "store"), nil)
			must(t, err)
			defer store.Close()
			mdl := model.Model{ID: "soak", Window: window}
			budget := fold.Budget{Window: window}
			s := &soak{t: t, turns: turns, max: budget.Limits().Max, count: tokens.NewTokenizer(mdl, nil)}
			w, err := agent.OpenWorkspace(t.TempDir())
			must(t, err)
			defer w.Close()
			b, err := agent.New(t.Context(), &agent.Options{
				Store: store, Generator: s, Tools: append(agent.StandardTools(w, nil), produce),
				Request: model.Request{Model: "soak", MaxTokens: 1_000},
				Session: pleat.Options{Model: mdl, Budget: budget},
			})
			must(t, err)
			res, err := b.Run(t.Context(), "Produce, and keep the numbers. Never touch legacy/.")
			if err != nil || res.Stop != agent.StopDone {
				t.Fatalf("the run ended with %v, %v", res.Stop, err)
			}
			bytes := s.recoverable(b)
			t.Logf(
				"%d turns, %d calls, %d bytes of output, %d epochs; largest request %d of %d tokens; heap every 50 turns, in "+
					"MB: %v",
				res.Turns,
				res.Calls,
				bytes,
				b.Session().Snapshot().Epoch,
				s.largest,
				s.max,
				megabytes(s.heap),
			)
			if b.Session().Snapshot().Epoch == 0 {
				t.Error("nothing was folded")
			}
			// The session keeps 32 MB of messages in memory, and what it mined of 32 MB of
			// text; then it grows no further.
			if n := len(s.heap); n > 0 && s.heap[n-1] > 160e6 {
				t.Errorf("the heap has %d bytes after %d turns", s.heap[n-1], res.Turns)
			}
		})
	}
}

// recoverable fails unless every output comes back exactly, and returns their size.
func (s *soak) recoverable(b *agent.Agent) int {
	s.t.Helper()
	list := b.Session().Ledger(ledger.Filter{Tool: "produce"})
	if len(list) != s.calls {
		s.t.Errorf("the ledger has %d of %d calls", len(list), s.calls)
	}
	size := 0
	for i, e := range list {
		u, err := b.Session().Unfold(s.t.Context(), recall.UnfoldRequest{Handle: e.Handle})
		if err != nil || u.Whole != produced(i+1) {
			s.t.Errorf("output %d came back with %d bytes, want %d (%v)", i+1, len(u.Whole), len(produced(i+1)), err)
		}
		size += len(u.Whole)
	}
	return size
}

func megabytes(bytes []uint64) []string {
	out := make([]string, len(bytes))
	for i, n := range bytes {
		out[i] = fmt.Sprintf("%.1f", float64(n)/1e6)
	}
	return out
}
