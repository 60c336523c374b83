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
	// Output is how many bytes of output are recorded; 0: 1 MB. Of longer output, the
	// beginning and the end are recorded, and all of it, up to 1 GB, goes to a file that
	// read_file can read.
	Output int
	Spill  string   // the folder for such files; empty: a new temporary folder
	Env    []string // the commands' environment; nil: the program's own
}

// How long a command may take that does not say, and at most.
const commandTime, mostCommandTime = 2 * time.Minute, 10 * time.Minute

const toolBash = "bash"

type bashArgs struct {
	Command string
	Timeout int
}

func (w *Workspace) bash(o BashOptions) Tool {
	o.Output = cmp.Or(max(o.Output, 0), 1<<20)
	shell := findShell()
	subject := func(in bashArgs) string { return in.Command }
	return NewTool(model.Tool{
		Name: toolBash,
		Description: "Runs a command in the workspace and returns its output, errors included. " +
			"Each command starts in a fresh shell. " +
			"When it ends, or when its time is up, everything that it started is killed.",
		Schema: `{"type":"object","properties":{` +
			`"command":{"type":"string"},` +
			`"timeout":{"type":"integer","description":"Seconds; 120 if not given, at most 600."}},` +
			`"required":["command"]}`,
	}, EffectRun, subject, func(ctx context.Context, c Call, in bashArgs) (string, error) {
		return w.runCommand(ctx, c, in, o, shell)
	})
}

func (w *Workspace) runCommand(
	ctx context.Context, c Call, in bashArgs, o BashOptions, shell []string,
) (string, error) {
	if strings.TrimSpace(in.Command) == "" {
		return "", errors.New("a command is needed")
	}
	limit := commandTime
	if in.Timeout > 0 {
		limit = min(time.Duration(in.Timeout)*time.Second, mostCommandTime)
	}
	ctx, stop := context.WithTimeoutCause(ctx, limit, errCommandTime)
	defer stop()
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:len(shell):len(shell)], in.Command)...)
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
