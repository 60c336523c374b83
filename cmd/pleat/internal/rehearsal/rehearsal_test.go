package rehearsal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/rehearsal"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// rehearse plays the rehearsal in a folder and returns its answer and its events.
func rehearse(t *testing.T, dir string) (agent.Result, []agent.Event, *agent.Agent) {
	t.Helper()
	w, err := agent.OpenWorkspace(dir)
	must(t, err)
	t.Cleanup(func() { w.Close() })
	o := rehearsal.Scenarios[0].Options(w)
	var events []agent.Event
	o.Observe = func(e agent.Event) { events = append(events, e) }
	a, err := agent.New(t.Context(), &o)
	must(t, err)
	res, err := a.Run(t.Context(), rehearsal.Scenarios[0].Said()[0])
	must(t, err)
	return res, events, a
}

func TestRehearsal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, rehearsal.Scenarios[0].Prepare(dir))
	started := time.Now()
	res, events, a := rehearse(t, dir)
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	for _, fact := range []string{
		"02:51", "03:27", "Deploy 4821 by r.osei", "team-lantern", "818 orders", "11861 EUR",
		"refunded with 14.50 EUR, counted by whole orders, and Ines Okafor signs the sum.", "rehearsal",
	} {
		if !strings.Contains(res.Text, fact) {
			t.Errorf("the answer lacks %q:\n%s", fact, res.Text)
		}
	}
	if report, err := os.ReadFile(filepath.Join(dir, "report.md")); err != nil ||
		!strings.Contains(string(report), "11861 EUR") {
		t.Errorf("the report is %q, %v", report, err)
	}
	var red, falls, digests, denied int
	unfolded, byModel := "", false
	for i, e := range events {
		switch e.Kind {
		case agent.EventSnapshot:
			if e.Snapshot.State == fold.Red {
				red++
			}
		case agent.EventEpoch:
			if e.Snapshot.Tokens < e.Before {
				falls++
			}
		case agent.EventDigest:
			digests++
			byModel = byModel ||
				strings.Contains(e.Fold.Stub, "written by a model") && strings.Contains(e.Fold.Stub,
					"818 orders were lost")
		case agent.EventToolCall:
			if e.Call.Denied != "" {
				denied++
				t.Errorf("%s %s was denied: %s", e.Call.Name, e.Call.Subject, e.Call.Denied)
			}
		case agent.EventToolResult:
			if e.Call.Name == recall.ToolUnfold {
				unfolded = e.Result.Text
			}
		case agent.EventDone:
			if i != len(events)-1 {
				t.Error("something was told after the end")
			}
		}
	}
	if red == 0 || falls == 0 || digests == 0 || !strings.Contains(unfolded, "Ines Okafor") {
		t.Errorf("red %d times, fell %d times, %d digests, unfolded %q", red, falls, digests, unfolded)
	}
	if !byModel {
		t.Error("no digest was written by the model")
	}
	if most := rehearsal.Scenarios[0].Budget(fold.Policy{}).Reported().Max; a.Session().Snapshot().Tokens > most {
		t.Errorf("the view has %d tokens, %d may be sent", a.Session().Snapshot().Tokens, most)
	}
}

// The answer comes from what the rehearsal reads: with other files it is another one.
func TestRehearsalReadsItsAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, rehearsal.Scenarios[0].Prepare(dir))
	change := func(name string, pairs ...string) {
		file := filepath.Join(dir, name)
		data, err := os.ReadFile(file)
		must(t, err)
		text := strings.NewReplacer(pairs...).Replace(string(data))
		if text == string(data) {
			t.Fatalf("%s did not change", name)
		}
		must(t, os.WriteFile(file, []byte(text), 0o644))
	}
	change("runbook.md", "14.50 EUR", "20.25 EUR", "Ines Okafor", "Tove Lund")
	change("config/services.toml", "team-lantern", "team-harbour")
	change("deploys.csv", "r.osei", "k.abara")
	lost := 0
	for at := 2*60 + 51; at <= 3*60+27; at++ {
		change("metrics/orders.csv", fmt.Sprintf("%02d:%02d,%d,%d\n", at/60, at%60, 18+at*7%11, at%3),
			fmt.Sprintf("%02d:%02d,31,4\n", at/60, at%60))
		lost += 27
	}
	res, _, _ := rehearse(t, dir)
	for _, fact := range []string{
		"by k.abara", "team-harbour", fmt.Sprint(lost, " orders"), "20229.75 EUR", "refunded with 20.25 EUR",
		"Tove Lund",
	} {
		if !strings.Contains(res.Text, fact) {
			t.Errorf("the answer lacks %q:\n%s", fact, res.Text)
		}
	}
}

