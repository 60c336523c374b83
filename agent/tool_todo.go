package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

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
				return "", fmt.Errorf("item %d has the status %q: it must be pending, in_progress or completed", i+1, t.Status)
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
