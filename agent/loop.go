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

// Result is what a run came to.
type Result struct {
	Text  string `json:"text"` // the model's last words; with [StopDone], its answer
	Stop  Stop   `json:"stop"`
	Turns int    `json:"turns"` // requests
	Calls int    `json:"calls"` // tool calls, refused ones included
	Spent Spent  `json:"spent"` // sub-agents included
}

// Run says something to the model and goes on until it is done or a limit is reached. If
// an earlier run was broken off, calls without a result are answered as interrupted
// first. A limit or a cancelled context is not an error of the run: [Result.Stop] says it,
// and the error of a cancelled context is returned as well.
func (a *Agent) Run(ctx context.Context, task string) (Result, error) {
	if strings.TrimSpace(task) == "" {
		return Result{}, errors.New("run agent: the task is empty")
	}
	return a.start(ctx, transcript.User(task).WithOrigin(transcript.OriginTyped))
}

// Resume goes on exactly where the session stopped: after a crash, a limit or a cancelled
// run. If the model was done already, its answer is returned and nothing is asked.
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
	err := a.repair(ctx)
	if err == nil && len(say) > 0 {
		err = a.session.Append(ctx, say...)
	}
	if err == nil {
		err = r.loop(ctx)
	}
	return r.finish(ctx, err)
}

var errTimeUp = errors.New("the time for this run is up")

// run is what one run keeps track of.
type run struct {
	*Agent
	res  Result
	cuts int // answers in a row that were cut off
}

// finish says how the run ended.
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
	text, ok, err := r.answered(ctx)
	if err != nil {
		return err
	}
	if ok {
		r.res.Text, r.res.Stop = text, StopDone
		return nil
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
			var over bool
			if over, err = r.closing(ctx, reply); over {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// answered reports whether the conversation ends with an answer of the model, and it.
func (r *run) answered(ctx context.Context) (text string, ok bool, err error) {
	n := r.session.Len()
	if n == 0 {
		return "", false, nil
	}
	m, err := r.session.Message(ctx, n-1)
	return m.Text(), m.Role() == transcript.RoleAssistant, err
}

// limit says which limit is reached, if any.
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

// closing takes an answer without calls: usually the last one.
func (r *run) closing(ctx context.Context, reply model.Reply) (over bool, err error) {
	switch reply.Stop {
	case model.StopPause: // the provider's own tools are at work: ask again
		return false, nil
	case model.StopMaxTokens, model.StopWindow:
		if r.cuts++; r.cuts <= 3 {
			return false, r.append(ctx, transcript.User(cutOff).WithOrigin(transcript.OriginInjected))
		}
	case model.StopRefusal:
		r.res.Stop = StopRefused
		return true, nil
	}
	r.res.Stop = StopDone
	return true, nil
}

const cutOff = "<system-reminder>\nYour answer was cut off at the output limit. Go on exactly where it stopped; if there is much left, put it into a file with the tools.\n</system-reminder>"

// append records messages even if the run is being cancelled: what was said and done must
// not be lost because somebody stopped listening.
func (r *run) append(ctx context.Context, msgs ...transcript.Message) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer stop()
	return r.session.Append(ctx, msgs...)
}

func textOf(msgs []transcript.Message) string {
	var parts []string
	for _, m := range msgs {
		if t := m.Text(); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "\n")
}
