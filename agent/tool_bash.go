package agent

import (
	"cmp"
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
	// Output is how many bytes of output are recorded; 0: 1 MB. Of longer output, the
	// beginning and the end are recorded, and all of it, up to 1 GB, goes to a file that
	// read_file can read.
	Output int
	Spill  string   // the folder for such files; empty: a new temporary folder
	Env    []string // the commands' environment; nil: the program's own
	// Shell runs a command given as its last argument; empty: bash or sh, and on Windows
	// the first of bash, PowerShell and cmd that is there.
	Shell []string
}

const toolBash = "bash"

type bashArgs struct {
	Command string
	Timeout int
}

func (w *Workspace) bash(o BashOptions) Tool {
	o.Timeout = cmp.Or(max(o.Timeout, 0), 2*time.Minute)
	o.MaxTimeout = cmp.Or(max(o.MaxTimeout, 0), 10*time.Minute)
	o.Output = cmp.Or(max(o.Output, 0), 1<<20)
	if len(o.Shell) == 0 {
		o.Shell = findShell()
	}
	return NewTool(model.Tool{
		Name: toolBash,
		Description: "Runs a command in the workspace and returns its output, errors included. Each command starts in a fresh shell. " +
			"When it ends, or when its time is up, everything that it started is killed.",
		Schema: `{"type":"object","properties":{` +
			`"command":{"type":"string"},` +
			`"timeout":{"type":"integer","description":"Seconds; 120 if not given, at most 600."}},` +
			`"required":["command"]}`,
	}, EffectRun, func(in bashArgs) string { return in.Command }, func(ctx context.Context, c Call, in bashArgs) (string, error) {
		return w.runCommand(ctx, c, in, o)
	})
}

func (w *Workspace) runCommand(ctx context.Context, c Call, in bashArgs, o BashOptions) (string, error) {
	if strings.TrimSpace(in.Command) == "" {
		return "", errors.New("a command is needed")
	}
	limit := o.Timeout
	if in.Timeout > 0 {
		limit = min(time.Duration(in.Timeout)*time.Second, o.MaxTimeout)
	}
	ctx, stop := context.WithTimeoutCause(ctx, limit, errCommandTime)
	defer stop()
	cmd := exec.CommandContext(ctx, o.Shell[0], append(o.Shell[1:len(o.Shell):len(o.Shell)], in.Command)...)
	cmd.Dir, cmd.Env = w.Dir(), o.Env
	out := &output{max: o.Output, stream: c.Stream, create: func() (*os.File, error) { return w.spillFile(o.Spill) }}
	err := runGroup(cmd, out)
	return out.finish(), commandError(ctx, err, limit)
}

var errCommandTime = errors.New("the command's time is up")

// commandError says how a command ended, in a form that the ledger reads.
func commandError(ctx context.Context, err error, limit time.Duration) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(context.Cause(ctx), errCommandTime):
		return fmt.Errorf("[timed out after %s: the command and everything it started was killed]", limit)
	case ctx.Err() != nil:
		return errors.New("[killed]")
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case !errors.As(err, &exit):
		return fmt.Errorf("start the command: %w", err)
	case exit.ExitCode() < 0:
		return fmt.Errorf("[killed: %s]", exit.ProcessState)
	}
	return fmt.Errorf("[exit code: %d]", exit.ExitCode())
}
