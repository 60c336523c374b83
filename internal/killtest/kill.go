//go:build unix

// Package killtest kills an agent again and again, over any store, and holds what it left behind
// to what was promised: nothing acknowledged is lost, no call stays without a result, no
// effect happens twice.
package killtest

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
	"github.com/pleat-dev/pleat/transcript"
)

// Open opens a store, given its file or its address.
type Open func(ctx context.Context, target string) (store.Store, error)

// Played plays the agent if [Test] started this process to be killed, and reports whether it
// did. A package that uses Test calls it in its TestMain.
func Played(open Open) bool {
	dir := os.Getenv("PLEAT_KILL_DIR")
	if dir == "" {
		return false
	}
	path, end := os.Getenv("PLEAT_KILL_STORE"), os.Getenv("PLEAT_KILL_END") != ""
	if err := playVictim(context.Background(), open, dir, path, end); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

var victimStep = regexp.MustCompile(`^step-(\d+)-`)

// counter is a model that appends a number of its own to a file with every answer. Which
// number is next it reads off the calls that it is shown.
func counter(s func() *pleat.Session, end bool) model.GeneratorFunc {
	return func(_ context.Context, req *model.Request, _ func(model.Delta)) (model.Reply, error) {
		// Everything said so far is acknowledged: it must never be lost.
		fmt.Printf("ack %d\n", s().Len())
		step := 0
		for _, m := range req.Messages {
			for _, c := range m.Calls() {
				if id := victimStep.FindStringSubmatch(c.ID); id != nil {
					n, _ := strconv.Atoi(id[1])
					step = max(step, n)
				}
			}
		}
		if end {
			return pleattest.Say("done").Reply, nil
		}
		step++
		return pleattest.Use(
			use(fmt.Sprintf("step-%d-effect", step), "bash", `{"command":"echo %d >> effects; seq %d %d"}`,
				step, step*100, step*100+300),
			use(fmt.Sprintf("step-%d-file", step), "write_file", `{"path":"f%d","content":"%d"}`, step, step),
			use(fmt.Sprintf("step-%d-look", step), "glob", `{"pattern":"f%d"}`, step),
		).Reply, nil
	}
}

func playVictim(ctx context.Context, open Open, dir, target string, end bool) error {
	st, err := open(ctx, target)
	if err != nil {
		return err
	}
	defer st.Close()
	w, err := agent.OpenWorkspace(dir)
	if err != nil {
		return err
	}
	defer w.Close()
	var a *agent.Agent
	a, err = agent.New(ctx, &agent.Options{
		Store: st, Key: store.SessionKey{Session: "victim"},
		Permit: agent.AllowAll, Tools: agent.StandardTools(w, nil),
		Session:   pleat.Options{Budget: fold.Budget{Window: 8_000}},
		Generator: counter(func() *pleat.Session { return a.Session() }, end),
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

// Test kills an agent at random moments and resumes it. PLEAT_KILLS says how often. After
// fifty kills another agent takes its place, with another store, so that the sessions stay
// short.
func Test(t *testing.T, open Open, target func() string) {
	kills := 4
	if n, err := strconv.Atoi(os.Getenv("PLEAT_KILLS")); err == nil {
		kills = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for ; kills > 0; kills -= 50 {
		v := &victim{t: t, open: open, target: target(), dir: t.TempDir()}
		for range min(kills, 50) {
			v.killOnce(rng.IntN(10), time.Duration(rng.IntN(30_000))*time.Microsecond)
			v.check(false)
		}
		if out, err := v.command("PLEAT_KILL_END=1").CombinedOutput(); err != nil {
			t.Fatalf("the last run failed: %v\n%s", err, out)
		}
		v.check(true)
	}
}

// victim is an agent that is killed.
type victim struct {
	t      *testing.T
	open   Open
	target string // its store
	dir    string // its workspace
	acked  int    // messages that it has acknowledged
}

func (v *victim) command(env ...string) *exec.Cmd {
	cmd := exec.CommandContext(v.t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), "PLEAT_KILL_DIR="+v.dir, "PLEAT_KILL_STORE="+v.target), env...)
	return cmd
}

// killOnce starts or resumes the run and kills it some time after it has acknowledged
// something for the n-th time.
func (v *victim) killOnce(n int, delay time.Duration) {
	t := v.t
	t.Helper()
	cmd := v.command()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	killed := false
	for i := 0; lines.Scan(); i++ {
		acked := 0
		fmt.Sscanf(lines.Text(), "ack %d", &acked)
		v.acked = max(v.acked, acked)
		if i >= n && !killed {
			killed = true
			time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || !killed {
		t.Fatalf("the run ended by itself: %v", err)
	}
}

// check holds the stored session to what was promised.
func (v *victim) check(complete bool) {
	t := v.t
	t.Helper()
	st, err := v.open(t.Context(), v.target)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := pleat.OpenSession(t.Context(), st, store.SessionKey{Session: "victim"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() < v.acked {
		t.Errorf("%d messages were acknowledged, %d are there", v.acked, s.Len())
	}
	data, _ := os.ReadFile(filepath.Join(v.dir, "effects"))
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
		t.Logf("%d messages, %d acknowledged, %d effects, %d interrupted calls", s.Len(), v.acked,
			len(happened), interrupted)
	}
}

func use(id, name, format string, args ...any) transcript.ToolCall {
	return transcript.Call(id, name, fmt.Sprintf(format, args...))
}
