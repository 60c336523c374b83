package policy_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Tests that the policies of published designs do what their texts say.

func TestFourLayerThreshold(t *testing.T) {
	for window, want := range map[int]tokens.Reported{
		8_000: 4_000, 16_000: 8_000, 40_000: 22_000, 200_000: 167_000, 1_000_000: 967_000,
	} {
		s := open(
			t,
			store.NewMemory(),
			&pleat.Options{Policy: named(t, "four-layer"), Model: model.Model{ID: "m", Window: window}},
		)
		if l := s.Snapshot().Limits; l.Red != want {
			t.Errorf("in a window of %d red is %d, want %d", window, l.Red, want)
		}
	}
}

// A policy's window is never larger than the model's, nor its threshold than the window.
func TestPolicyWindowInSmallModel(t *testing.T) {
	for name, want := range map[string]tokens.Reported{"threshold": 6_000, "three-layer": 6_200, "four-lever": 6_200} {
		s := open(t, store.NewMemory(),
			&pleat.Options{Policy: named(t, name), Model: model.Model{ID: "m", Window: 8_000}})
		if l := s.Snapshot().Limits; l.Window != 8_000 || l.Red != want {
			t.Errorf("%s: limits %+v, want red at %d", name, l, want)
		}
	}
}

// However many files were read, compact shows the summary, and as many of them come back as
// make the view smaller all the same. The task list comes back too.
func TestFourLayerCompactKeepsSummary(t *testing.T) {
	for _, files := range []int{8, 20, 60} {
		m := pleattest.Always("<analysis>gone</analysis><summary>The model's own words: file0.go, file1.go, file2.go.</summary>")
		s := open(t, store.NewMemory(), &pleat.Options{
			Policy: named(t, "four-layer"), Model: model.Model{ID: "m", Window: 200_000},
			Digest: digest.Options{Generator: m},
		})
		todo := transcript.Call("todo", "todo_write",
			`{"todos":[{"content":"write the report","status":"in_progress"}]}`)
		add(t, s,
			transcript.User("Read the files."), transcript.Assistant(todo),
			transcript.Results(transcript.Result("todo", "1 in progress")))
		work(t, s, 0, files, 12_000)
		view(t, s) // old results go
		compact(t, s)
		msgs := view(t, s)
		got := msgs[0].Text()
		if !strings.HasPrefix(got, "[Compacted]\n\nThe model's own words: file0.go, file1.go, file2.go.") || len(msgs) != 1 {
			t.Errorf("%d files: the view is\n%s", files, strings.Join(outline(msgs), "\n"))
		}
		for _, want := range []string{"write the report", "### src/file" + fmt.Sprint(files-1) + ".go"} {
			if !strings.Contains(got, want) {
				t.Errorf("%d files: the view lacks %q:\n%.600s", files, want, got)
			}
		}
	}
}

// A compact call's own round stays, so that its results are not hidden.
func TestCompactKeepsItsRound(t *testing.T) {
	for _, p := range []fold.Policy{named(t, "three-layer"), named(t, "four-lever"), named(t, "four-layer")} {
		s := open(
			t,
			store.NewMemory(),
			&pleat.Options{Policy: p, Digest: digest.Options{Generator: pleattest.Always("All read: file0.go, file1.go.")}},
		)
		add(t, s, transcript.User("Go."))
		work(t, s, 0, 9, 8_000)
		add(t, s, transcript.Assistant(transcript.Call("a", "calc", "{}"), transcript.Call("b", "compact", "{}")))
		compact(t, s)
		add(t, s, transcript.Results(transcript.Result("a", "42"), transcript.Result("b", "[compacted]")))
		got := allText(view(t, s))
		for _, want := range []string{"All read: file0.go, file1.go.", "42", "[compacted]"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the view lacks %q:\n%s", p.Name, want, got)
			}
		}
	}
}

