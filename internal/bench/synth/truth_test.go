package synth

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// synthSaid returns everything that a message says: its text, what its calls hold, unescaped,
// and its results.
func synthSaid(m transcript.Message) string {
	var b strings.Builder
	for _, blk := range m.Blocks().All() {
		switch blk := blk.(type) {
		case transcript.Text:
			b.WriteString(blk.Text.String())
		case transcript.Thinking:
			b.WriteString(blk.Text.String())
		case transcript.ToolCall:
			var v any
			if err := json.Unmarshal([]byte(blk.Input.String()), &v); err != nil {
				panic(err)
			}
			writeSynthValues(&b, v)
		case transcript.ToolResult:
			b.WriteString(blk.Text())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func writeSynthValues(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
	case map[string]any:
		for _, e := range v {
			writeSynthValues(b, e)
		}
	case []any:
		for _, e := range v {
			writeSynthValues(b, e)
		}
	case float64:
		fmt.Fprintln(b, int(v))
	}
}

// holdsSynthWord reports whether a text holds another with no letter or digit beside it.
func holdsSynthWord(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !inName(text[i-1])) && (end == len(text) || !inName(text[end])) {
			return true
		}
		from = i + 1
	}
}

// TestMakeLiterals looks for every literal in every message: the places that the
// truth names are exactly those that hold it.
func TestMakeLiterals(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	eachSynth(t, func(t *testing.T, s Session) {
		texts := make([]string, len(s.Messages))
		for i, m := range s.Messages {
			texts[i] = synthSaid(m)
		}
		bad := 0
		for _, l := range s.Truth.Literals {
			want := append([]int{l.First}, append(slices.Clone(l.Shown), l.Uses...)...)
			slices.Sort(want)
			var got []int
			for i, text := range texts {
				if holdsSynthWord(text, l.Text) {
					got = append(got, i)
				}
			}
			if d := difftest.Values(want, got); d != "" && bad < 5 {
				bad++
				t.Errorf("%s %q: truth says %v, found in %v", l.Kind, l.Text, want, got)
			}
			if !strings.Contains(l.Line, l.Text) || !strings.Contains(texts[l.First], l.Line) {
				t.Errorf("%s %q: message %d does not hold its line %q", l.Kind, l.Text, l.First, l.Line)
			}
			if by := s.Messages[l.First].Role(); by != l.By {
				t.Errorf("%q: by %s, truth says %s", l.Text, by, l.By)
			}
			for _, u := range l.Uses {
				if s.Messages[u].Role() != transcript.RoleAssistant {
					t.Errorf("%q: use %d is no message of the assistant", l.Text, u)
				}
			}
		}
	})
}

// TestMakeNeeds checks that sessions hold what the bench asks for: literals that are
// needed long after they were shown, of every kind.
func TestMakeNeeds(t *testing.T) {
	kinds := map[LiteralKind]int{}
	for _, kind := range Kinds() {
		s := Make(Options{Seed: 40, Kind: kind, Tokens: 100_000})
		cut, needed := len(s.Messages)*7/10, 0
		for _, l := range s.Truth.Literals {
			if use := l.Needs(cut); use >= 0 {
				needed++
				kinds[l.Kind]++
				if use < cut || !holdsSynthWord(synthSaid(s.Messages[use]), l.Text) {
					t.Errorf("%q: message %d does not use it", l.Text, use)
				}
			}
		}
		t.Logf("%s: %d of %d literals are needed after message %d", kind, needed, len(s.Truth.Literals), cut)
		if needed < 10 {
			t.Errorf("%s: only %d literals are needed after the cut", kind, needed)
		}
	}
	t.Logf("by kind: %v", kinds)
	for _, k := range []LiteralKind{
		LiteralName, LiteralPath, LiteralPort, LiteralSHA, LiteralVersion, LiteralID, LiteralError, LiteralMeasure,
		LiteralHost,
	} {
		if kinds[k] == 0 {
			t.Errorf("no %s is needed after a cut", k)
		}
	}
}

