//go:build unix

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/pleattest"
)

func needShell(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell of the usual kind")
	}
}

// shellBench is a bench whose bash has the given options.
func shellBench(t *testing.T, o agent.BashOptions) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir(), script: &pleattest.Script{}}
	w := workspace(t, b.dir)
	b.Agent = newAgent(t, &agent.Options{
		Generator: b.script, Tools: agent.StandardTools(w, &agent.ToolOptions{Bash: o}), Permit: agent.AllowAll,
		Observe: func(e agent.Event) { b.events = append(b.events, e) },
	})
	return b
}

func TestBash(t *testing.T) {
	t.Parallel()
	needShell(t)
	b := shellBench(t, agent.BashOptions{})
	r := b.do(
		t,
		call("", "bash", `{"command":"pwd; echo to-err >&2"}`),
		call("", "bash", `{"command":"echo before; exit 3"}`),
		call("", "bash", `{"command":" "}`),
		call("", "bash", `{"command":"true"}`),
		call("", "bash", `{"command":"printf 'a\\377b'"}`),
	)
	wants(t, r[0], false, filepath.Base(b.dir)+"\nto-err\n")
	wants(t, r[1], true, "before\n[exit code: 3]")
	wants(t, r[2], true, "a command is needed")
	wants(t, r[3], false, "(no output)")
	wants(t, r[4], false, "a\uFFFDb")
	if e := b.Session().Ledger(ledger.Filter{Text: "exit 3"}); len(e) != 1 || e[0].ExitCode == nil ||
		*e[0].ExitCode != 3 {
		t.Errorf("the ledger has %+v", e)
	}
}

// gone waits until the process whose number is in a file has ended: being killed takes a
// moment.
func gone(t *testing.T, file string) bool {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if !alive(t, file) {
			return true
		}
	}
	return false
}

func alive(t *testing.T, file string) bool {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	must(t, err)
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil &&
		strings.Contains(string(stat), ") Z ") {
		return false // killed, and nobody has asked how
	}
	return syscall.Kill(pid, 0) == nil
}

func TestBashKillsAllItStarted(t *testing.T) {
	t.Parallel()
	needShell(t)
	b := shellBench(t, agent.BashOptions{})
	// The time is up.
	r := b.do(t, call("", "bash", `{"command":"sleep 300 & echo $! > child; echo started; sleep 300","timeout":1}`))
	wants(t, r[0], true, "started\n[timed out after 1s")
	if !gone(t, filepath.Join(b.dir, "child")) {
		t.Error("what the command started outlived its time")
	}
	// The command ends and leaves something behind that holds its output open.
	r = b.do(t, call("", "bash", `{"command":"sleep 300 & echo $! > child2; echo done"}`))
	wants(t, r[0], false, "done\n")
	if !gone(t, filepath.Join(b.dir, "child2")) {
		t.Error("what the command left behind still runs")
	}
	// The run is cancelled.
	ctx, cancel := context.WithCancel(t.Context())
	b.script.Steps = append(
		b.script.Steps,
		pleattest.Use(call("x", "bash", `{"command":"sleep 300 & echo $! > child3; echo ready; wait"}`)),
	)
	o := b.Agent
	go func() {
		for {
			if data, _ := os.ReadFile(filepath.Join(b.dir, "child3")); len(data) > 0 || ctx.Err() != nil {
				cancel()
				return
			}
			runtime.Gosched()
		}
	}()
	if _, err := o.Run(ctx, "sleep"); !errors.Is(err, context.Canceled) {
		t.Fatalf("the run ended with %v", err)
	}
	all := b.results()
	wants(t, all[len(all)-1], true, "may or may not have taken effect")
	if !gone(t, filepath.Join(b.dir, "child3")) {
		t.Error("what the command started outlived the run")
	}
	b.answered(t)
}

