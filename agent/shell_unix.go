//go:build unix

package agent

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// nonblock opens a pipe without waiting for its other end.
const nonblock = syscall.O_NONBLOCK

func findShell() []string {
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path, "-c"}
		}
	}
	return []string{"/bin/sh", "-c"}
}

// runGroup runs a command in its own process group and kills the group when the command
// ends or is cancelled, so that nothing it started stays behind.
func runGroup(cmd *exec.Cmd, out io.Writer) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	err = cmd.Start()
	_ = w.Close() // the command has its own
	if err != nil {
		return err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(out, r) // it ends when the other end is closed, or at the deadline
	}()
	err = cmd.Wait()
	_ = kill() // usually nothing is left
	// What left the group may hold the pipe for ever.
	_ = r.SetReadDeadline(time.Now().Add(time.Second))
	<-read
	drain(out, r)
	return err
}

// drain takes what a pipe still holds: whoever reads slowly is at the deadline with output before it that was
// written in time.
func drain(out io.Writer, r *os.File) {
	_ = r.SetReadDeadline(time.Time{})
	conn, err := r.SyscallConn()
	if err != nil {
		return
	}
	left, n := make([]byte, 1<<20), 0 // no pipe holds more
	if err = conn.Read(func(fd uintptr) bool { n, _ = syscall.Read(int(fd), left); return true }); err == nil && n > 0 {
		_, _ = out.Write(left[:n])
	}
}
