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
	c.files.follow(c.files.lineage(id, 0), func(seq int, step func(*File)) bool {
		if seq <= c.files.ledger.Len() {
			e := c.files.ledger.Entry(seq)
			alone := &File{}
			step(alone)
			before, told := c.truth[c.files.call(&e).ID]
			switch {
			case e.Kind == toolcall.CallRead && len(alone.pieces) == 1 && alone.pieces[0].doubt.Call == 0:
				c.compare(id, seq, state, alone.pieces[0], alone.ended, changed)
				changed = changed && !alone.ended
			case told && e.Outcome == toolcall.Succeeded && len(c.files.calls[seq-1]) == 1 &&
				c.files.calls[seq-1][0].file == id:
				c.compare(id, seq, state, piece{at: 1, text: fed(before)}, true, changed)
				changed = true
			default:
				changed = true
			}
		}
		step(state)
		return true
	})
}

// compare compares a state with lines that a call shows.
func (c *comparison) compare(id, seq int, state *File, truth piece, ended, changed bool) {
	want := splitLines(truth.text)
	wrong := 0
	for _, l := range state.Lines() {
		i := l.Number - truth.at
		if !l.Certain || i < 0 || i >= len(want) && !ended {
			continue
		}
		c.sum.lines++
		if i >= len(want) || want[i] != l.Text {
			wrong++
		}
	}
	if c.sum.wrong += wrong; wrong > 0 {
		c.t.Errorf("%s: %d lines of %s before call %d are wrong", c.session, wrong, c.files.names[id], seq)
	}
	if truth.at != 1 || !ended {
		return
	}
	equal := state.Whole() && fed(state.Content()) == truth.text
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	c.sum.files++
	count(&c.sum.certain, state.Certain())
	count(&c.sum.equal, state.Certain() && equal)
	count(&c.sum.guessed, state.Whole() && !state.Certain())
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
