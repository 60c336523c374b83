package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

const toolTask = "task"

// taskTurns is how many requests a sub-agent may make.
const taskTurns = 50

type taskArgs struct{ Description, Prompt string }

func taskTool() Tool {
	subject := func(in taskArgs) string { return in.Description }
	return NewTool(model.Tool{
		Name: toolTask,
		Description: "Gives a task to a sub-agent with the same tools and a window of its own, and returns its report. " +
			"Good for searches and for work whose details you do not need. " +
			"It knows nothing of this conversation: say everything that it needs, and what its report should contain. " +
			"Several can work at the same time.",
		Schema: `{"type":"object","properties":{` +
			`"description":{"type":"string","description":"The task in a few words."},` +
			`"prompt":{"type":"string","description":"The task."}},` +
			`"required":["prompt"]}`,
	}, EffectDelegate, subject, func(ctx context.Context, c Call, in taskArgs) (string, error) {
		if strings.TrimSpace(in.Prompt) == "" {
			return "", errors.New("a prompt is needed")
		}
		return c.agent.delegate(ctx, c.ID, in.Prompt)
	})
}

// delegate runs a sub-agent in its own session and returns its report.
func (a *Agent) delegate(ctx context.Context, call, prompt string) (string, error) {
	child, err := a.child(ctx, call)
	if err != nil {
		return "", err
	}
	res, err := child.Run(ctx, prompt)
	err = errors.Join(err, child.Close())
	a.spend(res.Spent)
	report := fmt.Sprintf("[report of sub-agent %s: %d requests, %d calls]\n%s\n",
		child.o.Key.Session, res.Turns, res.Calls, res.Text)
	if err == nil && res.Stop != StopDone {
		err = fmt.Errorf("[the sub-agent was not done: its limit (%s) was reached]", res.Stop)
	}
	return report, err
}

// child makes an agent for a task of this one, with the same model, tools and rules and
// its own session. It never gets more than what is left of the run that started it.
func (a *Agent) child(ctx context.Context, call string) (*Agent, error) {
	o := a.o
	o.Key.Session += ".task-" + call
	o.Session.Child = true
	o.Session.Observe = a.inner
	if o.Request.SessionKey != "" {
		o.Request.SessionKey = o.Key.Session
	}
	o.Tools = slices.DeleteFunc(slices.Clone(a.o.Tools), func(t Tool) bool { return t.Definition.Name == toolTask })
	o.Limits = Limits{Turns: taskTurns}
	if a.o.Limits.Tokens > 0 {
		o.Limits.Tokens = max(a.o.Limits.Tokens-a.spend(Spent{}).Tokens(), 1)
	}
	if a.o.Limits.USD > 0 {
		o.Limits.USD = max(a.o.Limits.USD-a.spend(Spent{}).USD, 1e-9)
	}
	c := &Agent{o: o, out: a.out, depth: a.depth + 1}
	return c, c.open(ctx)
}