// What a summary may leave out stands beside it, by code, under every policy: notes, the task list and what was done to
// the world. The next summarizer does not read it, because it will stand there anew.
func TestBesideSummary(t *testing.T) {
	for _, name := range []string{"book", "threshold", "three-layer", "four-lever", "four-layer"} {
		m := pleattest.Always("<summary>SUM of file0.go, file1.go, file2.go: notification discussed.</summary>")
		s := open(t, store.NewMemory(), &pleat.Options{Policy: named(t, name), Digest: digest.Options{Generator: m}})
		add(t, s, transcript.User("Go."),
			transcript.Assistant(
				transcript.Call("m", "send_email", `{"to":"ops@example.com","subject":"Deploy at 9"}`),
				transcript.Call("t", "todo_write", `{"todos":[{"content":"port the parser","status":"in_progress"}]}`)),
			transcript.Results(transcript.Result("m", "sent"), transcript.Result("t", "1 task")))
		must(t, s.Note(t.Context(), "port", "the service listens on 8081"))
		for k := range 2 {
			work(t, s, 20*k, 20, 2_000)
			compact(t, s)
			got := allText(view(t, s))
			for _, want := range []string{"SUM of", "ops@example.com", "port the parser", "listens on 8081"} {
				if n := strings.Count(got, want); n != 1 {
					t.Errorf("%s, %d: the view has %q %d times:\n%.900s", name, k, want, n, got)
				}
			}
		}
		reqs := m.Requests()
		read := reqs[len(reqs)-1].Messages[0].Text()
		if !strings.Contains(read, "SUM of") || strings.Contains(read, "What was done") || strings.Contains(read, "8081") {
			t.Errorf("%s: the next summarizer reads\n%.600s", name, read)
		}
	}
}

// A summary that is too long to ask for is asked for without the oldest turns: a warning says so, and what people
// typed stands beside it and is read with it the next time. An earlier summary stays.
func TestSummaryTooLong(t *testing.T) {
	var asked []int
	var read, warnings string
	m := model.GeneratorFunc(func(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
		read = req.Messages[0].Text()
		n := len(read) / 4
		if asked = append(asked, n); n > 6_500 {
			return model.Reply{}, &model.APIError{Kind: model.ErrorTooLong, Message: "prompt is too long"}
		}
		return pleattest.Say("<summary>The newest part: file10.go, file11.go.</summary>").Reply, nil
	})
	p := named(t, "four-layer")
	p.EveryTurn = nil
	p.AtRed = fold.Change(p.AtRed, func(s *lever.Summarize) { s.Restore = fold.Restore{} })
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy: p, Digest: digest.Options{Generator: m},
		Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) { warnings += e.Warning },
	})
	add(t, s, transcript.User("Go. Never touch legacy/."))
	work(t, s, 0, 12, 8_000)
	compact(t, s)
	got := view(t, s)[0].Text()
	if len(asked) < 2 || !strings.HasPrefix(got, "[Compacted]\n\nThe newest part: file10.go, file11.go.") ||
		!strings.Contains(got, "message 1: Go. Never touch legacy/.") || !strings.Contains(warnings, "groups of turns") {
		t.Errorf("asked with %d tokens; warnings %q; the view begins\n%.300s", asked, warnings, got)
	}
	work(t, s, 12, 12, 8_000)
	compact(t, s)
	if !strings.Contains(read, "left out") || !strings.Contains(read, "The newest part: file10.go, file11.go.") ||
		!strings.Contains(read, "Never touch legacy/.") {
		t.Errorf("the second time it reads %d characters:\n%.300s", len(read), read)
	}
}

