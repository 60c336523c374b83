package library

import (
	"context"
	"fmt"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/transcript"
)

// Masks are what stands for results of tools in the next request of a session, by the IDs of
// their calls. Its folds are in the store, so that the next time it has the same and perhaps
// more. All else is sent as it is. Head is how many tokens of the window stand before the messages.
func (l *Library) Masks(ctx context.Context, info Info, window, head int) (map[string]string, error) {
	key, err := l.Bring(ctx, info)
	if err != nil {
		return nil, err
	}
	o := Roughly()
	o.Policy, o.Memory = resultsOnly(policy.Default()), openMemory
	o.Budget = fold.Budget{Window: window}
	o.Recall = func(handle string) string { return fmt.Sprintf("unfold(%q, session: %q)", handle, key.Session) }
	s, err := pleat.OpenSession(ctx, l.o.Store, key, o)
	if err != nil {
		return nil, err
	}
	inside.Of(s).SetHeadTokens(head)
	view, err := s.View(ctx, pleat.Turn{})
	if err != nil {
		return nil, err
	}
	masks := make(map[string]string)
	for _, m := range view.Messages {
		if len(m.Edits) == 0 {
			continue
		}
		source, err := s.Message(ctx, m.Source)
		if err != nil {
			return nil, err
		}
		for _, e := range m.Edits {
			if res, ok := source.Blocks().At(e.Block).(transcript.ToolResult); ok && !e.Drop {
				masks[res.CallID] = e.Text
			}
		}
	}
	return masks, nil
}

// resultsOnly is a policy that folds results of tools alone, each by itself.
func resultsOnly(p fold.Policy) fold.Policy {
	steps := p.AtRed
	p.Name, p.AtBirth, p.AtRed, p.OnRefusal = "results", nil, nil, nil
	for _, l := range steps {
		switch l.(type) {
		case lever.Aim, lever.KeepReread, lever.Supersede, lever.Mask:
			p.AtRed = append(p.AtRed, l)
		}
	}
	return p
}
