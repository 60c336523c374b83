package wire

import (
	"fmt"

	"github.com/pleat-dev/pleat"
)

// Checker makes the check that a session runs on views before they count: the view is
// written as the format writes it and held to the format's rules. Only what the whole
// transcript does not already break is the view's fault; a transcript that cannot be
// written at all has no rules left to break.
func Checker(encode func(*pleat.Request) ([]byte, error), check func(body []byte) ([]pleat.Violation, error)) func(pleat.View, *pleat.Transcript) error {
	run := func(msgs []pleat.Message) ([]pleat.Violation, error) {
		body, err := encode(&pleat.Request{Model: "checked", Messages: msgs, MaxTokens: 1})
		if err != nil {
			return nil, err
		}
		return check(body)
	}
	return func(v pleat.View, t *pleat.Transcript) error {
		whole := make([]pleat.Message, 0, t.Len())
		for _, m := range t.All() {
			whole = append(whole, m)
		}
		before, err := run(whole)
		if err != nil {
			return nil
		}
		msgs, err := v.Resolve(t.At)
		if err != nil {
			return err
		}
		after, err := run(msgs)
		if err != nil {
			return fmt.Errorf("write view: %w: %w", pleat.ErrIllegal, err)
		}
		if added := pleat.NewViolations(before, after); len(added) > 0 {
			return fmt.Errorf("%s: %w", added[0], pleat.ErrIllegal)
		}
		return nil
	}
}