// With a model at hand the policies that reproduce published designs show its summary as it came, in their own form,
// and ask for it as they say. The user's own rules for digests reach every summarizer, and each prompt has what its
// text demands.
func TestSummaryPrompts(t *testing.T) {
	const words = "The model's own words: file0.go, file1.go, file2.go."
	for name, tt := range map[string]struct {
		shows string
		most  int // tokens that are asked for; 0: any number
		wants []string
	}{
		"book": {"[session summary — ", 0, []string{
			"every tool call in its order", "files that were read", "what is open", "what the user prefers",
			"Do not add anything", "1,000 words", "[assistant→tool] read_file(", "[tool→result]",
		}},
		"threshold": {"<conversation_summary>\n" + words + "\n</conversation_summary>", 1_500, []string{
			"what the user wants to reach", "every prohibition", "what was decided",
			"file path, identifier, number and error message", "how they came out", "No praise",
		}},
		"three-layer": {"[Compressed]\n\n" + words, 2_000, []string{"the work can go on"}},
		"four-lever":  {"[Compressed]\n\n" + words, 2_000, []string{"the work can go on"}},
		"four-layer": {"[Compacted]\n\n" + words, 20_000, []string{
			"TEXT ONLY", "Remember: text only", "<analysis>", "<summary>", "1. Goals", "9. Next step",
			"constraint and prohibition word for word", "Remaining work",
		}},
	} {
		m := pleattest.Always(words)
		s := open(t, store.NewMemory(), &pleat.Options{
			Policy: named(t, name), Model: model.Model{ID: "m", Window: 200_000},
			Digest: digest.Options{Generator: m, Rules: "preserve every numerical value verbatim"},
		})
		pleattest.Digestible(t, s, 24)
		compact(t, s)
		got := allText(view(t, s))
		if !strings.Contains(got, tt.shows) || !strings.Contains(got, words) || strings.Contains(got, "[pleat:") {
			t.Errorf("%s: the view is\n%.400s", name, got)
		}
		req := m.Requests()[0]
		if n := len(m.Requests()); n != 1 || tt.most > 0 && req.MaxTokens != tt.most ||
			(req.Temperature != nil) != (name == "threshold") {
			t.Errorf("%s: %d requests; at most %d tokens", name, n, req.MaxTokens)
		}
		if n := len([]rune(req.Messages[0].Text())); tt.most == 2_000 && n > 80_100 {
			t.Errorf("%s: the summarizer reads %d characters", name, n)
		}
		for _, want := range append(tt.wants, "preserve every numerical value verbatim", "tool") {
			if got := req.System + req.Messages[0].Text(); !strings.Contains(got, want) {
				t.Errorf("%s: the request lacks %q", name, want)
			}
		}
	}
}

// Temperature 0 goes also to models that nobody knows, and is left out when they refuse it.
func TestZeroTemperature(t *testing.T) {
	var sent []*float64
	m := model.GeneratorFunc(func(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
		if sent = append(sent, req.Temperature); req.Temperature != nil {
			return model.Reply{}, &model.APIError{Kind: model.ErrorInvalid, Message: "temperature is not supported"}
		}
		return pleattest.Say("A summary of file0.go and file1.go.").Reply, nil
	})
	unknown, _ := model.DefaultModels().Lookup("nobody-knows-it")
	s := open(
		t,
		store.NewMemory(),
		&pleat.Options{Policy: named(t, "threshold"), Model: unknown, Digest: digest.Options{Generator: m}},
	)
	pleattest.Digestible(t, s, 24)
	compact(t, s)
	if len(sent) != 2 || sent[0] == nil || *sent[0] != 0 || sent[1] != nil ||
		!strings.Contains(allText(view(t, s)), "A summary of file0.go and file1.go.") {
		t.Errorf("temperatures %v", sent)
	}
}

// If both stages of the book leave the view red, that is a warning in plan and log, and the
// notes are in view beside a summary.
func TestBookStillRed(t *testing.T) {
	var log strings.Builder
	var warnings []string
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy: policy.Book(), Budget: fold.Budget{Window: 8_000}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Digest: digest.Options{Generator: pleattest.Always("A summary of file0.go and file1.go.")},
		Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
			if e.Kind == pleat.EventEpoch {
				warnings = append(warnings, e.Plan.Warning)
			}
		},
	})
	add(t, s, transcript.User("Go."))
	must(t, s.Note(t.Context(), "port", "the service listens on 8081"))
	work(t, s, 0, 8, 9_000)
	got := allText(view(t, s))
	if len(warnings) != 1 || !strings.Contains(warnings[0], "red") && !strings.Contains(warnings[0], "may be sent") ||
		!strings.Contains(log.String(), warnings[0]) {
		t.Errorf("warnings %q, log %s", warnings, log.String())
	}
	if !strings.Contains(got, "A summary of file0.go and file1.go.") || !strings.Contains(got, "the service listens on 8081") {
		t.Errorf("the view is\n%.600s", got)
	}
}

