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

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/spf13/pflag"
)

// hookFlags are the user's commands that a run calls. Each gets one JSON object on standard
// input and may answer with one on standard output:
//
//	{"deny": true, "reason": "…", "pins": ["…"]}
//
// Exit code 2 denies too, with standard error as the reason. If a hook before a tool fails
// in any other way, the call is denied as well: the hook may be there to guard something.
type hookFlags struct {
	beforeTool, afterTool, beforeEpoch, afterEpoch string
}

func (h *hookFlags) declare(fs *pflag.FlagSet) {
	fs.StringVar(&h.beforeTool, "before-tool", "", "run `COMMAND` before every tool; it may deny the call")
	fs.StringVar(&h.afterTool, "after-tool", "", "run `COMMAND` after every tool")
	fs.StringVar(&h.beforeEpoch, "before-epoch", "",
		"run `COMMAND` before every compaction; it may deny it, or add pins")
	fs.StringVar(&h.afterEpoch, "after-epoch", "", "run `COMMAND` after every compaction")
}

type hookInput struct {
	Hook   string            `json:"hook"`
	Call   *agent.Call       `json:"call,omitempty"`
	Result *agent.CallResult `json:"result,omitempty"`
	Plan   *fold.Plan        `json:"plan,omitempty"`
	Report *pleat.Report     `json:"report,omitempty"`
}

const hookTime = 30 * time.Second

// runHook runs a user's command; empty: there is none.
func runHook(ctx context.Context, command string, in hookInput) (agent.Verdict, error) {
	if command == "" {
		return agent.Verdict{}, nil
	}
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

func (h *hookFlags) tools() agent.Hooks {
	return agent.Hooks{
		BeforeTool: func(ctx context.Context, c agent.Call) (agent.Verdict, error) {
			return runHook(ctx, h.beforeTool, hookInput{Hook: "before-tool", Call: &c})
		},
		AfterTool: func(ctx context.Context, c agent.Call, r agent.CallResult) (agent.Verdict, error) {
			return runHook(ctx, h.afterTool, hookInput{Hook: "after-tool", Call: &c, Result: &r})
		},
	}
}

func (h *hookFlags) epochs(failed func(error)) pleat.Hooks {
	var out pleat.Hooks
	if h.beforeEpoch != "" {
		out.BeforeEpoch = func(ctx context.Context, p *fold.Plan) (pleat.EpochDecision, error) {
			a, err := runHook(ctx, h.beforeEpoch, hookInput{Hook: "before-epoch", Plan: p})
			if err != nil { // a broken hook must not make the window overflow
				failed(err)
			}
			return pleat.EpochDecision{Veto: a.Deny, Pins: a.Pins}, nil
		}
	}
	if h.afterEpoch != "" {
		out.AfterEpoch = func(ctx context.Context, r pleat.Report) {
			if _, err := runHook(ctx, h.afterEpoch, hookInput{Hook: "after-epoch", Report: &r}); err != nil {
				failed(err)
			}
		}
	}
	return out
}
