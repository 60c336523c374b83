//go:build !unix

package agent

import (
	"os/exec"
	"strconv"
)

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

// ownGroup makes cancelling end the whole tree of processes.
func ownGroup(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
}

// killGroup has nothing to do: there are no groups to find what was left behind by.
func killGroup(*exec.Cmd) {}