// Broken off after any number of turns and resumed in a new program, it comes to the same
// answer: it has no memory but the messages it is sent.
func TestRehearsalResumes(t *testing.T) {
	t.Parallel()
	store := store.NewMemory()
	dir := t.TempDir()
	must(t, rehearsal.Scenarios[0].Prepare(dir))
	w, err := agent.OpenWorkspace(dir)
	must(t, err)
	defer w.Close()
	for turn := 1; ; turn++ {
		o := rehearsal.Scenarios[0].Options(w)
		o.Store, o.Limits.Turns = store, 1
		a, err := agent.New(t.Context(), &o)
		must(t, err)
		var res agent.Result
		if turn == 1 {
			res, err = a.Run(t.Context(), rehearsal.Scenarios[0].Said()[0])
		} else {
			res, err = a.Resume(t.Context())
		}
		if err != nil || turn > 40 {
			t.Fatalf("turn %d: %+v, %v", turn, res, err)
		}
		if res.Stop == agent.StopDone {
			if !strings.Contains(res.Text, "11861 EUR") {
				t.Errorf("the answer is %s", res.Text)
			}
			return
		}
	}
}

// A summary lists the calls that its writer was given, also those that an earlier summary lists, and no others.
func TestSummaryListsCalls(t *testing.T) {
	t.Parallel()
	const many = "Calls, in order: a 1; a 2; a 3; a 4; a 5; a 6; a 7; a 8; a 9; a 10; a 11"
	for given, want := range map[string]string{
		"[user] Look.": "No call is shown.",
		`[assistant→tool] read_file({"path": "etc/hosts"})` + "\n" +
			"[assistant→tool] compact({})": "Calls, in order: read_file etc/hosts; compact",
		`(call) bash {"command":"df -h"}`:               "Calls, in order: bash df -h",
		many + "; and 3 more\n(call) b {}\n(call) c {}": many + "; b; and 4 more",
		`[{"role": "assistant", "content": [{"type": "tool_use", "name": "glob",` +
			` "input": {"pattern": "*"}}]}]`: "Calls, in order: glob *",
	} {
		req := &model.Request{NoTools: true, Messages: []transcript.Message{transcript.User(given)}}
		reply, err := rehearsal.Scenarios[1].Model().Generate(t.Context(), req, nil)
		must(t, err)
		if got, _, _ := strings.Cut(reply.Messages[0].Text(), "\n"); got != want {
			t.Errorf("%s\nis summarized as %q", given, got)
		}
	}
}

// The list for people has every scenario, once.
func TestAboutNamesEveryScenario(t *testing.T) {
	for _, name := range rehearsal.Names() {
		if n := len(regexp.MustCompile(`(?m)^  (?:[a-z, ]+, )?`+name+`(?:,| |$)`).FindAllString(rehearsal.About, -1)); n != 1 {
			t.Errorf("%s is there %d times", name, n)
		}
	}
	for _, s := range rehearsal.Scenarios {
		if said := s.Said(); len(said) == 0 || (s.Forbids != "") != (len(said) == 2) && s.Policy == "" {
			t.Errorf("in %s people say %q", s.Name, said)
		}
	}
}

var must = difftest.Must

// Every policy drives the rehearsal to its answer in windows of every size: with a summary of
// everything it goes on from what the summary says.
func TestRehearsalUnderEveryPolicy(t *testing.T) {
	t.Parallel()
	for _, p := range policy.All() {
		for _, window := range []int{8_000, 16_000, 40_000, 200_000} {
			t.Run(fmt.Sprint(p.Name, "/", window), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				must(t, rehearsal.Scenarios[0].Prepare(dir))
				w, err := agent.OpenWorkspace(dir)
				must(t, err)
				defer w.Close()
				o := rehearsal.Scenarios[0].Options(w)
				o.Generator.(*rehearsal.Model).Provider.Limit = 0 // some policies promise nothing
				o.Session.Policy, o.Session.Budget, o.Limits.Turns = p, fold.Budget{Window: window}, 200
				a, err := agent.New(t.Context(), &o)
				must(t, err)
				res, err := a.Run(t.Context(), rehearsal.Scenarios[0].Said()[0])
				if err != nil || res.Stop != agent.StopDone {
					t.Fatalf("it ended with %s after %d requests: %v", res.Stop, res.Turns, err)
				}
				if !strings.Contains(res.Text, "818 orders were lost, which costs 11861 EUR") {
					t.Errorf("after %d requests the answer is %s", res.Turns, res.Text)
				}
			})
		}
	}
}
