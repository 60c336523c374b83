package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

// ToolOptions choose how the tools of [StandardTools] work. The zero value works.
type ToolOptions struct {
	Bash BashOptions
	// Skills is a folder with skills: folders with a SKILL.md each. Empty: there are
	// none.
	Skills string
	// Task is the budget of sub-agents.
	Task TaskOptions
}

// StandardTools are the tools of a coding agent, always the same and in the same order:
// bash, read_file, write_file, edit_file, glob, grep, todo_write, task, load_skill, calc.
// What the model is told of them does not depend on the options, so that the bytes of the
// tool list are the same in every session.
func StandardTools(w *Workspace, o ToolOptions) []Tool {
	return []Tool{
		w.bash(o.Bash), w.readFile(), w.writeFile(), w.editFile(), w.glob(), w.grep(),
		todoWrite(), taskTool(o.Task), loadSkill(o.Skills), calc(),
	}
}

// todoWrite keeps the list of what is to do. The session reads it off the call, so that
// every page of a digest has it.
func todoWrite() Tool {
	return Tool{
		Definition: model.Tool{
			Name: toolTodoWrite,
			Description: "Writes the list of what is to do, all of it each time. Use it for work of several steps: one item is in progress at a time, " +
				"and an item is completed as soon as it is done. The list stays in view when older parts of the conversation are folded away.",
			Schema: `{"type":"object","properties":{` +
				`"todos":{"type":"array","items":{"type":"object","properties":{` +
				`"content":{"type":"string"},` +
				`"status":{"type":"string","enum":["pending","in_progress","completed"]}},` +
				`"required":["content","status"]}}},` +
				`"required":["todos"]}`,
		},
		Run: func(_ context.Context, c Call) (string, error) {
			var in struct {
				Todos []struct{ Content, Status string }
			}
			if err := c.Decode(&in); err != nil {
				return "", err
			}
			count := map[string]int{}
			for i, t := range in.Todos {
				if strings.TrimSpace(t.Content) == "" {
					return "", fmt.Errorf("item %d has no content", i+1)
				}
				switch t.Status {
				case "pending", "in_progress", "completed":
					count[t.Status]++
				default:
					return "", fmt.Errorf("item %d has the status %q: it must be pending, in_progress or completed", i+1, t.Status)
				}
			}
			if count["in_progress"] > 1 {
				return "", errors.New("more than one item is in progress: choose one")
			}
			return fmt.Sprintf("%d to do, %d in progress, %d completed\n", count["pending"], count["in_progress"], count["completed"]), nil
		},
	}
}
