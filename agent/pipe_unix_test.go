//go:build unix

package agent_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pleat-dev/pleat/agent"
)

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
