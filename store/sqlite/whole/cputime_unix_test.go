//go:build unix

package whole_test

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that the test has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
