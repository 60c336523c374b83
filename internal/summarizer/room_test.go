package summarizer_test

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/viewtest"
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
			s := pleattest.Open(t, store.NewMemory(), &pleat.Options{
				Budget: viewtest.Tight(tt.budget),
				Model:  model.Model{ID: "scripted", Window: 400_000},
				Digest: digest.Options{Generator: m, NoBackground: true, NoFork: true},
			})
			rule := func(i int) string {
				return fmt.Sprintf("Rule %d: ", i) + strings.Repeat("keep every word of what I type here as it is. ", 12)
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

// A subject is a made-up conversation, and what a digest says of it: shown is what a tool showed in round i,
// told what the digest tells of that.
type subject struct {
	name  string
	shown func(i int) string
	told  func(i int) string
}

func hash(i int) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, "commit", i)))[:12] }

var subjects = []subject{
	{
		"issues",
		func(i int) string {
			return fmt.Sprintf(`{"number":%d,"state":"closed","title":"limiter_%d leaks","by":"%s","runs":%d}`,
				1391+i, i, hash(i), 4000+i)
		},
		func(i int) string {
			return fmt.Sprintf("#%d closed by %s: `limiter_%d` leaks no more, %d runs green.\n"+
				"#%[1]d, reopened once, is like #1391.\n# of runs: %[4]d\n#%[5]d", 1391+i, hash(i)[:7], i, 4000+i, i%100)
		},
	},
	{
		"code",
		func(i int) string {
			return fmt.Sprintf("$ go test -run 'Shard%d$' ./...\n%4[1]d\tfunc evictShard%[1]d(n int) error {\n"+
				"%4[2]d\t\tif n > %[3]d {\n%4[2]d\t\t\treturn errShard%[1]d\n", i, i+1, 300+i)
		},
		func(i int) string {
			return fmt.Sprintf("```go\n// the limit was raised. It holds.\nfunc evictShard%d(n int) error {\n"+
				"\tif n > %d {\n\t\treturn errShard%[1]d\n\t}\n\n-\n+\n\treturn nil\n}\n```\n```sh\n"+
				"# run shard %[1]d alone\ngo test -run 'Shard%[1]d$' ./... # twice\n```\n- `evictShard%[1]d` is done.",
				i, 300+i)
		},
	},
	{
		"tables",
		func(i int) string { return fmt.Sprintf("run-%d,%s,%d,%d,ok", i, hash(i), 211+i, 871+3*i) },
		func(i int) string {
			row := fmt.Sprintf("| run-%d | %s | %d ms | %d ms | ok |\n| └ once more | run-%[1]d, `%[3]d` | | | |",
				i, hash(i)[:9], 211+i, 871+3*i)
			if i%12 == 0 {
				row = "\n| run | commit | p50 | p99 | ends |\n|:---|---|---:|---:|---|\n" + row + "\n|\n| | | | |"
			}
			return row
		},
	},
	{
		"logs",
		func(i int) string {
			return fmt.Sprintf("ERROR worker_%d: lease %s lost after %d ms\nretry %d of 3", i, hash(i), 2000+i, i%4)
		},
		func(i int) string {
			return fmt.Sprintf("> ERROR worker_%d: lease %s lost after %d ms\n> > retry %d of 3\n>\n---\n"+
				"***Cause*** (worker_%[1]d): the clock.\n$ kill -9 `pidof worker_%[1]d`\n~ %[3]d ms → less",
				i, hash(i), 2000+i, i%4)
		},
	},
	{
		"lists",
		func(i int) string {
			return fmt.Sprintf("batch_%d = %d\nsrc/stage%[1]d/main.go reads https://ci.example.com/jobs/%[3]d",
				i, 517+i, 90210+i)
		},
		func(i int) string {
			return fmt.Sprintf("%d. **Stage %[2]d.** `batch_%[2]d` = %[3]d; see src/stage%[2]d/main.go, "+
				"then <https://ci.example.com/jobs/%[4]d>.\n   * chosen: one batch; rejected: two (slow).\n"+
				"   b) Open? No.\n   1.\n\t- [x] it works\n*\n+ and so on…\n• end", i%30+1, i, 517+i, 90210+i)
		},
	},
	{
		"prose",
		func(i int) string {
			return fmt.Sprintf("Messung %d: %d,5 Grad, Sensor sensor_%[1]d, 温度 %[2]d", i, 1200+i)
		},
		func(i int) string {
			return fmt.Sprintf("Messung %d (m%d): Sensor `sensor_%[1]d` zeigt %[3]d,5 Grad. Das passt! Der Rest? Offen.\n"+
				"第%[1]d次：温度 %[3]d。正常。\nm1: \"Keep sensor_0 as it is, please.\" — the user's rule.\n\n"+
				"  [x] \\(ok\\) {a} = <b> & 'c'; \"sensor_%[1]d\" → 100 %%", i, i%9+1, 1200+i)
		},
	},
}

