//go:build !unix

package agent

import (
	"io"
	"os/exec"
	"strconv"
	"time"
)

const nonblock = 0 // folders have no pipes

func findShell() []string {
	for _, shell := range [][]string{
		{"bash", "-c"},
		{"pwsh", "-NoProfile", "-NonInteractive", "-Command"},
		{"powershell", "-NoProfile", "-NonInteractive", "-Command"},
	} {
		if path, err := exec.LookPath(shell[0]); err == nil {
			return append([]string{path}, shell[1:]...)
		}
	}
	return []string{"cmd", "/C"}
}

// runGroup runs a command. Cancelling ends its whole tree of processes; what a command
// leaves behind when it ends cannot be found, because there are no process groups.
func runGroup(cmd *exec.Cmd, out io.Writer) error {
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 2 * time.Second // for what holds the pipes open after the end
	cmd.Cancel = func() error {
		if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
	return cmd.Run()
}