func TestBashOutputIsStreamedBoundedAndSpilled(t *testing.T) {
	t.Parallel()
	needShell(t)
	b := shellBench(t, agent.BashOptions{Output: 10_000})
	r := b.do(t, call("", "bash", `{"command":"seq 1 20000"}`))[0]
	text := r.Text()
	if r.Error || len(text) > 11_000 || !strings.HasPrefix(text, "1\n2\n") ||
		!strings.HasSuffix(text, "19999\n20000\n") {
		t.Fatalf("of the output %d bytes were recorded: %q … %q", len(text), text[:20], text[len(text)-20:])
	}
	_, rest, _ := strings.Cut(text, "all of it is in ")
	file, _, _ := strings.Cut(rest, "]\n")
	data, err := os.ReadFile(file)
	if err != nil || len(data) != 108_894 {
		t.Fatalf("the file has %d bytes, want 108894 (%v)", len(data), err)
	}
	// The model can read the file although it is not in the workspace.
	wants(t, b.do(t, call("", "read_file", `{"path":%q,"offset":12345,"limit":1}`, file))[0], false, "]\n12345\n")
	streamed := 0
	for _, e := range b.events {
		if e.Kind == agent.EventToolOutput {
			streamed += len(e.Text)
		}
	}
	if streamed != 108_894 {
		t.Errorf("%d bytes were streamed, want all of them", streamed)
	}
}

// Pipes, sockets and devices in the workspace are refused at once. Opening a pipe would wait
// for another program.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	t.Parallel()
	b := newBench(t, agent.Options{Permit: agent.AllowAll})
	names := []string{"pipe"}
	pipe := func(name string) {
		if err := syscall.Mkfifo(filepath.Join(b.dir, name), 0o600); err != nil {
			t.Skip("no named pipes here: ", err)
		}
	}
	pipe("pipe")
	if l, err := net.Listen("unix", filepath.Join(b.dir, "socket")); err == nil { // a long path is refused
		defer l.Close()
		names = append(names, "socket")
	}
	if syscall.Mknod(filepath.Join(b.dir, "zero"), syscall.S_IFCHR|0o600, 1<<8|5) == nil { // needs rights
		names = append(names, "zero")
	}
	for _, name := range names {
		for tool, args := range map[string]string{
			"read_file": `{"path":%q}`, "write_file": `{"path":%q,"content":"x"}`,
			"edit_file": `{"path":%q,"old":"a","new":"b"}`,
		} {
			wants(t, b.do(t, call("", tool, args, name))[0], true, name+": it is not a regular file")
		}
		wants(t, b.do(t, call("", "grep", `{"pattern":".","path":%q}`, name))[0], false, "no line matches")
	}
	b.file(t, "text", "a line\n")
	wants(t, b.do(t, call("", "grep", `{"pattern":"."}`))[0], false, "text:1:a line")
	wants(t, b.do(t, call("", "glob", `{"pattern":"**"}`))[0], false, "text")

	// A plain copy goes beside a pipe of its name.
	w := workspace(t, b.dir)
	if name, err := w.Keep("pipe", []byte("kept")); err != nil || name != "pipe-2" {
		t.Errorf("kept as %q, %v", name, err)
	}

	// What a call would change is shown without opening them.
	for _, name := range append(names, "/dev/zero") {
		got, ok := w.Change(agent.Call{Name: "write_file", Input: fmt.Sprintf(`{"path":%q,"content":"x"}`, name)})
		if want := (agent.Change{After: "x"}); got != want || !ok {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}

	// Nor is a skill read from a pipe.
	must(t, os.Mkdir(filepath.Join(b.dir, "slow"), 0o700))
	pipe("slow/SKILL.md")
	for _, tool := range agent.StandardTools(w, &agent.ToolOptions{Skills: b.dir}) {
		if tool.Definition.Name == "load_skill" {
			if _, err := tool.Run(t.Context(), agent.Call{Name: "load_skill", Input: `{"name":"slow"}`}); err == nil ||
				!strings.Contains(err.Error(), "no skill") {
				t.Errorf("load_skill: %v", err)
			}
		}
	}
}
