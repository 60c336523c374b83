package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// leastMemory is what a proxy may hold at least, where nobody said how much.
const leastMemory = 256 << 20

// boundMemory says how much the proxy may hold: as much as the flag says, else a quarter of the
// machine's memory or of what the container may use. The garbage collector is told, so that
// what is let go is free soon.
func (f *proxyFlags) boundMemory(getenv func(string) string) int64 {
	limit := int64(f.memory)
	if limit == 0 {
		limit = max(machineMemory()/4, leastMemory)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit + limit/4)
	}
	return limit
}

// machineMemory is how much memory this process can have; 0: that is not known.
func machineMemory() int64 {
	var least int64
	note := func(n int64, err error) {
		if err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if data, err := os.ReadFile(name); err == nil {
			note(strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64))
		}
	}
	data, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			note(n<<10, err)
		}
	}
	return least
}
