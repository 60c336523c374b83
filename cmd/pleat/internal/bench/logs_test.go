package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/viewtest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/transcript"
)

func trajectories(t *testing.T, path string) [][]transcript.Message {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := readTrajectories(data)
	if err != nil || len(sessions) == 0 {
		t.Fatalf("%s: %d sessions, %v", path, len(sessions), err)
	}
	return sessions
}

// summarize writes a message on one line.
func summarize(m transcript.Message) string {
	s := fmt.Sprint(m.Role(), m.Origin())
	for _, b := range m.Blocks().All() {
		s += " " + fmt.Sprint(b.Kind())
		switch b := b.(type) {
		case transcript.ToolCall:
			s += " " + b.ID + " " + b.Name + " " + b.Input.String()
		case transcript.ToolResult:
			s += " " + b.CallID + " " + b.Text()
		default:
			s += " " + transcript.BlockText(b)
		}
	}
	return s
}

func TestTrajectories(t *testing.T) {
	for name, want := range map[string][][]string{
		"tau-bench.log": {
			{"system0 text Policy", "user0 text book", "assistant0 text sure"},
			{"system0 text Policy", "assistant0 tool_call a get {}", "tool0 tool_result a {}"},
		},
		"swe-agent.log": {{
			"system0 text You are a programmer", "user0 text ISSUE: broken", "assistant0 text look tool_call c1 ls {}",
			"tool0 tool_result c1 a.py", "assistant0 text Done\n```\nsubmit\n```", "user2 text observation",
		}},
	} {
		var got [][]string
		for _, msgs := range trajectories(t, filepath.Join("testdata", name)) {
			var lines []string
			for _, m := range msgs {
				lines = append(lines, summarize(m))
			}
			got = append(got, lines)
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: got %#v", name, got)
		}
	}
	for _, none := range []string{"", "[]", "{}", `{"messages":[]}`, `[{"role":"user"}]`, "hello"} {
		if sessions, err := readTrajectories([]byte(none)); err != nil || sessions != nil {
			t.Errorf("%q is read as %v, %v", none, sessions, err)
		}
	}
}

// TestTrajectoriesCorpus holds what is read of real trajectories, and its views under the
// default policy, to recorded hashes, and counts their calls and results in another way.
func TestTrajectoriesCorpus(t *testing.T) {
	recorded, got := viewtest.Read(t), map[string]string{}
	for _, folder := range corpustest.Folders(t) {
		for _, pattern := range []string{"tau-bench/*.json", "swe-agent/*.traj"} {
			files, _ := filepath.Glob(filepath.Join(folder, pattern))
			for _, file := range files {
				name := filepath.ToSlash(strings.TrimPrefix(file, folder+string(filepath.Separator)))
				sessions := trajectories(t, file)
				checkCounts(t, file, sessions)
				if _, ok := recorded[name]; ok || *viewtest.Update {
					got[name] = trajectoryHashes(t, sessions)
				}
			}
		}
	}
	viewtest.Compare(t, got, func(name string) bool { _, ok := got[name]; return ok })
}

func trajectoryHashes(t *testing.T, sessions [][]transcript.Message) string {
	t.Helper()
	p := slices.IndexFunc(policy.All(), func(p fold.Policy) bool { return p.Name == "default" })
	read := viewtest.New()
	for _, msgs := range sessions {
		if err := json.NewEncoder(read.Sum).Encode(msgs); err != nil {
			t.Fatal(err)
		}
	}
	out := []string{read.String()}
	for _, budget := range []int{8_000, 20_000, 49_000} {
		h := viewtest.New()
		for _, msgs := range sessions {
			h.Fold(t, policy.All()[p], budget, msgs)
		}
		out = append(out, h.String())
	}
	return strings.Join(out, " ")
}

// checkCounts compares calls and results with those of the JSON text.
func checkCounts(t *testing.T, file string, sessions [][]transcript.Message) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	calls, results := 0, 0
	for _, msgs := range sessions {
		for _, m := range msgs {
			for _, b := range m.Blocks().All() {
				switch b.Kind() {
				case transcript.KindToolCall:
					calls++
				case transcript.KindToolResult:
					results++
				}
			}
		}
	}
	type message struct {
		Role  string
		Calls []any `json:"tool_calls"`
	}
	var lists [][]message
	var tasks []struct{ Traj []message }
	var doc struct{ History []message }
	if json.Unmarshal(data, &tasks) == nil {
		for _, task := range tasks {
			lists = append(lists, task.Traj)
		}
	} else if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	} else {
		lists = append(lists, doc.History)
	}
	for _, m := range slices.Concat(lists...) {
		calls -= len(m.Calls)
		if m.Role == "tool" {
			results--
		}
	}
	if calls != 0 || results != 0 {
		t.Errorf("%s: %d calls and %d results too many", file, calls, results)
	}
}