func TestMakePeople(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	eachSynth(t, func(t *testing.T, s Session) {
		var typed []int
		for i, m := range s.Messages {
			if m.Role() == transcript.RoleUser {
				typed = append(typed, i)
			}
		}
		var said []int
		for _, w := range s.Truth.Said {
			if w.Via == "" {
				said = append(said, w.Message)
				if got := s.Messages[w.Message].Blocks().At(0).(transcript.Text).Text.String(); got != w.Text {
					t.Errorf("message %d: %q, truth says %q", w.Message, got, w.Text)
				}
			} else if !strings.HasSuffix(synthSaid(s.Messages[w.Message]), w.Text+"\n") {
				t.Errorf("message %d does not hold %q", w.Message, w.Text)
			}
			if w.Answers >= 0 && !strings.Contains(s.Messages[w.Answers].Text(), "?") {
				t.Errorf("message %d answers no question", w.Message)
			}
		}
		if d := difftest.Values(typed, said); d != "" {
			t.Errorf("messages of people:\n%s", d)
		}
		for _, c := range s.Truth.Constraints {
			if !strings.Contains(s.Messages[c.Message].Text(), c.Text) {
				t.Errorf("message %d does not hold the rule %q", c.Message, c.Text)
			}
			if c.Withdrawn >= 0 &&
				(c.Withdrawn <= c.Message || !strings.Contains(s.Messages[c.Withdrawn].Text(), c.LiftedBy)) {
				t.Errorf("message %d does not take back %q", c.Withdrawn, c.Text)
			}
			if c.Replaces >= 0 && s.Truth.Constraints[c.Replaces].Withdrawn != c.Message {
				t.Errorf("rule %q does not replace %q", c.Text, s.Truth.Constraints[c.Replaces].Text)
			}
			for _, r := range c.Restated {
				if r <= c.Message || s.Messages[r].Role() != transcript.RoleUser {
					t.Errorf("rule %q is not said again in message %d", c.Text, r)
				}
			}
		}
		for _, d := range s.Truth.Decisions {
			at := d.Message
			if d.Question >= 0 {
				at = d.Question
			}
			if !strings.Contains(s.Messages[at].Text(), d.Text) || !strings.Contains(d.Text, d.Choice) ||
				!strings.Contains(d.Text, d.Reason) ||
				s.Messages[d.Message].Role() != d.By {
				t.Errorf("message %d: no decision %q", at, d.Text)
			}
		}
	})
}

// TestMakeObeys checks that the agent keeps to what it was told: no file is changed
// while a rule forbids its directory.
func TestMakeObeys(t *testing.T) {
	forbidden := 0
	dirs := regexp.MustCompile(`(?:internal|pkg|src|lib)/[a-z]+/`)
	eachSynth(t, func(t *testing.T, s Session) {
		for _, c := range s.Truth.Constraints {
			dir := dirs.FindString(c.Text)
			if dir == "" {
				continue
			}
			forbidden++
			for _, call := range s.Truth.Calls {
				if call.Failed || !strings.HasPrefix(call.Path, dir) || call.Message <= c.Message ||
					c.Withdrawn >= 0 && call.Message > c.Withdrawn {
					continue
				}
				for _, b := range s.Messages[call.Message].Blocks().All() {
					if b, ok := b.(transcript.ToolCall); ok && b.ID == call.ID && !toolcall.DescribeCall(b).Harmless {
						t.Errorf("message %d changes %s, although %q", call.Message, call.Path, c.Text)
					}
				}
			}
		}
	})
	if forbidden < 5 {
		t.Errorf("only %d rules forbid a directory", forbidden)
	}
}

func TestMakePlanAndCalls(t *testing.T) {
	eachSynth(t, func(t *testing.T, s Session) {
		var u userwords.Words
		for i, m := range s.Messages {
			u.Add(i, m)
		}
		var got []PlanItem
		for _, it := range u.Tasks().Items {
			got = append(got, PlanItem{it.Text, it.Status})
		}
		if d := difftest.Values(s.Truth.Plan, got); d != "" {
			t.Errorf("task list:\n%s", d)
		}
		if u.Tasks().Message != s.Truth.PlanMessage {
			t.Errorf("task list of message %d, truth says %d", u.Tasks().Message, s.Truth.PlanMessage)
		}
		tr := transcript.NewTranscript(s.Messages...)
		n := 0
		for i := range tr.Rounds() {
			for _, c := range tr.Round(i).Calls {
				want := s.Truth.Calls[n]
				n++
				if c.ID != want.ID || c.Call.Message != want.Message || c.Result.Message != want.Result ||
					tr.Block(c.Call).(transcript.ToolCall).Name != want.Tool {
					t.Fatalf("call %d: %+v, truth says %+v", n, c, want)
				}
				if want.StaleBy >= 0 && (want.StaleBy <= n-1 || s.Truth.Calls[want.StaleBy].Path == "") {
					t.Errorf("call %d: stale by %d", n, want.StaleBy)
				}
			}
		}
		if n != len(s.Truth.Calls) {
			t.Errorf("%d calls, truth says %d", n, len(s.Truth.Calls))
		}
	})
}