// A warning counts in the provider's tokens, like the meter.
func TestWarningHasTheMetersNumbers(t *testing.T) {
	var warnings []string
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy: policy.Book(), Budget: fold.Budget{Window: 8_000},
		Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
			if e.Kind == pleat.EventWarning {
				warnings = append(warnings, e.Warning)
			}
		},
	})
	add(t, s, transcript.User("Go."))
	view(t, s)
	if err := s.Used(t.Context(), model.Usage{Input: 700, Output: 1}); err != nil { // the provider counts more
		t.Fatal(err)
	}
	work(t, s, 0, 3, 9_000)
	view(t, s)
	work(t, s, 3, 5, 9_000)
	view(t, s)
	red := "red begins at 6,400" // 80 % of 8,000
	if len(warnings) == 0 {
		t.Fatal("there is no warning")
	}
	for _, w := range warnings {
		if !strings.Contains(w, red) {
			t.Errorf("%q, and the meter says %s", w, red)
		}
	}
}

// The book asks for at most 1,000 words and caps nothing: a summary is used as the model wrote
// it, and one that the model's own limit cut is told about. Requests for summaries that the
// policy repeats are not repeated by the client as well.
func TestBookSummaryIsNotCapped(t *testing.T) {
	words := strings.Repeat("file0.go, file1.go, file2.go, file3.go, file4.go, file5.go, file6.go and file7.go were read. ", 100)
	reply := pleattest.Say(words).Reply
	m := &pleattest.Script{Then: func(int, *model.Request) (model.Reply, error) { return reply, nil }}
	var warnings []string
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy: policy.Book(), Model: model.Model{ID: "m", Window: 200_000}, Digest: digest.Options{Generator: m},
		Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
			if e.Kind == pleat.EventWarning {
				warnings = append(warnings, e.Warning)
			}
		},
	})
	pleattest.Digestible(t, s, 24)
	for n, cut := range []bool{false, true} {
		if reply.Stop = model.StopEnd; cut {
			reply.Stop = model.StopMaxTokens
		}
		work(t, s, 100*n, 12, 2_000)
		compact(t, s)
		if got := allText(view(t, s)); !strings.Contains(got, strings.TrimSpace(words)) ||
			m.Requests()[n].MaxTokens != 0 {
			t.Errorf("at most %d tokens; the view is\n%.300s", m.Requests()[n].MaxTokens, got)
		}
		if told := strings.Contains(strings.Join(warnings, "\n"), "did not finish"); told != cut {
			t.Errorf("warnings: %q", warnings)
		}
	}
	for _, p := range policy.All() {
		m := pleattest.Always("<summary>A summary of file0.go and file1.go.</summary>")
		s := open(t, store.NewMemory(), &pleat.Options{Policy: p, Digest: digest.Options{Generator: m}})
		pleattest.Digestible(t, s, 24)
		compact(t, s)
		for _, req := range m.Requests() {
			if again := p.Asks().Retries > 0; req.Once != again {
				t.Errorf("%s: sent once: %v, repeated by the policy: %v", p.Name, req.Once, again)
			}
		}
	}
}

