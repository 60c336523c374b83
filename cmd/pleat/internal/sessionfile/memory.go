package sessionfile

import (
	"context"
	"runtime/debug"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

// longMessage is the size above which a message is stored on its own.
const longMessage = 4 << 20

// collectFor sets up garbage collection for a session of so many bytes, unless the user did.
// A short command with a small session may leave four times as much garbage as it uses.
func collectFor(p *term.Console, size int64) {
	percent := 400
	if size > keptFile {
		percent = 40
	}
	if p.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// holdTo sets a memory limit for a large session, unless the user set one: some for the
// work itself, and some for each message. Beyond it garbage is collected more eagerly.
func holdTo(p *term.Console, size int64, messages int) {
	if size > keptFile && p.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(224<<20 + int64(messages)*500)
	}
}

// Scratch makes a store that lasts until drop is called: in memory, or in a temporary folder
// if the session is large.
func (f *File) Scratch(ctx context.Context) (st store.Store, drop func() error, err error) {
	if f.size <= keptFile {
		return store.NewMemory(), func() error { return nil }, nil
	}
	st, _, drop, err = stores.Temporary(ctx)
	return st, drop, err
}
