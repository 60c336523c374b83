package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/model"
)

// BashOptions say how commands are run. The zero value works.
type BashOptions struct {
	Timeout    time.Duration // for commands that name none; 0: 2 minutes
	MaxTimeout time.Duration // the most a command may name; 0: 10 minutes
	// Output is how many bytes of output are recorded; 0: 1 MB. Of more, the beginning
	// and the end are recorded and all of it goes to a file that read_file can read.
	Output int
	// Spill is the folder for such files; empty: a new one in the system's temporary
	// folder.
	Spill string
	// Env is the commands' environment; nil: the program's own.
	Env []string
	// Shell runs a command given as its last argument; empty: bash or sh, and on Windows
	// bash, PowerShell or cmd, whichever is there.
	Shell []string
}

func (w *Workspace) bash(o BashOptions) Tool {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = 10 * time.Minute
	}
	if o.Output <= 0 {
		o.Output = 1 << 20
	}
	b := &bashTool{w: w, o: o}
	return Tool{
		Definition: model.Tool{
			Name: toolBash,
			Description: "Runs a command in the workspace and returns its output, errors included. Each command starts in a fresh shell. " +
				"When it ends, or when its time is up, everything that it started is killed.",
			Schema: `{"type":"object","properties":{` +
				`"command":{"type":"string"},` +
				`"timeout":{"type":"integer","description":"Seconds; 120 if not given, at most 600."}},` +
				`"required":["command"]}`,
		},
		Effect:  EffectRun,
		Subject: commandSubject,
		Run:     b.run,
	}
}

func commandSubject(c Call) string {
	var in struct{ Command string }
	if c.Decode(&in) != nil {
		return ""
	}
	return in.Command
}

type bashTool struct {
	w *Workspace
	o BashOptions
}

func (b *bashTool) run(ctx context.Context, c Call) (string, error) {
	var in struct {
		Command string
		Timeout int
	}
	if err := c.Decode(&in); err != nil {
		return "", err
	}
	if strings.TrimSpace(in.Command) == "" {
		return "", errors.New("a command is needed")
	}
	limit := b.o.Timeout
	if in.Timeout > 0 {
		limit = min(time.Duration(in.Timeout)*time.Second, b.o.MaxTimeout)
	}
	ctx, stop := context.WithTimeoutCause(ctx, limit, errCommandTime)
	defer stop()
	shell := b.o.Shell
	if len(shell) == 0 {
		shell = findShell()
	}
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:len(shell):len(shell)], in.Command)...)
	cmd.Dir, cmd.Env = b.w.Dir(), b.o.Env
	out := &output{max: b.o.Output, stream: c.Stream, create: b.spill}
	err := runGroup(cmd, out)
	text := out.finish()
	return text, b.verdict(ctx, err, limit)
}

var errCommandTime = errors.New("the command's time is up")

// verdict says how a command ended, in the words that the ledger reads.
func (b *bashTool) verdict(ctx context.Context, err error, limit time.Duration) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(context.Cause(ctx), errCommandTime):
		return fmt.Errorf("[timed out after %s: the command and everything it started was killed]", limit)
	case ctx.Err() != nil:
		return errors.New("[killed]")
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case errors.As(err, &exit):
		if code := exit.ExitCode(); code >= 0 {
			return fmt.Errorf("[exit code: %d]", code)
		}
		return fmt.Errorf("[killed: %s]", exit.ProcessState)
	}
	return fmt.Errorf("start the command: %w", err)
}

// spill makes the file for an output that is too long.
func (b *bashTool) spill() (*os.File, error) {
	dir, err := b.w.spillDir(b.o.Spill)
	if err != nil {
		return nil, err
	}
	return os.CreateTemp(dir, "output-*.txt")
}
