package summarizer_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

var toldLimit = regexp.MustCompile(`at most ([0-9,]+) tokens \(about ([0-9,]+) words or`)

// toldLimits reads from a request how long its digest may be.
func toldLimits(t testing.TB, req *model.Request) (tokens, words int) {
	t.Helper()
	m := toldLimit.FindStringSubmatch(pleattest.Text(req.Messages))
	if m == nil {
		t.Fatal("the request tells no limit")
	}
	tokens, _ = strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	words, _ = strconv.Atoi(strings.ReplaceAll(m[2], ",", ""))
	return tokens, words
}

// A digest that keeps to the limit it was told, or passes it by a little, is in the view,
// beside the user's words and the names of changed files. It has half of the view, also
// where the user wrote much: all that they typed has a third.
func TestDigestHasTheRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	count := tokens.NewTokenizer(model.Model{}, nil).CountText
	for _, tt := range []struct {
		budget int
		share  float64 // of the limit that is used
		head   int     // times that they typed one at the very beginning
		typed  int     // and later
		newest int     // tokens of the newest message
	}{
		{8_000, 0.5, 0, 1, 0},
		{8_000, 1, 0, 1, 0},
		{8_000, 1.15, 0, 1, 0},
		{8_000, 1.15, 0, 20, 0},
		{8_000, 1.15, 0, 60, 0},
		{8_000, 1.15, 16, 1, 0},
		{8_000, 1.15, 12, 20, 0},
		{8_000, 1.15, 0, 1, 1_000},
		{8_000, 1.15, 0, 20, 1_000},
		{8_000, 1, 0, 5, 2_000},
		{12_000, 1.15, 0, 1, 0},
		{20_000, 1.15, 0, 1, 4_000},
		{20_000, 1.15, 30, 100, 0},
	} {
		t.Run(fmt.Sprint(tt.budget, tt.share, tt.head, tt.typed, tt.newest), func(t *testing.T) {
			told, words := 0, 0
			m := &pleattest.Script{Then: func(_ int, req *model.Request) (model.Reply, error) {
				told, words = toldLimits(t, req)
				var b strings.Builder
				for i := 0; count(b.String()) < int(tt.share*float64(told))-30; i++ {
					fmt.Fprintf(
						&b,
						"- Handler %d of src/file%[1]d.go takes its lock before the queue is drained, said for the time %d.\n",
						i%12,
						i%90,
					)
				}
				return pleattest.Say("<digest>" + b.String() + "</digest>").Reply, nil
			}}
			all := fold.Share(1)
			s := pleattest.Open(t, store.NewMemory(), &pleat.Options{
				Budget: fold.Budget{
					Window: tt.budget + 1,
					Output: fold.Tokens(1),
					Buffer: fold.Tokens(1),
					Yellow: all,
					Red:    all,
					Target: all,
				},
				Model: model.Model{
					ID:     "scripted",
					Window: 400_000,
				}, Digest: digest.Options{Generator: m, NoBackground: true, NoFork: true},
			})
			rule := func(i int) string {
				return fmt.Sprintf("Rule %d: ", i) + strings.Repeat("keep every word of what I type here as it is. ",
					12)
			}
			first := "Begin."
			for i := range tt.head {
				first += "\n\n" + rule(1000+i)
			}
			pleattest.Append(t, s, transcript.User(first), transcript.Assistant(transcript.Say("Yes.")))
			for i := range tt.typed {
				pleattest.Append(t, s, transcript.User(rule(i)), transcript.Assistant(transcript.Say("I will.")))
			}
			pleattest.Append(t, s,
				transcript.Assistant(transcript.Call("w", "write_file",
					`{"path":"src/changed_by_me.go","content":"package x"}`)),
				transcript.Results(transcript.Result("w", "ok")),
			)
			pleattest.Talk(t, s, 0, tt.budget/90)
			if tt.newest > 0 {
				line := "A line of ten tokens, as near as it gets.\n"
				think := transcript.Thinking{
					Text: transcript.Plain(strings.Repeat(line, tt.newest/10)), Signature: "sig",
				}
				pleattest.Append(t, s, transcript.Assistant(think, transcript.Call("n", "query", "{}")))
			}
			compact(t, s)
			msgs := pleattest.View(t, s)
			got := pleattest.Text(msgs)
			least := tt.budget / 2
			if tt.newest > 0 {
				least = (tt.budget - tt.newest) * 2 / 5
			}
			if told < least || words*2 > told*6/5 {
				t.Errorf("the model is told %d tokens and %d words", told, words)
			}
			kept := ": Go on."
			if tt.head == 0 && tt.typed <= 20 { // there is room for all that they typed
				kept = fmt.Sprintf("Rule %d: keep every word", tt.typed-1)
			}
			for _, want := range []string{"written by a model", "said for the time 1.", kept, "changed_by_me.go"} {
				if !strings.Contains(got, want) {
					t.Errorf("the view does not have %q", want)
				}
			}
			if n := int(s.Report().Snapshot.Tokens); n > tt.budget {
				t.Errorf("the view has %d tokens", n)
			}
			if r := s.Report().Digests; len(r) != 1 || len(r[0].Tries) != 1 {
				t.Errorf("digests: %v", r)
			}
		})
	}
}

// The summarizer reads what a later call superseded, marked as such.
func TestDigestReadsSupersededResults(t *testing.T) {
	m := &pleattest.Script{Steps: []pleattest.Step{pleattest.Say(goodDigest)}}
	var events []pleat.Event
	o := digestOptions(m, &events)
	o.Digest.NoFork = true
	s := pleattest.Open(t, store.NewMemory(), o)
	pleattest.Append(t, s, transcript.User("Read it."),
		transcript.Assistant(transcript.Call("r1", "read_file", `{"path":"src/one.go"}`)),
		transcript.Results(transcript.Result("r1", "timeout = 17 // as it was")),
		transcript.Assistant(transcript.Call("e1", "write_file", `{"path":"src/one.go","content":"timeout = 18"}`)),
		transcript.Results(transcript.Result("e1", "ok")))
	pleattest.Digestible(t, s, 24)
	compact(t, s)
	if got := pleattest.Text(m.Requests()[0].Messages); !strings.Contains(got, "(superseded result [") ||
		!strings.Contains(got, "timeout = 17 // as it was") {
		t.Errorf("the superseded result is left out:\n%.1500s", got)
	}
}
