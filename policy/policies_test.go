package policy_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// What these tests do most, by short names.
var (
	open    = pleattest.Open
	add     = pleattest.Append
	work    = pleattest.Read
	view    = pleattest.View
	allText = pleattest.Text
	outline = pleattest.Outline
)

func named(t testing.TB, name string) fold.Policy {
	t.Helper()
	p, err := policy.ByName(name)
	must(t, err)
	return p
}

func compact(t testing.TB, s *pleat.Session) *fold.Plan {
	t.Helper()
	p, err := s.Compact(t.Context(), "")
	must(t, err)
	return p
}

// countWith counts the messages of an outline that have a text.
func countWith(lines []string, text string) int {
	n := 0
	for _, l := range lines {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}

func TestPolicyNames(t *testing.T) {
	var names []string
	for _, p := range policy.All() {
		names = append(names, p.Name)
		if p.Doc == "" {
			t.Errorf("policy %s says nothing about itself", p.Name)
		}
	}
	want := []string{"default", "book", "threshold", "three-layer", "four-lever", "four-layer", "truncate", "none"}
	difftest.Equal(t, want, names)
	if _, err := policy.ByName("nonsense"); err == nil || !strings.Contains(err.Error(), "three-layer") {
		t.Errorf("unknown policy: %v", err)
	}
}

// The book masks all but three results when red, and only summarizes when that is not
// enough.
func TestPolicyBook(t *testing.T) {
	plan := new(fold.Plan)
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy: named(t, "book"), Budget: fold.Budget{Window: 8_000},
		Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
			if e.Kind == pleat.EventEpoch && slices.ContainsFunc(e.Plan.Folds, func(f *fold.Fold) bool { return f.Digest }) {
				plan = e.Plan
			}
		},
	})
	add(t, s, transcript.User("Read the files."))
	work(t, s, 0, 6, 4_000)
	got := outline(view(t, s))
	if n := countWith(got, "[tool_result elided; call_id=call_0; original_tokens="); n != 1 {
		t.Errorf("the oldest result is not elided:\n%s", strings.Join(got, "\n"))
	}
	if n := countWith(got, "[tool_result elided"); n != 3 {
		t.Errorf("%d results elided, want all but 3 of 6", n)
	}
	if n := countWith(got, "[session summary"); n != 0 {
		t.Error("summarized although masking was enough")
	}
	for i := 6; i < 150; i++ { // many small rounds: masking frees too little
		work(t, s, i, 1, 500)
	}
	got = outline(view(t, s))
	if steps := fmt.Sprint(plan.Steps); !strings.Contains(steps, "mask") || !strings.Contains(steps, " red} {summarize") ||
		!strings.HasSuffix(steps, " green}]") {
		t.Errorf("the steps are %s", steps)
	}
	if n := countWith(got, "user: [session summary — "); n != 1 {
		t.Errorf("no summary:\n%s", strings.Join(got, "\n"))
	}
	if got[0] != "user: Read the files." {
		t.Errorf("the first message is %q", got[0])
	}
	if n := len(got); n != 2+6 {
		t.Errorf("%d messages, want the first, the summary and the newest 6", n)
	}
}

// threshold replaces all but the newest eight messages by a pair, at 75 % of 60,000.
func TestPolicyThreshold(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Policy: named(t, "threshold")})
	if l := s.Snapshot().Limits; l.Window != 60_000 || l.Red != 45_000 {
		t.Errorf("limits = %+v", l)
	}
	add(t, s, transcript.User("Never touch legacy/."))
	work(t, s, 0, 40, 5_000)
	msgs := view(t, s)
	got := outline(msgs)
	if !strings.HasPrefix(got[0], "user: <conversation_summary>") ||
		got[1] != "assistant: Understood. Continuing from that summary." {
		t.Errorf("no pair:\n%s", strings.Join(got[:2], "\n"))
	}
	if len(got) != 3+8 || got[2] != "user: Continue." {
		t.Errorf("%d messages, want the pair, \"Continue.\" and 8:\n%s", len(got), strings.Join(got, "\n"))
	}
	if !strings.Contains(msgs[0].Text(), "Never touch legacy/.") {
		t.Error("the rule is not in the summary")
	}
}

