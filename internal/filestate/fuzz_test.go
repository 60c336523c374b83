package filestate

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// FuzzFile changes a file and shows parts of it, as the bytes say, and follows that. No line
// that is said to be certain may be wrong, whatever was shown and whatever was not.
func FuzzFile(f *testing.F) {
	f.Add([]byte{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 3, 1, 2, 1, 4, 2, 2, 0, 0, 9, 9})
	f.Add([]byte{20, 0, 0, 0, 1, 1, 2, 3, 0, 1, 5, 0, 9, 4, 1, 1, 1, 1, 3, 2, 0, 3, 5, 1})
	f.Add([]byte{5, 1, 2, 3, 4, 5, 0, 0, 9, 5, 2, 1, 3, 6, 1, 7, 0, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b)
		}
		words := []string{"a", "b", "", "a b", "}", "{", "c"}
		lines := func(n int) string {
			var b strings.Builder
			for range n {
				b.WriteString(words[next()%len(words)] + "\n")
			}
			return b.String()
		}
		truth := lines(next() % 24)
		state := &File{}
		for call := 1; len(data) > 0 && call < 100 && len(truth) < 2_000; call++ {
			truth = fuzzStep(state, call, truth, next, lines)
			checkState(t, state, truth)
		}
	})
}

// fuzzStep does one thing to the file and to the state that follows it.
func fuzzStep(state *File, call int, truth string, next func() int, lines func(int) string) string {
	n := lineCount(truth)
	op := next()
	if op >= 224 { // an unseen change
		from := next() % (n + 1)
		to := min(from+next()%3, n)
		state.Lose(Doubt{Call: call, Why: "something ran"})
		return linesOf(truth, 0, from) + lines(next()%3) + linesOf(truth, to, n-to)
	}
	switch op % 8 {
	case 0, 1: // show a part
		from := next() % (n + 1)
		to := min(from+next()%8, n)
		if to > from {
			state.See(call, from+1, linesOf(truth, from, to-from), to == n && next()%2 == 0)
		}
	case 2, 3: // an edit of what is there once
		if len(truth) == 0 {
			break
		}
		from := next() % len(truth)
		old := truth[from:min(from+1+next()%12, len(truth))]
		now := strings.TrimSuffix(lines(next()%3), "\n")
		after := strings.Replace(truth, old, now, 1)
		if strings.Count(truth, old) == 1 && overlaps(truth, old) == 1 &&
			(after == "" || strings.HasSuffix(after, "\n")) {
			truth = after
			state.Replace(call, old, now, false)
		}
	case 4: // an edit of all of something
		old, now := lines(1), lines(next()%3)
		if next()%2 == 0 {
			old = strings.TrimSuffix(old, "\n")
			now = strings.TrimSuffix(now, "\n")
		}
		if after := strings.ReplaceAll(truth, old, now); old != "" && strings.Contains(truth, old) &&
			strings.Count(truth, old) == overlaps(truth, old) &&
			(after == "" || strings.HasSuffix(after, "\n")) {
			truth = after
			state.Replace(call, old, now, true)
		}
	case 5:
		at := next() % (n + 1)
		text := lines(1 + next()%2)
		truth = linesOf(truth, 0, at) + text + linesOf(truth, at, n-at)
		state.Insert(call, at, text)
	case 6:
		text := lines(1)
		truth += text
		state.Append(call, text)
	case 7: // a patch whose old lines are there once
		if n < 2 {
			break
		}
		from := next() % (n - 1)
		old := linesOf(truth, from, 1+next()%3)
		now := lines(next() % 3)
		if strings.Count("\n"+truth, "\n"+old) == 1 && overlaps("\n"+truth, "\n"+old) == 1 {
			truth = strings.TrimPrefix(strings.Replace("\n"+truth, "\n"+old, "\n"+now, 1), "\n")
			state.Patch(call, []toolcall.Hunk{{Old: linesIn(old), New: linesIn(now)}})
		}
	}
	return truth
}

// linesOf is n lines of a text from line first on, counted from 0.
func linesOf(text string, first, n int) string {
	text = text[offset(text, first):]
	return text[:offset(text, n)]
}

func linesIn(text string) []string {
	lines := strings.Split(text, "\n")
	return lines[:len(lines)-1]
}

// overlaps counts where a part begins in a text, also inside of itself.
func overlaps(text, part string) int {
	n := 0
	for i := range text {
		if strings.HasPrefix(text[i:], part) {
			n++
		}
	}
	return n
}

func checkState(t *testing.T, state *File, truth string) {
	t.Helper()
	if state.Certain() && state.Text != truth {
		t.Fatalf("the file:\n%s\nthe state:\n%s", truth, show(state))
	}
}

func FuzzShown(f *testing.F) {
	f.Add("     1→a\n     2→b\n\n<system-reminder>\nx\n</system-reminder>\n", 0, 0)
	f.Add("<path>x</path>\n<type>file</type>\n<content>\n3: a\n4: b\n\n(End of file - total 4 lines)\n</content>", 3, 0)
	f.Add("Here's the result of running `cat -n` on x:\n     1\ta\n", 0, 0)
	f.Add("1. a\n2. b\n\n[Output truncated. Use view_range=[3, ...] to continue]", 1, 200)
	f.Fuzz(func(t *testing.T, result string, first, last int) {
		p := []toolcall.PathChange{{First: first, Last: last}}
		for _, facts := range []toolcall.CallFacts{
			{Tool: "read", Paths: p}, {Tool: "Read", Paths: p}, {Command: "nl -ba x", Paths: p}, {Command: "cat x", Paths: p},
		} {
			s, ok := shownBy(&facts, result)
			if ok && s.First != max(first, 1) && !strings.Contains(result, "lines ") {
				t.Errorf("line %d of %q", s.First, result)
			}
		}
	})
}

