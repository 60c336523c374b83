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
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

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
	if err != nil {
		t.Fatal(err)
	}
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
