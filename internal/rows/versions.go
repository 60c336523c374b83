package rows

import (
	"fmt"

	"github.com/pleat-dev/pleat/store"
)

// CheckVersion returns an error that says what to do unless tables have the version that the program knows.
func CheckVersion(version, known int) error {
	advice := "use a newer version of pleat"
	switch {
	case version < 1:
		return fmt.Errorf("schema version %d: %w", version, store.ErrCorrupt)
	case version == known:
		return nil
	case version < known:
		advice = "export its sessions with the version of pleat that wrote it (pleat store export) " +
			"and import them here (pleat store import)"
	}
	return fmt.Errorf("schema version %d, this program knows %d: %w: %s", version, known, store.ErrSchema, advice)
}
