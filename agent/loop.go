package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Stop says why a run ended.
type Stop string

// The reasons. After all but [StopDone] and [StopRefused] a run can be resumed.
const (
	StopDone      Stop = "done"      // the model was done
	StopRefused   Stop = "refused"   // the model, or a filter before it, would not answer
	StopTurns     Stop = "turns"     // a limit was reached
	StopTokens    Stop = "tokens"    // a limit was reached
	StopUSD       Stop = "usd"       // a limit was reached
	StopTime      Stop = "time"      // a limit was reached
	StopCancelled Stop = "cancelled" // the context was cancelled
	StopFailed    Stop = "failed"    // an error ended it, which is returned too
)

// Result says how a run ended.
type Result struct {
	Text  string `json:"text"` // the model's last text; with [StopDone], its answer
	Stop  Stop   `json:"stop"`
	Turns int    `json:"turns"` // requests
	Calls int    `json:"calls"` // tool calls, refused ones included
	Spent Spent  `json:"spent"` // sub-agents included
}

// Run gives the model a task and runs until it is done or a limit is reached. If an
// earlier run was broken off, calls without a result are first answered as interrupted.
// [Result.Stop] says why the run ended. Reaching a limit is not an error; a cancelled
// context is.
func (a *Agent) Run(ctx context.Context, task string) (Result, error) {
	if strings.TrimSpace(task) == "" {
		return Result{}, errors.New("run agent: the task is empty")
	}
	return a.start(ctx, transcript.User(task).WithOrigin(transcript.OriginTyped))
}

// Resume continues exactly where the session stopped: after a crash, a limit or a cancelled
// run. If the model was done already, Resume returns its answer and asks nothing.
func (a *Agent) Resume(ctx context.Context) (Result, error) {
	if a.session.Len() == 0 {
		return Result{}, fmt.Errorf("resume session %s: nothing was said in it: %w", a.o.Key, store.ErrNotFound)
	}
	return a.start(ctx)
}

func (a *Agent) start(ctx context.Context, say ...transcript.Message) (Result, error) {
	if !a.running.TryLock() {
		return Result{}, fmt.Errorf("run session %s: a run is going on already", a.o.Key)
	}
	defer a.running.Unlock()
	a.turn.Store(0)
	a.spent = Spent{}
	r := &run{Agent: a}
	if t := a.o.Limits.Time; t > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, t, errTimeUp)
		defer stop()
	}
	err := r.begin(ctx, say)
	if errors.Is(err, store.ErrConflict) && !r.wrote {
		// What a killed process had sent was stored only now. This run has taken it in and
		// goes on from there; whoever still writes to the session conflicts again.
		err = r.begin(ctx, say)
	}
	return r.finish(ctx, err)
}

// begin brings the session to where the model is asked, and runs.
func (r *run) begin(ctx context.Context, say []transcript.Message) error {
	// The loop stores an answer before it runs its calls: an earlier run may have left some.
	repaired, err := r.session.Repair(ctx, func(c transcript.ToolCall) string {
		return interrupted(c.Name, r.tools[c.Name], "the program ended before it answered")
	})
	r.wrote = r.wrote || repaired > 0
	if err == nil && len(say) > 0 {
		err = r.session.Append(ctx, say...)
		r.wrote = r.wrote || err == nil
	}
	if err != nil {
		return err
	}
	return r.loop(ctx)
}

var errTimeUp = errors.New("the time for this run is up")

type run struct {
	*Agent
	res   Result
	cuts  int  // answers in a row that were cut off
	wrote bool // something that this run said is stored
}

func (r *run) finish(ctx context.Context, err error) (Result, error) {
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errTimeUp):
		r.res.Stop, err = StopTime, nil
	case ctx.Err() != nil:
		r.res.Stop = StopCancelled
	default:
		r.res.Stop = StopFailed
	}
	r.res.Spent = r.spend(Spent{})
	if err != nil {
		err = fmt.Errorf("run session %s: %w", r.o.Key, err)
		r.tellError(err)
	}
	done := r.res
	r.tell(Event{Kind: EventDone, Done: &done})
	return r.res, err
}

// loop asks and answers until the model is done or a limit is reached.
func (r *run) loop(ctx context.Context) error {
	if n := r.session.Len(); n > 0 {
		m, err := r.session.Message(ctx, n-1)
		if err != nil {
			return err
		}
		if m.Role() == transcript.RoleAssistant { // the model was done already
			r.res.Text, r.res.Stop = m.Text(), StopDone
			return nil
		}
	}
	for {
		if r.res.Stop = r.limit(); r.res.Stop != "" {
			return nil
		}
		reply, err := r.ask(ctx)
		if err != nil {
			return err
		}
		calls := transcript.Unanswered(reply.Messages...)
		if text := textOf(reply.Messages); text != "" || len(calls) == 0 {
			r.res.Text = text
		}
		if len(calls) > 0 {
			err = r.round(ctx, calls)
		} else {
			err = r.closing(ctx, reply)
		}
		if err != nil || r.res.Stop != "" {
			return err
		}
	}
}

func (r *run) limit() Stop {
	l, s := r.o.Limits, r.spend(Spent{})
	switch {
	case l.Turns > 0 && r.res.Turns >= l.Turns:
		return StopTurns
	case l.Tokens > 0 && s.Tokens() >= l.Tokens:
		return StopTokens
	case l.USD > 0 && s.USD >= l.USD:
		return StopUSD
	}
	return ""
}

// closing handles an answer without calls: usually the last one.
func (r *run) closing(ctx context.Context, reply model.Reply) error {
	r.res.Stop = StopDone
	switch reply.Stop {
	case model.StopPause: // the provider's own tools are at work: ask again
		r.res.Stop = ""
	case model.StopMaxTokens, model.StopWindow:
		if r.cuts++; r.cuts <= 3 {
			r.res.Stop = ""
			return r.append(ctx, transcript.User(cutOff).WithOrigin(transcript.OriginInjected))
		}
	case model.StopRefusal:
		r.res.Stop = StopRefused
	}
	return nil
}

const cutOff = "[Your answer was cut off at the output limit. Go on exactly where it stopped; " +
	"if there is much left, put it into a file with the tools.]"

// append records messages even if the run is being cancelled: cancelling must not lose
// what was said and done.
func (r *run) append(ctx context.Context, msgs ...transcript.Message) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer stop()
	err := r.session.Append(ctx, msgs...)
	r.wrote = r.wrote || err == nil
	return err
}

// interrupted tells the model about a call that started and has no result.
func interrupted(name string, tool *Tool, why string) string {
	advice := "It may or may not have taken effect, wholly or in part. " +
		"Do not run it again blindly: look first what it did."
	if tool != nil && tool.Effect == EffectNone {
		advice = "It changes nothing: call it again if you still need it."
	}
	return fmt.Sprintf("[interrupted] %s has no result: %s. %s", name, why, advice)
}

func textOf(msgs []transcript.Message) string {
	var texts []string
	for _, m := range msgs {
		if t := m.Text(); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}
