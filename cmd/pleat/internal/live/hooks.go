package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// hookInput is what the command of --before-tool gets on standard input. It may answer with one
// JSON object on standard output:
//
//	{"deny": true, "reason": "…", "pins": ["…"]}
//
// Exit code 2 denies too, with standard error as the reason. If it fails in any other way, the
// call is denied as well: the hook may be there to guard something.
type hookInput struct {
	Hook string     `json:"hook"`
	Call agent.Call `json:"call"`
}

const hookTime = 30 * time.Second

func runHook(ctx context.Context, command string, in hookInput) (agent.Verdict, error) {
	data, err := json.Marshal(in)
	if err != nil {
		return agent.Verdict{}, fmt.Errorf("encode input of hook: %w", err)
	}
	ctx, stop := context.WithTimeout(ctx, hookTime)
	defer stop()
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/C"
	}
	cmd := exec.CommandContext(ctx, shell, flag, command)
	cmd.Env = stores.ChildEnv()
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(data), &out, &errs
	err = cmd.Run()
	said := strings.TrimSpace(errs.String())
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() == 2 {
		return agent.Verdict{Deny: true, Reason: term.Clip(term.OneLine(said), 500)}, nil
	}
	if err != nil {
		return agent.Verdict{}, fmt.Errorf("run hook %q: %w: %s", command, err, term.Clip(term.OneLine(said), 300))
	}
	var a agent.Verdict
	if text := bytes.TrimSpace(out.Bytes()); len(text) > 0 && text[0] == '{' {
		if err := json.Unmarshal(text, &a); err != nil {
			return agent.Verdict{}, fmt.Errorf("read answer of hook %q: %w", command, err)
		}
	}
	return a, nil
}

// hooks runs a command before every tool; "": none.
func hooks(command string) agent.Hooks {
	if command == "" {
		return agent.Hooks{}
	}
	return agent.Hooks{BeforeTool: func(ctx context.Context, c agent.Call) (agent.Verdict, error) {
		return runHook(ctx, command, hookInput{"before-tool", c})
	}}
}
