package agent

import (
	"context"
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
)

// snipTool lets the model fold the middle of the conversation by itself, where its policy
// does so before every request; nil: the policy does not.
func snipTool(p fold.Policy, child bool) []Tool {
	for _, l := range p.EveryTurn {
		if s, ok := l.(lever.Snip); ok && !(s.Main && child) {
			return []Tool{snip(s)}
		}
	}
	return nil
}

func snip(s lever.Snip) Tool {
	type args struct{ Keep int }
	return NewTool(model.Tool{
		Name: "snip",
		Description: "Takes the middle of this conversation out of view: its first messages and the newest ones stay. " +
			"Use it when older work no longer matters for what you do now. What is taken out stays on record.",
		Schema: `{"type":"object","properties":{` +
			`"keep":{"type":"integer","description":"How many of the newest messages stay; 10 if you do not say."}}}`,
	}, EffectNone, nil, func(ctx context.Context, c Call, in args) (string, error) {
		own := s
		own.Tail = 10
		if in.Keep > 0 {
			own.Tail = in.Keep
		}
		own.Above = own.Head + own.Tail
		plan, err := c.Session().Pull(ctx, own)
		if err != nil {
			return "", err
		}
		if plan.IsEmpty() {
			return "[nothing to snip]\n", nil
		}
		return fmt.Sprintf("[snipped: %d → %d tokens]\n", plan.Before, plan.After), nil
	})
}
