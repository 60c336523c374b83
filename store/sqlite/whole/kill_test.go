//go:build unix

package whole_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/transcript"
)

// TestMain lets the test binary play the agent that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PLEAT_KILL_DIR"); dir != "" {
		if err := playVictim(dir, os.Getenv("PLEAT_KILL_END") != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

var victimStep = regexp.MustCompile(`^step-(\d+)-`)

// victim is a model that appends a number of its own to a file with every answer. Which
// number is next it reads off the calls that it is shown.
func victim(dir string, s func() *pleat.Session, end bool) model.GeneratorFunc {
	return func(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
		// Everything said so far is acknowledged: it must never be lost.
		fmt.Printf("ack %d\n", s().Len())
		step := 0
		for _, m := range req.Messages {
			for _, b := range m.Blocks().All() {
				if c, ok := b.(transcript.ToolCall); ok {
					if id := victimStep.FindStringSubmatch(c.ID); id != nil {
						n, _ := strconv.Atoi(id[1])
						step = max(step, n)
					}
				}
			}
		}
		if end {
			return pleattest.Say("done").Reply, nil
		}
		step++
		return pleattest.Use(
			call(fmt.Sprintf("step-%d-effect", step), "bash", `{"command":"echo %d >> effects; seq %d %d"}`, step, step*100, step*100+300),
			call(fmt.Sprintf("step-%d-file", step), "write_file", `{"path":"f%d","content":"%d"}`, step, step),
			call(fmt.Sprintf("step-%d-calc", step), "calc", `{"expression":"%d+1"}`, step),
		).Reply, nil
	}
}

func playVictim(dir string, end bool) error {
	ctx := context.Background()
	st, err := sqlite.Open(filepath.Join(dir, "store"), nil)
	if err != nil {
		return err
	}
	defer st.Close()
	w, err := agent.OpenWorkspace(filepath.Join(dir, "work"))
	if err != nil {
		return err
	}
	defer w.Close()
	var a *agent.Agent
	a, err = agent.New(ctx, agent.Options{
		Store: st, Key: store.SessionKey{Session: "victim"}, Permit: agent.AllowAll, Tools: agent.StandardTools(w, agent.ToolOptions{}),
		Session:   pleat.Options{Budget: fold.Budget{Window: 8_000}},
		Generator: victim(dir, func() *pleat.Session { return a.Session() }, end),
	})
	if err != nil {
		return err
	}
	if a.Session().Len() == 0 {
		_, err = a.Run(ctx, "Count, and never twice.")
	} else {
		_, err = a.Resume(ctx)
	}
	return err
}

// TestKill kills an agent at random moments and resumes it. PLEAT_KILLS says how often. After
// fifty kills another agent takes its place, so that the sessions stay short.
func TestKill(t *testing.T) {
	t.Parallel()
	kills := 4
	if n, err := strconv.Atoi(os.Getenv("PLEAT_KILLS")); err == nil {
		kills = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for ; kills > 0; kills -= 50 {
		killAgent(t, min(kills, 50), rng)
	}
}

// killAgent kills one agent so many times, and then lets it end.
func killAgent(t *testing.T, kills int, rng *rand.Rand) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "work"), 0o755); err != nil {
		t.Fatal(err)
	}
	acked := 0
	for range kills {
		acked = max(acked, killOnce(t, dir, rng.IntN(10), time.Duration(rng.IntN(30_000))*time.Microsecond))
		checkVictim(t, dir, acked, false)
	}
	cmd := victimCommand(t, dir, "PLEAT_KILL_END=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the last run failed: %v\n%s", err, out)
	}
	checkVictim(t, dir, acked, true)
}

func victimCommand(t *testing.T, dir string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), "PLEAT_KILL_DIR="+dir), env...)
	return cmd
}

// killOnce starts or resumes the run and kills it some time after it has acknowledged
// something for the n-th time. It returns what was acknowledged.
func killOnce(t *testing.T, dir string, n int, delay time.Duration) int {
	t.Helper()
	cmd := victimCommand(t, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked := 0
	lines := bufio.NewScanner(out)
	killed := false
	for i := 0; lines.Scan(); i++ {
		fmt.Sscanf(lines.Text(), "ack %d", &acked)
		if i >= n && !killed {
			killed = true
			time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || !killed {
		t.Fatalf("the run ended by itself: %v", err)
	}
	return acked
}

// checkVictim holds the stored session to what was promised.
func checkVictim(t *testing.T, dir string, acked int, complete bool) {
	t.Helper()
	st, err := sqlite.Open(filepath.Join(dir, "store"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := pleat.OpenSession(t.Context(), st, store.SessionKey{Session: "victim"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() < acked {
		t.Errorf("%d messages were acknowledged, %d are there", acked, s.Len())
	}
	data, _ := os.ReadFile(filepath.Join(dir, "work", "effects"))
	happened := make(map[string]int)
	for _, l := range strings.Fields(string(data)) {
		if happened[l]++; happened[l] > 1 {
			t.Errorf("effect %s happened %d times", l, happened[l])
		}
	}
	msgs, err := s.Resolve(t.Context(), transcript.Whole(s.Len()))
	if err != nil {
		t.Fatal(err)
	}
	interrupted := 0
	for _, e := range s.Ledger(ledger.Filter{Tool: "bash"}) {
		call := msgs[e.Call.Message].Blocks().At(e.Call.Block).(transcript.ToolCall)
		step := victimStep.FindStringSubmatch(call.ID)[1]
		if e.Outcome == toolcall.Unanswered {
			if complete || e.Call.Message != s.Len()-1 {
				t.Errorf("call %s has no result", call.ID)
			}
			continue
		}
		text := msgs[e.Result.Message].Blocks().At(e.Result.Block).(transcript.ToolResult).Text()
		switch {
		case strings.Contains(text, "[interrupted]"):
			interrupted++
		case happened[step] != 1:
			t.Errorf("call %s has the result %.40q, but its effect happened %d times", call.ID, text, happened[step])
		}
	}
	if complete {
		t.Logf("%d messages, %d acknowledged, %d effects, %d interrupted calls", s.Len(), acked, len(happened), interrupted)
	}
}
