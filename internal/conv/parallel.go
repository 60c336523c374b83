package conv

import (
	"sync"
	"sync/atomic"
)

// InParallel calls do for each i < n, in at most that many goroutines. All calls have
// returned when Wait of the group returns. If workers or n is less than 2, InParallel makes
// the calls itself before it returns.
func InParallel(n, workers int, do func(i int)) *sync.WaitGroup {
	var working sync.WaitGroup
	if workers = min(workers, n); workers < 2 {
		for i := range n {
			do(i)
		}
		return &working
	}
	var next atomic.Int64
	for range workers {
		working.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	return &working
}