// A summary that was paid for is used, also after a refusal that gives no numbers.
func TestRefusedWithoutNumbers(t *testing.T) {
	for _, name := range []string{"book", "threshold", "three-layer", "four-lever", "four-layer"} {
		for rounds := range 14 {
			m := pleattest.Always("A summary of file0.go and file1.go.")
			s := open(t, store.NewMemory(), &pleat.Options{
				Policy: named(t, name), Model: model.Model{ID: "m", Window: 200_000},
				Digest: digest.Options{Generator: m},
			})
			add(t, s, transcript.User("Go."))
			work(t, s, 0, rounds, 4_000)
			view(t, s)
			v, err := s.Refused(t.Context(), &model.APIError{Kind: model.ErrorTooLong, Message: "prompt is too long"})
			if err != nil && !errors.Is(err, pleat.ErrCannotFit) {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := s.Resolve(t.Context(), v)
			must(t, err)
			if n := len(m.Requests()); n > 1 || (n == 1) != strings.Contains(allText(got), "A summary of file0.go and file1.go.") {
				t.Errorf("%s, %d rounds: %d summaries were asked for, the view is\n%s", name, rounds, n,
					strings.Join(outline(got), "\n"))
			}
		}
	}
}

// Under four-layer 500 tokens of notes since the last summary, and since the user last asked for something, take
// the place of the next one. The first message, that summary, what was typed since and the newest turns stay, and the
// notes stand there once.
func TestNotesInPlaceOfSummary(t *testing.T) {
	m := pleattest.Always("<summary>A summary of file0.go and file1.go.</summary>")
	s := open(t, store.NewMemory(),
		&pleat.Options{Policy: named(t, "four-layer"), Digest: digest.Options{Generator: m}})
	add(t, s, transcript.User("Never touch legacy/."))
	for i, tt := range []struct {
		words, asked int
		by           string
		more         string // what the user asks for after the note
	}{
		{60, 0, "notes", ""},
		{1, 1, "model", ""},
		{60, 1, "notes", ""},
		{60, 1, "notes", ""},
		{0, 2, "model", ""},
		{60, 3, "model", "And draw a map."},
	} {
		pleattest.Talk(t, s, 10*i, 4)
		add(t, s, transcript.User(fmt.Sprintf("Now task %d.", i)))
		mark := fmt.Sprintf("NOTE%d.", i)
		note := mark + strings.Repeat(" The service restarts every night at four, says the log.", tt.words)
		must(t, s.Note(t.Context(), fmt.Sprint("k", i), note[:len(note)*min(tt.words, 1)]))
		if tt.more != "" {
			add(t, s, transcript.User(tt.more))
		}
		work(t, s, 10*i+4, 4, 500)
		compact(t, s)
		got := view(t, s)
		all := allText(got)
		if n := len(m.Requests()); n != tt.asked {
			t.Errorf("%d: %d summaries were asked for, want %d", i, n, tt.asked)
		}
		if f := s.Report().Folds; f[len(f)-1].By != tt.by {
			t.Errorf("%d: the summary is by %s, want %s", i, f[len(f)-1].By, tt.by)
		}
		if n := strings.Count(all, mark); n != min(tt.words, 1) {
			t.Errorf("%d: the new note is there %d times", i, n)
		}
		want := []string{fmt.Sprintf("Next, file %d.", 10*i+7), "Never touch legacy/.", fmt.Sprintf("Now task %d.", i)}
		if i > 0 {
			want[1] = "A summary of file0.go and file1.go."
		}
		for _, w := range want {
			if tt.by == "notes" && !strings.Contains(all, w) {
				t.Errorf("%d: beside the notes the view lacks %q:\n%s", i, w, strings.Join(outline(got), "\n"))
			}
		}
	}
}

// A file that comes back beside a summary has the changes that calls made to it since, and says if a command ran
// of which nobody knows what it does. One that was changed in a way that nobody can follow does not come back. Where
// files can be read again, they come back as they are now, and what differs from what was seen says so.
func TestRestoredFileIsDoubted(t *testing.T) {
	seen := strings.Repeat("a line of notes\n", 100)
	for _, tt := range []struct {
		command   string
		now, part string // the file now, empty: it cannot be read; lines that were read, empty: all
		want      string // empty: it does not come back
	}{
		{"cat >> notes.md <<'EOF'\nmore\nEOF", "", "", "a line of notes\nmore\n"},
		{"sed -i s/a/b/ notes.md", "", "", ""},
		{"python3 generate.py", "", "", "call 2 ran later and may have changed it"},
		{"ls", "", "", "### notes.md (read in call 1)\n"},
		{"python3 generate.py", seen, "", "### notes.md (read in call 1)\n"},
		{"ls", "other notes\r\nof today", "", "(read in call 1; it has changed since, this is how it is now)\n<file>\nother notes\nof today\n"},
		{"cat >> notes.md <<'EOF'\nmore\nEOF", seen + "more\n", "", "with the changes up to call 2)"},
		{"sed -i s/a/b/ notes.md", strings.ReplaceAll(seen, "a", "b"), "", "call 2; this is how it is now)"},
		{"ls", "gone", "", "### notes.md (read in call 1; it is no longer there)"},
		{"ls", "new\n" + seen, `,"offset":2,"limit":100`, "### notes.md (lines 2–101, read in call 1)\n"},
		{"ls", "1\n2\n3\n", `,"offset":2,"limit":100`, "how it is now)\n<file>\n2\n3\n"},
	} {
		m := pleattest.Always("<summary>A summary: read_file was called.</summary>")
		o := &pleat.Options{Policy: named(t, "four-layer"), Digest: digest.Options{Generator: m}}
		if tt.now != "" {
			o.ReadFile = func(context.Context, string) ([]byte, error) {
				if tt.now == "gone" {
					return nil, fmt.Errorf("read it: %w", fs.ErrNotExist)
				}
				return []byte(tt.now), nil
			}
		}
		s := open(t, store.NewMemory(), o)
		add(t, s,
			transcript.User("Go."),
			transcript.Assistant(transcript.Call("a", "read_file", `{"path":"notes.md"`+tt.part+`}`)),
			transcript.Results(transcript.Result("a", seen)),
			transcript.Assistant(transcript.Call("b", "bash", fmt.Sprintf(`{"command":%q}`, tt.command))),
			transcript.Results(transcript.Result("b", "ok")),
			transcript.Assistant(transcript.Say(strings.Repeat("well then ", 2_000))), transcript.User("Go on."))
		compact(t, s)
		got := fenceMark.ReplaceAllString(view(t, s)[0].Text(), "<file>")
		if !strings.Contains(got, tt.want) || tt.want == "" && strings.Contains(got, "### notes.md") {
			t.Errorf("after %s the view begins\n%.400s", tt.command, got)
		}
	}
}

var fenceMark = regexp.MustCompile(`<file \d{16}>`)

// Beside four-layer's summary the plan and the task list come back whole, and skills and the reports of sub-agents
// with their text, in the 50,000 tokens of which five files may take half. In a small window less of it comes back.
func TestRestoredState(t *testing.T) {
	var todos, plan []string
	for i := range 60 {
		todos = append(todos, fmt.Sprintf(`{"content":"task %d: %s","status":"pending"}`, i, strings.Repeat("port the parser ", 6)))
		plan = append(plan, fmt.Sprintf("step %d: %s", i, strings.Repeat("look at the parser ", 10)))
	}
	big := strings.Repeat("word after word of it\n", 4_000)
	for _, tt := range []struct {
		window      int
		want, lacks []string
	}{
		{200_000, []string{"RULE-1 of deploy", "step 59", "task 59", "REPORT-9", "REPORT-0", "file5.go (read", "[… the rest is not shown …]"}, []string{"file4.go (read", "skills loaded: "}},
		{16_000, []string{"task 9:", "skills loaded: "}, []string{"step 59"}},
	} {
		m := pleattest.Always("<summary>SUM of file0.go, file1.go, load_skill, task and todo_write.</summary>")
		s := open(t, store.NewMemory(), &pleat.Options{
			Policy: named(t, "four-layer"), Model: model.Model{ID: "m", Window: tt.window}, Digest: digest.Options{Generator: m},
		})
		add(t, s, transcript.User("Go."), transcript.Assistant(
			transcript.Call("s", "load_skill", `{"name":"deploy"}`),
			transcript.Call("t", "todo_write", `{"todos":[`+strings.Join(todos, ",")+`]}`),
			transcript.Call("p", "ExitPlanMode", fmt.Sprintf(`{"plan":%q}`, strings.Join(plan, "\n")))),
			transcript.Results(transcript.Result("s", "[skill deploy]\nRULE-1 of deploy\n"+strings.Repeat("and so on\n", 900)),
				transcript.Result("t", "60 to do"), transcript.Result("p", "ok")))
		for i := range 10 {
			add(t, s, transcript.Assistant(
				transcript.Call(fmt.Sprint("a", i), "task", `{"prompt":"look at it"}`),
				transcript.Call(fmt.Sprint("r", i), "read_file", fmt.Sprintf(`{"path":"file%d.go"}`, i))),
				transcript.Results(transcript.Result(fmt.Sprint("a", i), fmt.Sprintf("REPORT-%d: all fine", i)),
					transcript.Result(fmt.Sprint("r", i), big[:len(big)/(200_000/tt.window)])))
			view(t, s)
		}
		compact(t, s)
		got := allText(view(t, s))
		for _, w := range tt.want {
			if !strings.Contains(got, w) {
				t.Errorf("window %d: the view lacks %q:\n%.3000s", tt.window, w, got)
			}
		}
		for _, w := range tt.lacks {
			if strings.Contains(got, w) {
				t.Errorf("window %d: the view has %q", tt.window, w)
			}
		}
		if n := s.Snapshot().Tokens; n > 75_000 {
			t.Errorf("window %d: the view has %d tokens", tt.window, n)
		}
	}
}

// A refusal does not become the memory: it is asked for again as often as the text says, then code writes
// the page, a warning says so, and after three in a row four-layer's model rests. What is short and about
// the conversation is a summary under every policy.
func TestRefusalIsNoSummary(t *testing.T) {
	refusals := []string{
		"I can't help with that.", "No.", "ok", "", "<summary>I'm sorry, but I can't assist with that request.</summary>",
		"I am unable to summarize this conversation.", "Es tut mir leid, dabei kann ich nicht helfen.",
		"対応できません。",
		"I'd be happy to help! What would you like me to summarize?", "As an AI language model, I won't do this.",
		"I cannot fulfill this request: my guidelines prohibit me from generating this content. Is there anything else?",
	}
	refusals = append(refusals,
		"I cannot summarize this conversation because it involves files such as file0.go.",
		"I can't help with summarizing the read_file results.",
		"As an AI model I can't continue with file0.go, file1.go or file2.go.",
		"Sorry, I am not able to work on src/file3.go or to discuss what it does.",
		"Je ne peux pas vous aider avec file0.go.",
		"Je suis désolé, mais je ne peux pas résumer src/file3.go ni src/file4.go pour vous.",
		"Das kann ich leider nicht zusammenfassen, weil es um file0.go geht.",
		"No puedo resumir esta conversación porque trata de file3.go.",
		"申し訳ありませんが、file3.go の内容を要約することはできません。")
	honest := []string{
		"Port 8443, timeout 2750.", "sessionCache drops sessions.", "300 entries, LRU: sessionCache evicts.", "8443, 2750.",
		"read_file: file0.go, file1.go.", "Read file0.go to file3.go.", "The gateway gets port 8443.",
		"Still open: why sessionCache evicts.", "- file1.go: read\n- file2.go: read",
		"<summary>src/file4.go and src/file5.go were the last.</summary>", "Keep 2750 ms. Do not touch legacy/.",
		"The gateway must listen on 8443; legacy/ is off limits.", "src/file3.go drops sessions: sessionCache.",
		"An LRU, not a ring buffer: the order in sessionCache matters.", "src/file0.go, src/file1.go and ten others.",
		"Sessions drop in sessionCache and src/file3.go.", "Fichiers lus: file0.go, file1.go, file2.go.",
		"I can't say why; sessionCache evicts after 300 entries and file3.go drops sessions.",
		"Gateway: Port 8443, Timeout 2750 ms.", "src/file3.go: sessionCache, 300 件。",
	}
	open := func(name, answer string) (*pleat.Session, *pleattest.Script, *string) {
		m, warnings := pleattest.Always(answer), new(string)
		s := open(t, store.NewMemory(), &pleat.Options{
			Policy: named(t, name), Model: model.Model{ID: "m", Window: 200_000}, Digest: digest.Options{Generator: m},
			Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) { *warnings += e.Warning },
		})
		pleattest.Digestible(t, s, 6)
		return s, m, warnings
	}
	for name, tries := range map[string]int{"book": 1, "threshold": 1, "three-layer": 1, "four-lever": 1, "four-layer": 3} {
		for _, answer := range refusals {
			s, m, warnings := open(name, answer)
			for n := range 4 {
				if _, err := s.Compact(t.Context(), fmt.Sprint("focus ", n)); err != nil {
					t.Fatal(err)
				}
			}
			// Three fail; the fourth is not asked for.
			if n := len(m.Requests()); n != 3*tries {
				t.Errorf("%s asks %d times for %q", name, n, answer)
			}
			if got := allText(view(t, s)); !strings.Contains(got, "made by a program") ||
				len(answer) > 3 && strings.Contains(got, answer) || !strings.Contains(*warnings, "code did") {
				t.Errorf("%s, %q: warnings %q, the view is\n%.300s", name, answer, *warnings, got)
			}
		}
		for _, answer := range honest {
			s, m, warnings := open(name, answer)
			compact(t, s)
			said := strings.TrimSuffix(strings.TrimPrefix(answer, "<summary>"), "</summary>")
			if got := allText(view(t, s)); !strings.Contains(got, said) || len(m.Requests()) != 1 || *warnings != "" {
				t.Errorf("%s does not take %q: %s", name, answer, *warnings)
			}
		}
	}
}