// TestMakeCommands finds every run of every command again, and how the newest ended.
func TestMakeCommands(t *testing.T) {
	eachSynth(t, func(t *testing.T, s Session) {
		failed := map[string]bool{}
		for _, c := range s.Truth.Calls {
			failed[c.ID] = c.Failed
		}
		type runs struct{ n, failures, last int }
		found := map[string]runs{}
		for i, m := range s.Messages {
			for _, b := range m.Blocks().All() {
				c, ok := b.(transcript.ToolCall)
				if !ok {
					continue
				}
				var in struct{ Command string }
				if err := json.Unmarshal([]byte(c.Input.String()), &in); err != nil || in.Command == "" {
					continue
				}
				r := found[in.Command]
				r.n, r.last = r.n+1, i+1
				if failed[c.ID] {
					r.failures++
				}
				found[in.Command] = r
			}
		}
		for _, c := range s.Truth.Commands {
			if got, want := found[c.Command], (runs{c.Runs, c.Failures, c.Message}); got != want {
				t.Errorf("%s: found %+v, truth says %+v", c.Command, got, want)
			}
			text := synthSaid(s.Messages[c.Message])
			if !strings.Contains(text, c.Line) {
				t.Errorf("%s: message %d does not hold %q", c.Command, c.Message, c.Line)
			}
			if c.Failed != (c.Exit != 0) {
				t.Errorf("%s: failed %v with exit code %d", c.Command, c.Failed, c.Exit)
			}
		}
	})
}

// synthReplay applies the calls of a session to the files as they were before it, by what the
// calls say alone.
type synthReplay struct {
	t     *testing.T
	root  string
	files map[string]string
}

func (r *synthReplay) path(p string) string {
	return strings.TrimPrefix(strings.TrimPrefix(p, r.root), "/")
}

func (r *synthReplay) replace(p, old, with string) {
	r.t.Helper()
	p = r.path(p)
	if n := strings.Count(r.files[p], old); n != 1 {
		r.t.Fatalf("%s holds the old text %d times:\n%s", p, n, old)
	}
	r.files[p] = strings.Replace(r.files[p], old, with, 1)
}

func (r *synthReplay) call(c transcript.ToolCall) {
	r.t.Helper()
	in := map[string]any{}
	if err := json.Unmarshal([]byte(c.Input.String()), &in); err != nil {
		r.t.Fatal(err)
	}
	arg := func(names ...string) string {
		for _, n := range names {
			if v, ok := in[n].(string); ok {
				return v
			}
		}
		return ""
	}
	file := arg("file_path", "filePath", "path")
	switch strings.ToLower(c.Name) {
	case "edit":
		r.replace(file, arg("old_string", "oldString", "oldText"), arg("new_string", "newString", "newText"))
	case "write":
		r.files[r.path(file)] = arg("content")
	case "apply_patch":
		r.patch(arg("input"))
	case "bash", "shell_command":
		r.shell(arg("command"))
	}
}

func (r *synthReplay) shell(command string) {
	if rest, ok := strings.CutPrefix(command, "cat > "); ok {
		file, body, _ := strings.Cut(rest, " <<'EOF'\n")
		r.files[file] = strings.TrimSuffix(body, "EOF")
		return
	}
	f := strings.Fields(command)
	switch {
	case strings.HasPrefix(command, "rm -rf "):
		for p := range r.files {
			if strings.HasPrefix(p, f[2]+"/") {
				delete(r.files, p)
			}
		}
	case strings.HasPrefix(command, "sed -i "):
		parts := strings.Split(command, "/")
		r.replace(f[len(f)-1], parts[1], parts[2])
	case f[0] == "rm" || len(f) > 1 && f[0] == "git" && f[1] == "rm":
		delete(r.files, f[len(f)-1])
	case len(f) == 4 && f[0] == "git" && f[1] == "mv":
		r.files[f[3]] = r.files[f[2]]
		delete(r.files, f[2])
	}
}

func (r *synthReplay) patch(patch string) {
	r.t.Helper()
	lines := strings.Split(patch, "\n")
	verb, file, _ := strings.Cut(strings.TrimPrefix(lines[1], "*** "), ": ")
	var old, with strings.Builder
	for _, l := range lines[2 : len(lines)-1] {
		switch {
		case l == "@@":
		case l[0] == '+':
			with.WriteString(l[1:] + "\n")
		case l[0] == '-':
			old.WriteString(l[1:] + "\n")
		default:
			old.WriteString(l[1:] + "\n")
			with.WriteString(l[1:] + "\n")
		}
	}
	switch verb {
	case "Add File":
		r.files[file] = with.String()
	case "Delete File":
		delete(r.files, file)
	default:
		r.replace(file, old.String(), with.String())
	}
}

