package wire

import (
	"fmt"

	"github.com/pleat-dev/pleat"
)

// Checker makes the check that a session runs on views before they count: the view is
// written as the format writes it and held to the format's rules. Only what the whole
// transcript does not already break is the view's fault; a transcript that cannot be
// written at all has no rules left to break. The transcript may be far larger than the
// view, so it is read only if the view breaks a rule.
func Checker(encode func(*pleat.Request) ([]byte, error), check func(body []byte) ([]pleat.Violation, error)) func(pleat.View, *pleat.Transcript) error {
	run := func(v pleat.View, t *pleat.Transcript) ([]pleat.Violation, error) {
		msgs, err := v.Resolve(t.At)
		if err != nil {
			return nil, err
		}
		body, err := encode(&pleat.Request{Model: "checked", Messages: msgs, MaxTokens: 1})
		if err == nil {
			var bad []pleat.Violation
			if bad, err = check(body); err == nil {
				return bad, nil
			}
		}
		return nil, fmt.Errorf("write view: %w: %w", pleat.ErrIllegal, err)
	}
	return func(v pleat.View, t *pleat.Transcript) error {
		after, err := run(v, t)
		if err == nil && len(after) == 0 {
			return nil
		}
		before, wrong := run(pleat.Whole(t.Len()), t)
		if wrong != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if added := pleat.NewViolations(before, after); len(added) > 0 {
			return fmt.Errorf("%s: %w", added[0], pleat.ErrIllegal)
		}
		return nil
	}
}
