package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

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

// maxSpill bounds the file of an endless output: what comes later is counted and dropped.
const maxSpill = 1 << 30

// output collects a command's output in bounded memory. Up to max bytes are kept; of
// longer output, the beginning and the end are kept, and all of it, up to maxSpill bytes,
// goes to a file.
type output struct {
	max    int
	stream func(text string)
	create func() (*os.File, error)

	mu      sync.Mutex
	head    []byte
	tail    []byte // after head, once there is a file
	file    *os.File
	fileErr error
	size    int64
	line    []byte // not streamed yet
	secret  bool   // within a private key: not streamed
}

// Write implements io.Writer. It never fails: a full disk must not kill the command.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size += int64(len(p))
	o.show(p)
	if o.file == nil && o.fileErr == nil {
		if o.head = append(o.head, p...); len(o.head) > o.max {
			o.open()
		}
		return len(p), nil
	}
	if o.file != nil && o.size <= maxSpill && o.fileErr == nil {
		_, o.fileErr = o.file.Write(p)
	}
	if o.tail = append(o.tail, p...); len(o.tail) > 2*o.max {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-o.max/2:]...)
	}
	return len(p), nil
}

// open moves to a file, because the memory is used up.
func (o *output) open() {
	if o.file, o.fileErr = o.create(); o.fileErr == nil {
		_, o.fileErr = o.file.Write(o.head)
	}
	o.tail = append(o.tail, o.head[o.max/2:]...)
	o.head = slices.Clip(o.head[:o.max/2])
}

// show streams whole lines: redaction would miss a secret that is cut in two.
func (o *output) show(p []byte) {
	o.line = append(o.line, p...)
	end := bytes.LastIndexByte(o.line, '\n') + 1
	if end == 0 && len(o.line) > 16<<10 {
		end = len(o.line)
	}
	if end == 0 {
		return
	}
	for l := range strings.Lines(string(o.line[:end])) {
		key := strings.Contains(l, "PRIVATE KEY")
		begins := key && strings.Contains(l, "-----BEGIN")
		if !o.secret || begins {
			o.stream(l)
		}
		o.secret = (o.secret || begins) && !(key && strings.Contains(l, "-----END"))
	}
	o.line = append(o.line[:0], o.line[end:]...)
}

func (o *output) finish() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.line) > 0 && !o.secret {
		o.stream(string(o.line))
		o.line = nil
	}
	if o.file == nil && o.fileErr == nil {
		return strings.ToValidUTF8(string(o.head), "\uFFFD")
	}
	where := "could not be kept"
	if o.file != nil {
		where = "is in " + o.file.Name()
		if o.size > maxSpill {
			where += fmt.Sprintf(", up to %d bytes", maxSpill)
		}
		o.fileErr = cmp.Or(o.fileErr, o.file.Close())
	}
	if o.fileErr != nil {
		where += " (" + o.fileErr.Error() + ")"
	}
	tail := o.tail[max(len(o.tail)-o.max/2, 0):]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	text := fmt.Sprintf("%s\n[%d bytes of output; %d bytes in the middle are left out here; all of it %s]\n%s",
		o.head, o.size, o.size-int64(len(o.head))-int64(len(tail)), where, tail)
	return strings.ToValidUTF8(text, "\uFFFD")
}
