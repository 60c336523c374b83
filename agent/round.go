package agent

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/transcript"
)

// round runs the calls of an answer and records their results, all together and in the
// order of the calls. The answer is stored already: if the program dies now, resuming
// finds calls without results and knows that they may have run.
func (r *run) round(ctx context.Context, blocks []transcript.ToolCall) error {
	calls := make([]Call, len(blocks))
	for i, b := range blocks {
		calls[i] = r.call(b)
	}
	r.res.Calls += len(calls)
	if err := r.append(ctx, transcript.Results(r.answers(ctx, calls)...)); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// mostTools is how many tools run at the same time.
const mostTools = 8

// answers runs the calls, at the same time where they do not get in each other's way. If a
// hook or an observer panics, so does answers, where the caller can recover.
func (r *run) answers(ctx context.Context, calls []Call) []transcript.ToolResult {
	results := make([]transcript.ToolResult, len(calls))
	done := make([]chan struct{}, len(calls))
	slots := make(chan struct{}, mostTools)
	compact := -1
	var broke atomic.Pointer[string]
	var wg sync.WaitGroup
	for i, c := range calls {
		done[i] = make(chan struct{})
		switch {
		case compact >= 0 && r.o.Session.Policy.Asks().EndsTurn:
			results[i] = transcript.ErrorResult(c.ID,
				"[not run] compact ended the turn. Call it again if it is still needed.")
			close(done[i])
			continue
		case c.Name == recall.ToolCompact && compact < 0 && !r.o.NoRecall:
			compact = i
			close(done[i])
			continue
		}
		wg.Go(func() {
			defer close(done[i])
			for j := range i {
				if inOrder(calls[j], c) {
					<-done[j]
				}
			}
			slots <- struct{}{}
			defer func() {
				if p := recover(); p != nil {
					what := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
					broke.CompareAndSwap(nil, &what)
				}
				<-slots
			}()
			results[i] = r.answer(ctx, c)
		})
	}
	wg.Wait()
	if what := broke.Load(); what != nil {
		panic(*what)
	}
	// Compaction comes last: it decides about what the others said.
	if compact >= 0 {
		results[compact] = r.answer(ctx, calls[compact])
	}
	return results
}

// inOrder reports whether a call must wait for an earlier one of the same answer: when
// both are about one file and one of them changes it.
func inOrder(first, second Call) bool {
	return first.Subject != "" && first.Subject == second.Subject &&
		(first.Effect == EffectWrite || second.Effect == EffectWrite)
}

func (r *run) call(b transcript.ToolCall) Call {
	c := Call{ID: b.ID, Name: b.Name, Input: b.Input.String(), agent: r.Agent}
	if tool := r.tools[c.Name]; tool != nil {
		c.Effect = tool.Effect
		if tool.Subject != nil {
			c.Subject = tool.Subject(c)
		}
	}
	return c
}

// answer answers one call, whatever happens.
func (r *run) answer(ctx context.Context, call Call) transcript.ToolResult {
	tool := r.tools[call.Name]
	started := r.o.Now()
	text, err := "", r.permitted(ctx, tool, &call)
	r.tell(Event{Kind: EventToolCall, Call: &call})
	if err == nil {
		text, err = runTool(ctx, tool, call)
		if ctx.Err() != nil && err != nil {
			err = fmt.Errorf("%w\n%s", err, interrupted(call.Name, tool, "it was stopped: "+context.Cause(ctx).Error()))
		}
	}
	res := CallResult{Text: text, Error: err != nil, Took: r.o.Now().Sub(started)}
	if err != nil {
		res.Text = strings.TrimLeft(strings.TrimRight(text, "\n")+"\n"+err.Error(), "\n")
	}
	switch call.Name {
	case recall.ToolUnfold, recall.ToolSearch, recall.ToolLedger: // redacted when it came in, and must be exact
	default:
		res.Text = r.o.Redact(res.Text)
	}
	res.Text = cmp.Or(res.Text, "(no output)") // providers refuse empty results
	if h := r.o.Hooks.AfterTool; h != nil {
		v, err := h(ctx, call, res)
		if err != nil {
			r.tellError(fmt.Errorf("hook after %s: %w", call.Name, err))
		} else {
			r.pin(ctx, v.Pins)
		}
	}
	r.tell(Event{Kind: EventToolResult, Call: &call, Result: &res})
	result := transcript.Result(call.ID, res.Text)
	result.Error = res.Error
	return result
}

// permitted decides whether a call may run. If not, call.Denied says why and the error
// tells the model.
func (r *run) permitted(ctx context.Context, tool *Tool, call *Call) error {
	if tool == nil {
		call.Denied = "there is no such tool"
		names := make([]string, len(r.defs))
		for i, d := range r.defs {
			names[i] = d.Name
		}
		return fmt.Errorf("[not run] there is no tool %q; the tools are %s", call.Name, strings.Join(names, ", "))
	}
	if ctx.Err() != nil {
		call.Denied = "the run was stopped before it started"
		return fmt.Errorf("[not run] the run was stopped before %s started", call.Name)
	}
	deny := func(reason string) error {
		reason = cmp.Or(reason, "permission was not given")
		call.Denied = reason
		return fmt.Errorf("[denied] %s was not run: %s. Do not try to get the same by other means; "+
			"go on without it, or say what you need it for", call.Name, strings.TrimSuffix(reason, "."))
	}
	if h := r.o.Hooks.BeforeTool; h != nil {
		v, err := h(ctx, *call)
		if err != nil {
			return deny("a hook failed: " + err.Error())
		}
		r.pin(ctx, v.Pins)
		if v.Deny {
			return deny(v.Reason)
		}
	}
	if tool.Effect == EffectNone || tool.Effect == EffectDelegate {
		return nil
	}
	if r.o.Permit == nil {
		return deny("nobody can be asked for permission")
	}
	d, err := r.o.Permit(ctx, *call)
	switch {
	case err != nil:
		return deny("asking for permission failed: " + err.Error())
	case !d.Allow:
		return deny(d.Reason)
	}
	return nil
}

// runTool runs a tool. A tool that panics has failed; the run continues.
func runTool(ctx context.Context, tool *Tool, call Call) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("%s broke: %v", call.Name, p)
		}
	}()
	return tool.Run(ctx, call)
}

func (r *run) pin(ctx context.Context, texts []string) {
	for _, t := range texts {
		if err := r.session.Pin(context.WithoutCancel(ctx), t); err != nil {
			r.tellError(err)
		}
	}
}