// tally is how what was rebuilt compares with the truth, which a later call shows: a read,
// or the record that Claude Code makes of a file before it edits it.
type tally struct {
	files          int // whole files that a later call shows
	certain, equal int // of them rebuilt whole and for certain, and equal
	guessed, right int // rebuilt whole but not for certain, and equal
	lines, wrong   int // lines said to be certain that a later call shows, and wrong ones
	changed        int // of the files, those that were changed since they were shown last
	changedEqual   int
}

// TestCorpusRebuilt follows every file of every session. Wherever a call shows what a file
// contains, no line that was said to be certain right before it may differ.
func TestCorpusRebuilt(t *testing.T) {
	sums := map[string]*tally{}
	for _, path := range corpustest.Files(t) {
		agent := filepath.Base(filepath.Dir(filepath.Dir(path)))
		if sums[agent] == nil {
			sums[agent] = &tally{}
		}
		tr := transcript.NewTranscript(corpustest.Read(t, path)...)
		l := ledger.Of(tr)
		var spoken []int
		for i, m := range tr.All() {
			if _, typed := userwords.TypedText(m); typed {
				spoken = append(spoken, i)
			}
		}
		c := comparison{t, filepath.Base(path), Of(tr, l, spoken), recorded(t, path), sums[agent]}
		for id := range c.files.names {
			c.follow(id)
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(sums)) {
		if s := sums[agent]; s.files > 0 || s.lines > 0 {
			t.Logf("%s: %+v", agent, *s)
		}
	}
}

// comparison compares the files of a session.
type comparison struct {
	t       *testing.T
	session string
	files   *Files
	truth   map[string]string // by call: the file before it
	sum     *tally
}

func (c *comparison) follow(id int) {
	state, changed := &File{}, false
	for i := range c.files.ledger.Entries {
		e := &c.files.ledger.Entries[i]
		alone := &File{}
		c.files.hear(state, i)
		c.files.step(alone, id, e)
		before, told := c.truth[c.files.call(e).ID]
		seen, ok := c.files.shown(e)
		switch {
		case ok && c.files.calls[i][0].file == id:
			c.compare(id, e.Seq, state, seen, changed)
			changed = changed && !seen.Ended
		case told && e.Outcome == toolcall.Succeeded && len(c.files.calls[i]) == 1 && c.files.calls[i][0].file == id:
			c.compare(id, e.Seq, state, shown{First: 1, Text: fed(before), Ended: true}, changed)
			changed = true
		case alone.Doubt.Call > 0 || alone.Seen > 0 || len(c.files.editsOf(id, e)) > 0:
			changed = true
		}
		c.files.step(state, id, e)
	}
}

// compare compares a state with lines that a call shows.
func (c *comparison) compare(id, seq int, state *File, truth shown, changed bool) {
	want := strings.Split(truth.Text, "\n")
	want = want[:len(want)-1]
	wrong, i := 0, -truth.First
	for line := range strings.Lines(state.Text) {
		i++
		if state.Doubt.Call > 0 || i < 0 || i >= len(want) && !truth.Ended {
			continue
		}
		c.sum.lines++
		if i >= len(want) || want[i] != strings.TrimSuffix(line, "\n") {
			wrong++
		}
	}
	if c.sum.wrong += wrong; wrong > 0 {
		c.t.Errorf("%s: %d lines of %s before call %d are wrong", c.session, wrong, c.files.names[id], seq)
	}
	if truth.First > 1 || !truth.Ended {
		return
	}
	equal := state.Whole && state.Text == truth.Text
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	c.sum.files++
	count(&c.sum.certain, state.Certain())
	count(&c.sum.equal, state.Certain() && equal)
	count(&c.sum.guessed, state.Whole && !state.Certain())
	count(&c.sum.right, equal && !state.Certain())
	count(&c.sum.changed, changed)
	count(&c.sum.changedEqual, changed && equal)
}

// recorded reads what Claude Code's session files say beside each edit: the file before it.
func recorded(t *testing.T, path string) map[string]string {
	out := map[string]string{}
	data, err := os.ReadFile(path)
	difftest.Must(t, err)
	for line := range strings.Lines(string(data)) {
		var rec struct {
			ToolUseResult json.RawMessage
			Message       struct{ Content json.RawMessage }
		}
		var res struct{ OriginalFile *string }
		var content []struct {
			ToolUseID string `json:"tool_use_id"`
		}
		if json.Unmarshal([]byte(line), &rec) != nil || json.Unmarshal(rec.ToolUseResult, &res) != nil ||
			res.OriginalFile == nil || json.Unmarshal(rec.Message.Content, &content) != nil {
			continue
		}
		for _, c := range content {
			out[c.ToolUseID] = *res.OriginalFile
		}
	}
	return out
}
