package rows

import (
	"fmt"

	"github.com/pleat-dev/pleat/store"
)

// Versions are the versions of its tables that a kind of store can be opened with.
type Versions struct {
	Oldest int      // older tables are refused
	Steps  []string // SQL that ends with a semicolon; the first makes Oldest into the next version, and so on
}

// Newest is the version that the program writes.
func (v Versions) Newest() int { return v.Oldest + len(v.Steps) }

// From returns the steps that bring tables of a version up to date, none if they are. If there are such steps
// and they may not be taken, or if the program does not know the version, the error says what to do.
func (v Versions) From(version int, may bool) ([]string, error) {
	advice := `"pleat store migrate" brings it up to date`
	switch {
	case version < 1:
		return nil, fmt.Errorf("schema version %d: %w", version, store.ErrCorrupt)
	case version > v.Newest():
		advice = "use a newer version of pleat"
	case version < v.Oldest:
		advice = "export its sessions with the version of pleat that wrote it (pleat store export) " +
			"and import them here (pleat store import)"
	case version == v.Newest() || may:
		return v.Steps[version-v.Oldest:], nil
	}
	return nil, fmt.Errorf("schema version %d, this program knows %d: %w: %s", version, v.Newest(), store.ErrSchema,
		advice)
}