// TestMakeFiles replays the session's calls and compares what is left.
func TestMakeFiles(t *testing.T) {
	eachSynth(t, func(t *testing.T, s Session) {
		r := &synthReplay{t: t, root: s.Truth.Root, files: map[string]string{}}
		for _, f := range s.Truth.Files {
			if !f.New {
				r.files[f.Path] = f.Before
			}
		}
		failed := map[string]bool{}
		for _, c := range s.Truth.Calls {
			failed[c.ID] = c.Failed
		}
		for _, m := range s.Messages {
			for _, b := range m.Blocks().All() {
				if c, ok := b.(transcript.ToolCall); ok && !failed[c.ID] {
					r.call(c)
				}
			}
		}
		for _, f := range s.Truth.Files {
			content, exists := r.files[f.Path]
			if exists != (f.State != FileDeleted) {
				t.Errorf("%s: exists %v, truth says %s", f.Path, exists, f.State)
			}
			if d := difftest.Values(f.After, content); d != "" {
				t.Errorf("%s differs from what the calls made:\n%s", f.Path, d)
			}
			switch {
			case f.State == FileRead && (f.Changes > 0 || f.Before != f.After || f.Reads == 0),
				f.State == FileEdited && (f.Changes == 0 || f.New),
				f.State == FileCreated && (!f.New || f.Before != ""):
				t.Errorf("%s: state %s, new %v, %d changes, %d reads", f.Path, f.State, f.New, f.Changes, f.Reads)
			}
			delete(r.files, f.Path)
		}
		for p := range r.files {
			t.Errorf("%s was changed, and the truth does not know it", p)
		}
	})
}

// TestMakeReads checks that what a tool shows of a file is what the file held.
func TestMakeReads(t *testing.T) {
	s := Make(Options{Seed: 3, Kind: Debug, Tokens: 60_000})
	for seed := uint64(3); newSynth(s.Options).style.name != "claude"; seed++ {
		s = Make(Options{Seed: seed, Kind: Debug, Tokens: 60_000})
	}
	r := &synthReplay{t: t, root: s.Truth.Root, files: map[string]string{}}
	for _, f := range s.Truth.Files {
		if !f.New {
			r.files[f.Path] = f.Before
		}
	}
	tr := transcript.NewTranscript(s.Messages...)
	n, shown := 0, 0
	for i := range tr.Rounds() {
		round := tr.Round(i)
		for _, c := range round.Calls {
			call := tr.Block(c.Call).(transcript.ToolCall)
			truth := s.Truth.Calls[n]
			n++
			if call.Name == "Read" {
				lines := strings.Split(r.files[truth.Path], "\n")
				for line := range strings.Lines(tr.Block(c.Result).(transcript.ToolResult).Text()) {
					number, text, ok := strings.Cut(strings.TrimRight(line, "\n"), "→")
					if !ok {
						break
					}
					at, err := strconv.Atoi(strings.TrimSpace(number))
					if err != nil || at > len(lines) || lines[at-1] != text {
						t.Fatalf("%s: line %s is shown as %q", truth.Path, number, text)
					}
					shown++
				}
			}
			if !truth.Failed {
				r.call(call)
			}
		}
	}
	if shown < 500 {
		t.Errorf("only %d lines were compared", shown)
	}
}

// TestMakeLedger compares the ledger, which is derived from the messages, with the
// truth about changed files.
func TestMakeLedger(t *testing.T) {
	var right, told, want, states int
	eachSynth(t, func(t *testing.T, s Session) {
		truth := map[string]FileTruth{}
		for _, f := range s.Truth.Files {
			if f.State != FileRead {
				truth[f.Path] = f
			}
		}
		want += len(truth)
		for _, p := range ledger.Of(transcript.NewTranscript(s.Messages...)).Changed() {
			name := strings.TrimPrefix(strings.TrimPrefix(path.Clean(p.Path), s.Truth.Root), "/")
			if slices.ContainsFunc(
				s.Truth.Files,
				func(f FileTruth) bool { return p.State == toolcall.CallDelete && strings.HasPrefix(f.Path, name+"/") },
			) {
				continue // a directory that was deleted as a whole
			}
			told++
			f, ok := truth[name]
			if !ok {
				t.Logf("the ledger has %s, %s", p.Path, p.State)
				continue
			}
			right++
			if (p.State == toolcall.CallDelete) == (f.State == FileDeleted) &&
				(p.State == toolcall.CallCreate) == (f.State == FileCreated) {
				states++
			} else {
				t.Logf("%s: the ledger says %s, truth %s", f.Path, p.State, f.State)
			}
			delete(truth, f.Path)
		}
		for p, f := range truth {
			t.Logf("the ledger misses %s, %s", p, f.State)
		}
	})
	precision, recall := float64(right)/float64(told), float64(right)/float64(want)
	t.Logf(
		"changed files: precision %.4f, recall %.4f, state right %.4f (of %d)", precision, recall,
		float64(states)/float64(right), right,
	)
	if precision < 0.98 || recall < 0.995 {
		t.Errorf("changed files: precision %.4f, recall %.4f", precision, recall)
	}
}