// inventions are what no conversation has. Each has the word Zyqx or a number of its own.
var inventions = []string{
	"- Fixed src/zyqx/gateway.go.", "#98761 is open.", "# 98762 runs", "### `zyqx_router.go`", "## See docs/zyqx_plan.md",
	"> FATAL at zyqx_loop", "| zyqx_run | 1 ms | 2 ms | ok |", "1. Set `zyqx_batch`.", "* Port 98763.", "\t- 98,769 ms",
	"Commit deadbeef98764 did it.", "See https://zyqx.example.org/98765.", "```\ncall_zyqx(98766)\n```",
	"It needs v98.76.7.", "- [x] zyqxShard98768", `The user said "delete the zyqx branch now".`, "• `zyqxClose()` hangs.",
	"b) ~/.zyqx/config", "+ zyqx-98770.log", "--- 9877.1 % less",
}

const statePart = "### State, open ends, next step\n- All is green.\n#12 is next.\n1. Then the rest."

// write writes a digest of about so many tokens, of the newest rounds, with inventions between its facts.
func (s subject) write(count func(string) int, size, rounds int, inventions []string) (facts []string, txt string) {
	n := 1
	story := func(n int) []string {
		facts = []string{"### What happened"}
		for i := rounds - n; i < rounds; i++ {
			facts = append(facts, s.told(i))
		}
		return append(facts, statePart)
	}
	for ; n < rounds && count(strings.Join(story(n), "\n")) < size; n++ {
	}
	facts = story(n)
	lines := slices.Clone(facts)
	for k, made := range inventions {
		lines[1+k*n/len(inventions)] += "\n" + made
	}
	return facts, strings.Join(lines, "\n")
}

// A digest that fills its room stands in the view, whatever its lines begin with: what the conversation bears
// out word for word, and none of what was made up. One that is too long loses its oldest facts, and says so.
func TestDigestStandsInTheView(t *testing.T) {
	count := tokens.NewTokenizer(model.Model{}, nil).CountText
	const budget, rounds, newest = 20_000, 400, 50
	for _, subject := range subjects {
		for _, long := range []bool{false, true} {
			if long && subject.name != "issues" {
				continue
			}
			t.Run(fmt.Sprint(subject.name, long), func(t *testing.T) {
				var facts []string
				m := &pleattest.Script{Then: func(_ int, req *model.Request) (model.Reply, error) {
					told, _ := toldLimits(t, req)
					var txt string
					if facts, txt = subject.write(count, told*6/5, rounds-newest, nil); !long {
						for size := told; count(txt) > told; size -= 50 {
							facts, txt = subject.write(count, size, rounds-newest, inventions)
						}
					}
					return pleattest.Say("<analysis>…</analysis>\n<digest>\n" + txt + "\n</digest>").Reply, nil
				}}
				s := pleattest.Open(t, store.NewMemory(), &pleat.Options{
					Budget: viewtest.Tight(budget),
					Model:  model.Model{ID: "scripted", Window: 400_000},
					Digest: digest.Options{Generator: m, NoBackground: true, NoFork: true},
				})
				pleattest.Append(t, s, transcript.User("Keep sensor_0 as it is, please. Then go on."))
				for i := range rounds {
					id, filler := fmt.Sprint("c", i), strings.Repeat("nothing of note in this line of output\n", 12)
					pleattest.Append(t, s, transcript.Assistant(transcript.Call(id, "query", `{}`)),
						transcript.Results(transcript.Result(id, filler+subject.shown(i)+"\n"+filler)))
				}
				compact(t, s)
				checkStands(t, s, facts, long)
			})
		}
	}
}

func checkStands(t *testing.T, s *pleat.Session, facts []string, long bool) {
	t.Helper()
	shown := pleattest.Text(pleattest.View(t, s))
	_, rest, _ := strings.Cut(shown, "written by a model")
	chars, stand, lost := 0, 0, []string(nil)
	for line := range strings.Lines(strings.Join(facts, "\n")) {
		line = strings.TrimRight(line, "\n")
		chars += len(line)
		if at := strings.Index(rest, "\n"+line+"\n"); at >= 0 {
			stand, rest = stand+len(line), rest[at+len(line)+1:]
		} else {
			lost = append(lost, line)
		}
	}
	r := s.Report().Digests
	if len(r) != 1 || r[0].By != "model" || len(r[0].Tries) != 1 {
		t.Fatalf("digests: %v", r)
	}
	told := slices.ContainsFunc(r[0].Findings, func(f digest.Finding) bool { return f.Kind == digest.FoundTooLong })
	if told != long {
		t.Errorf("it says that it was cut: %v; %v", told, r[0].Findings)
	}
	if long {
		newest := strings.Join(facts[len(facts)-2:], "\n")
		if !strings.Contains(shown, newest) || strings.Contains(shown, facts[1]) {
			t.Errorf("the newest is lost, or the oldest is not:\n%.2000s", shown)
		}
		return
	}
	if t.Logf("%d of %d characters stand in the view", stand, chars); stand*100 < chars*97 {
		t.Errorf("it lost\n%s", strings.Join(lost[:min(len(lost), 30)], "\n"))
	}
	for _, word := range []string{"zyqx", "9876", "98,769", "98.76", "98770", "9877.1", "deadbeef"} {
		if strings.Contains(strings.ToLower(shown), word) {
			t.Errorf("the view has %q", word)
		}
	}
}
