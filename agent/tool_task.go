package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

// TaskOptions are the budget of a sub-agent. It never gets more than what is left of the
// run that started it.
type TaskOptions struct {
	Turns  int // requests; 0: 50
	Tokens int // in and out; 0: no limit of its own
	// System is the sub-agent's system prompt; empty: that of the main conversation.
	System string
}

const toolTask = "task"

type taskArgs struct{ Description, Prompt string }

func taskTool(o TaskOptions) Tool {
	o.Turns = cmp.Or(max(o.Turns, 0), 50)
	return NewTool(model.Tool{
		Name: toolTask,
		Description: "Gives a task to a sub-agent with the same tools and a window of its own, and returns its report. Good for searches and for work whose details you do not need. " +
			"It knows nothing of this conversation: say everything that it needs, and what its report should contain. Several can work at the same time.",
		Schema: `{"type":"object","properties":{` +
			`"description":{"type":"string","description":"The task in a few words."},` +
			`"prompt":{"type":"string","description":"The task."}},` +
			`"required":["prompt"]}`,
	}, EffectDelegate, func(in taskArgs) string { return in.Description }, func(ctx context.Context, c Call, in taskArgs) (string, error) {
		if strings.TrimSpace(in.Prompt) == "" {
			return "", errors.New("a prompt is needed")
		}
		return c.agent.delegate(ctx, c.ID, in.Prompt, o)
	})
}

// delegate runs a sub-agent in its own session and returns its report.
func (a *Agent) delegate(ctx context.Context, call, prompt string, o TaskOptions) (string, error) {
	child, err := a.child(ctx, call, o)
	if err != nil {
		return "", err
	}
	res, err := child.Run(ctx, prompt)
	err = errors.Join(err, child.Close())
	a.spend(res.Spent)
	report := fmt.Sprintf("[report of sub-agent %s: %d requests, %d calls]\n%s\n", child.o.Key.Session, res.Turns, res.Calls, res.Text)
	if err == nil && res.Stop != StopDone {
		err = fmt.Errorf("[the sub-agent was not done: its limit (%s) was reached]", res.Stop)
	}
	return report, err
}

// child makes an agent for a task of this one, with the same model, tools and rules and
// its own session.
func (a *Agent) child(ctx context.Context, call string, t TaskOptions) (*Agent, error) {
	o := a.o
	o.Key.Session += ".task-" + call
	o.Session.Child = true
	o.Session.Observe = a.inner
	if t.System != "" {
		o.Request.System = t.System
	}
	if o.Request.SessionKey != "" {
		o.Request.SessionKey = o.Key.Session
	}
	o.Tools = slices.DeleteFunc(slices.Clone(a.o.Tools), func(t Tool) bool { return t.Definition.Name == toolTask })
	o.Limits = Limits{Turns: t.Turns, Tokens: t.Tokens}
	if left := a.o.Limits.Tokens - a.spend(Spent{}).Tokens(); a.o.Limits.Tokens > 0 && (o.Limits.Tokens == 0 || left < o.Limits.Tokens) {
		o.Limits.Tokens = max(left, 1)
	}
	if a.o.Limits.USD > 0 {
		o.Limits.USD = max(a.o.Limits.USD-a.spend(Spent{}).USD, 1e-9)
	}
	c := &Agent{o: o, out: a.out, depth: a.depth + 1}
	return c, c.open(ctx)
}
