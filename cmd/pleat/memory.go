package main

import "runtime/debug"

// longMessage is the size from which a message is taken in by itself.
const longMessage = 4 << 20

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