func TestPolicyThreeLayer(t *testing.T) {
	files := make(map[string]string)
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy:   named(t, "three-layer"),
		Now:      func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		KeepFile: func(name string, data []byte) (string, error) { files[name] = string(data); return name, nil },
	})
	add(t, s, transcript.User("Read the files."))
	work(t, s, 0, 5, 1_000)
	got := outline(view(t, s))
	if n := countWith(got, "[Previous: used read_file]"); n != 2 {
		t.Errorf("%d placeholders before any threshold, want 2 of 5:\n%s", n, strings.Join(got, "\n"))
	}
	// 50,000 tokens by the rule of four characters each, in three results that stay.
	work(t, s, 5, 3, 70_000)
	msgs := view(t, s)
	if len(msgs) != 3 || !strings.HasPrefix(msgs[0].Text(), "[Compressed]\n\n") ||
		msgs[1].Text() != "Understood. Continuing." ||
		msgs[2].Text() != "Continue." {
		t.Errorf("no summary pair:\n%s", strings.Join(outline(msgs), "\n"))
	}
	kept, begins := files[".transcripts/transcript_1767323045.jsonl"], `{"role": "user", "content": "Read the files."}
{"role": "assistant", "content": [{"type": "text", "text": "Next, file 0."}, `+
		`{"type": "tool_use", "id": "call_0", "name": "read_file", "input": {"path": "src/file0.go"}}]}
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_0", "content": "line of file 0`
	if len(files) != 1 || !strings.HasPrefix(kept, begins) {
		t.Errorf("%d transcripts are kept, this one begins\n%.400s", len(files), kept)
	}
	work(t, s, 8, 1, 100)
	if got := outline(view(t, s)); len(got) != 5 {
		t.Errorf("after the next round:\n%s", strings.Join(got, "\n"))
	}
}

func TestSpillMarker(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Policy: named(t, "four-lever")})
	long := strings.Repeat("x", 50_000)
	add(t, s,
		transcript.User("Go."), transcript.Assistant(transcript.Call("a", "bash", `{}`)),
		transcript.Results(transcript.Result("a", long)))
	// Without a folder there is no file, and the marker names none.
	want := "<persisted-output>\nOutput too large (48.8KB). Full output saved to: the store of the session (" +
		s.Report().Folds[0].Handle + ")" +
		"\nPreview (first 2.0KB):\n" + long[:2_000] + "\n</persisted-output>"
	if got := transcript.BlockText(view(t, s)[2].Blocks().At(0)); got != want {
		t.Errorf("marker:\n%.200s", got)
	}
}

func TestPolicyFourLayer(t *testing.T) {
	p := named(t, "four-layer")
	s := open(
		t,
		store.NewMemory(),
		&pleat.Options{Policy: p, Budget: fold.Budget{Window: 100_000, Output: fold.Tokens(10_000)}},
	)
	if l := s.Snapshot().Limits; l.Red != 77_000 {
		t.Errorf("red = %d, want window − output − 13,000", l.Red)
	}
	add(t, s, transcript.User("Go."))
	work(t, s, 0, 40, 1_000) // 81 messages
	got := outline(view(t, s))
	if n := countWith(got, "messages from conversation middle]"); n != 1 {
		t.Errorf("not snipped:\n%s", strings.Join(got, "\n"))
	}
	// 3 + 47 and the placeholder, shifted by at most one message at each end to keep rounds.
	if n := len(got); n < 51 || n > 53 {
		t.Errorf("%d messages after snipping", n)
	}
	if n := countWith(got, "[Earlier tool result compacted. Re-run if needed.]"); n == 0 {
		t.Error("old results are not replaced")
	}
	child := open(t, store.NewMemory(), &pleat.Options{Policy: p, Child: true})
	add(t, child, transcript.User("Go."))
	work(t, child, 0, 40, 200)
	if n := countWith(outline(view(t, child)), "snipped"); n != 0 {
		t.Error("a sub-agent's conversation was snipped")
	}
}

// The budget of four-layer is for all results of an answer's calls, markers included, also where each
// result is a message. Only what a marker names is written to a file, and nothing that its marker would
// not shorten.
func TestPolicyFourLayerBudgetHolds(t *testing.T) {
	for _, tt := range []struct {
		results, chars, files, left int
		apart                       bool
	}{
		{40, 5_100, 2, 198_100, false},
		{100, 2_100, 0, 210_000, false},
		{3, 100_000, 2, 104_300, false},
		{40, 5_100, 2, 198_100, true},
		{3, 100_000, 2, 104_300, true},
		{100, 2_100, 0, 210_000, true},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			files := map[string]bool{}
			s := open(t, store.NewMemory(), &pleat.Options{
				Policy: named(t, "four-layer"), Budget: fold.Budget{Window: 1_000_000},
				KeepFile: func(name string, _ []byte) (string, error) { files[name] = true; return name, nil },
			})
			calls, results := []transcript.Block{}, []transcript.ToolResult{}
			for i := range tt.results {
				id := fmt.Sprint("c", i)
				calls = append(calls, transcript.Call(id, "read_file", `{}`))
				results = append(results, transcript.Result(id, strings.Repeat("yes no ", tt.chars)[:tt.chars]))
			}
			msgs := []transcript.Message{
				transcript.User("Go."), transcript.Assistant(calls...), transcript.Results(results...),
			}
			if tt.apart {
				msgs = msgs[:2]
				for _, r := range results {
					msgs = append(msgs, transcript.Results(r))
				}
			}
			add(t, s, msgs...)
			left := tt.results * tt.chars
			for _, f := range s.Folds() {
				if !files[f.File] || !strings.Contains(f.Stub, f.File) {
					t.Errorf("a fold names the file %q", f.File)
				}
				left += len(f.Stub) - f.Bytes
			}
			if len(s.Folds()) != tt.files || len(files) != tt.files || left > tt.left {
				t.Errorf("%d characters are left, %d files, %d markers", left, len(files), len(s.Folds()))
			}
		})
	}
}

