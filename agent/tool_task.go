package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
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
		Description: "Gives a task to a sub-agent with the same tools and a window of its own, and returns its " +
			"report. Good for searches and for work whose details you do not need. " +
			"It knows nothing of this conversation: say everything that it needs, and what its report should " +
			"contain. Several can work at the same time.",
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

// todoWrite keeps the list of what is to do. The session reads it from the call, so every
// page has it.
func todoWrite() Tool {
	type args struct {
		Todos []struct{ Content, Status string }
	}
	return NewTool(model.Tool{
		Name: "todo_write",
		Description: "Writes the list of what is to do, all of it each time. Use it for work of several steps: " +
			"one item is in progress at a time, and an item is completed as soon as it is done. " +
			"The list stays in view when older parts of the conversation are folded away.",
		Schema: `{"type":"object","properties":{` +
			`"todos":{"type":"array","items":{"type":"object","properties":{` +
			`"content":{"type":"string"},` +
			`"status":{"type":"string","enum":["pending","in_progress","completed"]}},` +
			`"required":["content","status"]}}},` +
			`"required":["todos"]}`,
	}, EffectNone, nil, func(_ context.Context, _ Call, in args) (string, error) {
		count := map[string]int{"pending": 0, "in_progress": 0, "completed": 0}
		for i, t := range in.Todos {
			if strings.TrimSpace(t.Content) == "" {
				return "", fmt.Errorf("item %d has no content", i+1)
			}
			if _, known := count[t.Status]; !known {
				return "", fmt.Errorf("item %d has the status %q: it must be pending, in_progress or completed",
					i+1, t.Status)
			}
			count[t.Status]++
		}
		if count["in_progress"] > 1 {
			return "", errors.New("more than one item is in progress: choose one")
		}
		return fmt.Sprintf("%d to do, %d in progress, %d completed\n",
			count["pending"], count["in_progress"], count["completed"]), nil
	})
}

// maxSkill bounds what is read of a skill: it is meant to be instructions.
const maxSkill = 256 << 10

func loadSkill(dir string) Tool {
	type args struct{ Name string }
	return NewTool(model.Tool{
		Name: "load_skill",
		Description: "Loads a skill: instructions for a kind of work, written for this workspace. " +
			"Without a name it lists the skills. Load the one that fits before you begin such work.",
		Schema: `{"type":"object","properties":{"name":{"type":"string"}}}`,
	}, EffectNone, func(in args) string { return in.Name }, func(_ context.Context, _ Call, in args) (string, error) {
		if dir == "" {
			return "there are no skills here\n", nil
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return "", plainError("the folder of skills", err)
		}
		defer root.Close()
		if in.Name == "" {
			return listSkills(root)
		}
		if strings.ContainsAny(in.Name, `/\`) || in.Name == ".." || in.Name == "." {
			return "", fmt.Errorf("%q is not the name of a skill", in.Name)
		}
		text, err := readSkill(root, in.Name)
		if err != nil {
			list, _ := listSkills(root)
			return list, fmt.Errorf("there is no skill %q", in.Name)
		}
		return fmt.Sprintf("[skill %s]\n%s", in.Name, text), nil
	})
}

func readSkill(root *os.Root, name string) (string, error) {
	data, err := readRegular(root, name+"/SKILL.md", maxFile)
	if err != nil {
		return "", err
	}
	return string(data[:min(len(data), maxSkill)]), nil
}

func listSkills(root *os.Root) (string, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return "", plainError("the folder of skills", err)
	}
	var b strings.Builder
	for _, e := range entries {
		if text, err := readSkill(root, e.Name()); err == nil {
			fmt.Fprintf(&b, "%s: %s\n", e.Name(), skillDescription(text))
		}
	}
	if b.Len() == 0 {
		return "there are no skills here\n", nil
	}
	return b.String(), nil
}

var descriptionLine = regexp.MustCompile(`(?m)^description:[ \t]*["']?(.*?)["']?[ \t]*$`)

// skillDescription is the description in the front matter, else the first line of text.
func skillDescription(text string) string {
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if front, body, ok := strings.Cut(rest, "\n---"); ok {
			if m := descriptionLine.FindStringSubmatch(front); m != nil {
				return m[1]
			}
			text = body
		}
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "#-")); line != "" {
			return line
		}
	}
	return "(no description)"
}
