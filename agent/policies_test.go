package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/transcript"
)

// policyRun is the same run for every policy: 34 files are read, one output is larger
// than 50,000 characters, and near the end the model asks for compaction with a call
// after it in the same answer.
type policyRun struct {
	*bench
	requests []*model.Request
	files    map[string]string // that the policy wanted as plain copies
}

func runPolicy(t *testing.T, name string) *policyRun {
	t.Helper()
	p := named(t, name)
	r := &policyRun{files: make(map[string]string)}
	var mu sync.Mutex
	n := 0
	gen := model.GeneratorFunc(func(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
		n++
		r.requests = append(r.requests, req)
		switch {
		case n == 5:
			return pleattest.Use(call("big", "bash", `{"command":"seq 100000 108000"}`)).Reply, nil
		case n <= 35:
			return pleattest.Use(call(fmt.Sprint("c", n), "read_file", `{"path":"f%d.txt"}`, n)).Reply, nil
		case n == 36:
			return pleattest.Use(
				call("k1", "compact", `{"focus":"the ports"}`),
				call("k2", "calc", `{"expression":"2"}`),
			).Reply, nil
		}
		return pleattest.Say("done").Reply, nil
	})
	r.bench = newBench(t, agent.Options{
		Generator: gen, Permit: agent.AllowAll,
		Session: pleat.Options{
			Policy: p, Budget: fold.Budget{Window: max(p.Budget.Window, 60_000)},
			KeepFile: func(name string, data []byte) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				r.files[name] = string(data)
				return name, nil
			},
		},
	})
	for i := range 40 {
		r.file(t, fmt.Sprintf("f%d.txt", i),
			strings.Repeat(fmt.Sprintf("file %d has a line about port %d\n", i, 8000+i), 300))
	}
	res, err := r.Run(t.Context(), "Read all files. Never touch legacy/.")
	if err != nil || res.Stop != agent.StopDone {
		t.Fatalf("%s: the run ended with %v, %v", name, res.Stop, err)
	}
	r.answered(t)
	return r
}

// shows reports in how many requests a text stands.
func (r *policyRun) shows(text string) int {
	n := 0
	for _, req := range r.requests {
		if strings.Contains(requestText(req), text) {
			n++
		}
	}
	return n
}

func requestText(req *model.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		for _, blk := range m.Blocks().All() {
			switch blk := blk.(type) {
			case transcript.Text:
				b.WriteString(blk.Text.String() + "\n")
			case transcript.ToolResult:
				b.WriteString(blk.Text() + "\n")
			}
		}
	}
	return b.String()
}

// The policies drive the same run and differ as the texts they come from say.
func TestPoliciesDriveTheSameRun(t *testing.T) {
	t.Parallel()
	const task = "Read all files. Never touch legacy/."
	type expect struct {
		has, lacks []string // in some request; in none
		afterCall  string   // what the call after compact is answered with
	}
	for name, want := range map[string]expect{
		"default": {[]string{"[folded: ", "unfold(", task}, []string{"[Previous: used", "[Compacted]"}, "2"},
		"book": {
			[]string{"[tool_result elided; call_id=c1; original_tokens=", task},
			[]string{"[folded: ", "[Previous: used"},
			"2",
		},
		"threshold": {
			[]string{"<conversation_summary>\n", "Understood. Continuing from that summary."},
			[]string{"[Previous: used", "[tool_result elided"},
			"2",
		},
		"three-layer": {
			[]string{"[Previous: used read_file]", "[Previous: used bash]", "[Compressed]"},
			[]string{"<persisted-output>", "[Earlier tool result"},
			"2",
		},
		"four-lever": {
			[]string{"<persisted-output>\nOutput too large", "[Previous: used bash]", "[Compressed]"},
			[]string{"[Previous: used read_file]"},
			"2",
		},
		"four-layer": {
			[]string{"[Earlier tool result compacted. Re-run if needed.]", "[snipped ", "[Compacted]"},
			[]string{"<persisted-output>", "[Previous: used"},
			"compact ended the turn",
		},
		"truncate": {nil, []string{"[folded: ", "[Previous: used", "[Compacted]"}, "2"},
		"none":     {[]string{task}, []string{"[folded: ", "[Previous: used", "[Compacted]"}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runPolicy(t, name)
			for _, text := range want.has {
				if r.shows(text) == 0 {
					t.Errorf("no request shows %q", text)
				}
			}
			for _, text := range want.lacks {
				if n := r.shows(text); n > 0 {
					t.Errorf("%d requests show %q", n, text)
				}
			}
			all := r.results()
			if got := all[len(all)-1].Text(); !strings.Contains(got, want.afterCall) {
				t.Errorf("the call after compact was answered with %q", got)
			}
			last := r.requests[len(r.requests)-1]
			whole := len(last.Messages) == r.Session().Len()-1
			if whole != (name == "none") {
				t.Errorf("the last request has %d messages of %d", len(last.Messages), r.Session().Len()-1)
			}
			r.kept(t, name)
		})
	}
}

// kept checks the plain copies that some policies keep.
func (r *policyRun) kept(t *testing.T, name string) {
	t.Helper()
	spilled, transcripts := 0, 0
	for file, data := range r.files {
		switch {
		case strings.HasPrefix(file, ".task_outputs/tool-results/"):
			spilled++
			if !strings.Contains(data, "100000\n100001\n") {
				t.Errorf("%s begins with %.40q", file, data)
			}
		case strings.HasPrefix(file, ".transcripts/"):
			transcripts++
		}
	}
	if want := name == "four-lever"; (spilled > 0) != want {
		t.Errorf("%d results were written to files", spilled)
	}
	if want := name == "three-layer" || name == "four-lever" || name == "four-layer"; (transcripts > 0) != want {
		t.Errorf("%d transcripts were written", transcripts)
	}
}

func named(t testing.TB, name string) fold.Policy {
	t.Helper()
	p, err := policy.ByName(name)
	must(t, err)
	return p
}