// A summarizer that answers 500 is asked again as often as the text says, then code writes the
// page and a warning says so. One that takes longer than a minute is waited for where there is
// time, and where there is not, it counts as one that failed.
func TestSummarizerInTrouble(t *testing.T) {
	failing := func(context.Context) (model.Reply, error) {
		return model.Reply{}, &model.APIError{Kind: model.ErrorServer, Status: 500, Message: "out of order"}
	}
	slow := func(ctx context.Context) (model.Reply, error) {
		select {
		case <-time.After(90 * time.Second):
			return pleattest.Say("<summary>A slow summary of file0.go and file1.go.</summary>").Reply, nil
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
	}
	for name, tt := range map[string]struct {
		policy string
		answer func(context.Context) (model.Reply, error)
		time   time.Duration
		asked  int
		want   string // in the warning; empty: there is none
	}{
		"500, book":       {"book", failing, 0, 1, "out of order"},
		"500, four-layer": {"four-layer", failing, 0, 3, "out of order"},
		"slow":            {"four-layer", slow, 5 * time.Minute, 1, ""},
		"too slow":        {"four-layer", slow, 0, 1, "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, warnings := 0, ""
				s := open(t, store.NewMemory(), &pleat.Options{
					Policy: named(t, tt.policy),
					Digest: digest.Options{Deadline: tt.time, Generator: model.GeneratorFunc(
						func(ctx context.Context, _ *model.Request, _ func(model.Delta)) (model.Reply, error) {
							asked++
							return tt.answer(ctx)
						})},
					Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) { warnings += e.Warning },
				})
				pleattest.Digestible(t, s, 24)
				compact(t, s)
				if asked != tt.asked || (tt.want == "") != (warnings == "") || !strings.Contains(warnings, tt.want) {
					t.Errorf("%d requests, want %d; warnings %q", asked, tt.asked, warnings)
				}
				if got := allText(view(t, s)); strings.Contains(got, "A slow summary of file0.go and file1.go.") != (tt.want == "") {
					t.Errorf("the view is\n%.600s", got)
				}
			})
		})
	}
}
