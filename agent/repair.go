package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/transcript"
)

// repair answers the calls that an earlier run left without results. The loop stores an
// answer before it runs its calls, and all results of a round at once, so these calls are
// at the end of the transcript and any of them may have run.
func (a *Agent) repair(ctx context.Context) error {
	var last []transcript.Message
	for i := a.session.Len() - 1; i >= 0; i-- {
		m, err := a.session.Message(ctx, i)
		if err != nil {
			return fmt.Errorf("look for interrupted calls: %w", err)
		}
		if m.Role() != transcript.RoleAssistant {
			break
		}
		last = slices.Insert(last, 0, m)
	}
	repaired := transcript.Repair(last, func(c transcript.ToolCall) string {
		return interrupted(c.Name, a.tools[c.Name], "the program ended before it answered")
	})
	if err := a.session.Append(ctx, repaired[len(last):]...); err != nil {
		return fmt.Errorf("answer interrupted calls: %w", err)
	}
	return nil
}

// interrupted tells the model of a call that started and has no result.
func interrupted(name string, tool *Tool, why string) string {
	if tool != nil && tool.Effect == EffectNone {
		return fmt.Sprintf("[interrupted] %s has no result: %s. It changes nothing: call it again if you still need it.", name, why)
	}
	return fmt.Sprintf("[interrupted] %s has no result: %s. It may or may not have taken effect, wholly or in part. Do not run it again blindly: look first what it did.", name, why)
}
