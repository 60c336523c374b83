package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// longMessage is the size above which a message is stored on its own.
const longMessage = 4 << 20

// How much garbage there may be beside what is in use, in per cent: much while that is
// little, because commands are short; little where a session is large.
const (
	usualGC = 400
	largeGC = 40
)

// collectFor sets garbage collection up for a session of so many bytes, unless the user did.
func (p *program) collectFor(size int64) {
	switch {
	case p.getenv("GOGC") != "":
	case size > keptFile:
		debug.SetGCPercent(largeGC)
	default:
		debug.SetGCPercent(usualGC)
	}
}

// What a large session may take in memory before garbage is collected more eagerly: some for
// the work itself, and what is known of each message.
const (
	memoryBase       = 224 << 20
	memoryPerMessage = 500
)

// holdTo bounds the garbage beside a session of so many bytes and messages, unless the user
// set a bound. It bounds nothing else: what is in use stays.
func (p *program) holdTo(size int64, messages int) {
	if size > keptFile && p.getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryBase + int64(messages)*memoryPerMessage)
	}
}

// scratch makes a store that lasts until drop is called: in memory, or in a temporary folder
// if the session is large.
func (f *sessionFile) scratch() (st store.Store, drop func(), err error) {
	if f.size <= keptFile {
		return store.NewMemory(), func() {}, nil
	}
	dir, err := os.MkdirTemp("", "pleat-*") // which nobody else can read
	if err != nil {
		return nil, nil, fmt.Errorf("make a temporary store: %w", err)
	}
	db, err := sqlite.Open(filepath.Join(dir, "pleat.db"), &sqlite.Options{IndexOnSearch: true})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, nil, fmt.Errorf("make a temporary store: %w", err)
	}
	return db, func() {
		_ = db.Close()
		_ = os.RemoveAll(dir)
	}, nil
}