// After a pause old results go, and the middle too.
func TestPolicyIdle(t *testing.T) {
	p := named(t, "four-layer")
	p.EveryTurn = nil
	s := open(t, store.NewMemory(), &pleat.Options{Policy: p})
	add(t, s, transcript.User("Go."))
	work(t, s, 0, 40, 300)
	for _, idle := range []time.Duration{59 * time.Minute, time.Hour} {
		v, err := s.View(t.Context(), pleat.Turn{Idle: idle})
		must(t, err)
		if n := len(v.Messages); v.IsWhole(s.Len()) != (idle < time.Hour) || idle == time.Hour && n > 53 {
			t.Errorf("after %s the view has %d messages of %d", idle, n, s.Len())
		}
	}
}

func TestPolicyTruncate(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Policy: named(t, "truncate"), Budget: fold.Budget{Window: 8_000}})
	for i := range 20 {
		add(t, s, transcript.User(fmt.Sprint("Question ", i)))
		work(t, s, i, 1, 1_500)
	}
	msgs := view(t, s)
	if msgs[0].Role() != transcript.RoleUser || msgs[0].Text() != "Question 10" || len(msgs) != 30 {
		t.Errorf("of 60 messages %d are shown, the first is %s", len(msgs), outline(msgs)[0])
	}
}

func TestPolicyNone(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Policy: named(t, "none"), Budget: fold.Budget{Window: 2_000}})
	add(t, s, transcript.User("Go."))
	work(t, s, 0, 20, 2_000)
	v, err := s.View(t.Context(), pleat.Turn{})
	if err != nil || !v.IsWhole(s.Len()) {
		t.Errorf("none changed something: %v", err)
	}
}

// A plain copy that cannot be written stops nothing: the stub names the handle.
func TestPlainCopyCannotBeKept(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy:   named(t, "four-lever"),
		KeepFile: func(string, []byte) (string, error) { return "", errors.New("no space left") },
	})
	long := strings.Repeat("output\n", 5_000)
	add(t, s,
		transcript.User("Go."), transcript.Assistant(transcript.Call("1", "bash", `{}`)),
		transcript.Results(transcript.Result("1", long)))
	folds := s.Folds()
	if len(folds) != 1 || !strings.Contains(allText(view(t, s)), folds[0].Handle) {
		t.Errorf("%d folds, view %s", len(folds), allText(view(t, s)))
	}
}

var must = difftest.Must

// results returns the results that a policy shows of a tool that was called n times, perhaps with a command
// after its name.
func results(t *testing.T, p fold.Policy, tool, output string, n int) []string {
	t.Helper()
	s := open(t, store.NewMemory(), &pleat.Options{Policy: p})
	msgs := []transcript.Message{transcript.User("Build it.")}
	name, command, _ := strings.Cut(tool, " ")
	command = cmp.Or(command, "make")
	for i := range n {
		id := string(rune('a' + i))
		msgs = append(msgs, transcript.Assistant(transcript.Call(id, name, `{"command":"`+command+`","path":"`+id+`"}`)),
			transcript.Results(transcript.Result(id, output)))
	}
	add(t, s, msgs...)
	var out []string
	for _, m := range view(t, s) {
		for _, b := range m.Blocks().All() {
			if r, ok := b.(transcript.ToolResult); ok {
				out = append(out, r.Text())
			}
		}
	}
	return out
}

// A tool is treated the same whatever its agent calls it.
func TestToolsOfAllAgents(t *testing.T) {
	long := strings.Repeat("a line of output\n", 2_400) // 40,800 characters: between the limits
	for tool, spilled := range map[string]bool{
		"Bash": true, "bash": true, "execute_command": true, "run_terminal_cmd": true, "shell_command": true,
		"run_in_terminal": true, "read_file": false, "query": false,
	} {
		got := results(t, policy.Default(), tool, long, 1)
		if len(got) != 1 || (got[0] != long) != spilled {
			t.Errorf("%s: a result of %d characters is shown with %d", tool, len(long), len(strings.Join(got, "")))
		}
	}
	output := strings.Repeat("a line of output\n", 20)
	for tool, masked := range map[string]bool{
		"read_file": false,
		"Read":      false,
		"view":      false,
		"Bash":      true,
		"grep":      true,

		"mcp__fs__read_file": false, "mcp__fs__query": true,
		"str_replace_editor view": false, "str_replace_editor create": true,
	} {
		got := results(t, named(t, "four-lever"), tool, output, 5)
		if len(got) != 5 || (got[0] != output) != masked {
			t.Errorf("%s: the oldest of five results is shown as %q", tool, got[0])
		}
	}
}
