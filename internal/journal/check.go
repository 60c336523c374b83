package journal

import (
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// Check refuses messages that cannot be kept: blocks that nothing reads, roles that nobody has.
func Check(m transcript.Message) error {
	if err := checkBlocks(m.Blocks()); err != nil {
		return err
	}
	return checkRole(m)
}

// checkRole refuses a message that nobody speaks, and a user's that says nothing, which providers refuse.
// What came off a wire is what it is.
func checkRole(m transcript.Message) error {
	if m.Role() == transcript.RoleUser && m.Format() == transcript.FormatNone && saysNothing(m) {
		return errors.New("the user says nothing in it: leave it out")
	}
	switch m.Role() {
	case transcript.RoleSystem, transcript.RoleDeveloper, transcript.RoleUser, transcript.RoleAssistant,
		transcript.RoleTool:
		return nil
	}
	if m.Format() != transcript.FormatNone {
		return nil
	}
	const roles = "system, developer, user, assistant and tool are the roles: see User, Assistant and Results"
	if m.Role() == "" {
		return errors.New("it has no role; " + roles)
	}
	return fmt.Errorf("it has the role %q; %s", m.Role(), roles)
}

func saysNothing(m transcript.Message) bool {
	for _, b := range m.Blocks().All() {
		if t, ok := b.(transcript.Text); !ok || !text.Blank(t.Text.String()) {
			return false
		}
	}
	return true
}

// checkBlocks refuses blocks of types that nothing reads: their content would be gone.
func checkBlocks(blocks transcript.Blocks) error {
	for i, b := range blocks.All() {
		var err error
		switch b := b.(type) {
		case transcript.Text, transcript.Thinking, transcript.ToolCall, transcript.Image, transcript.Opaque:
		case transcript.ToolResult:
			err = checkBlocks(b.Parts)
		case nil:
			err = errors.New("it is nil")
		default:
			err = fmt.Errorf("%T is no block of package transcript", b)
		}
		if err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	return nil
}
