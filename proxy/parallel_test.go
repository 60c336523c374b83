package proxy

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

// lines is a log that several goroutines write.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// Sub-agents that begin alike and at once share a session until they part. What they are
// answered is recorded, whoever is faster.
func TestParallelAlike(t *testing.T) {
	var log lines
	st, up := store.NewMemory(), serve(t, upstreamtest.New(upstreamtest.Options{Calls: 4, Bytes: 2_000}))
	o := Options{Store: st, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	url := startAt(t, up, o)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			a := newAgent(protocol.Messages, url, "Do all the steps.")
			for {
				more, err := a.step()
				if err != nil {
					t.Error(err)
				}
				if !more || err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	if n := strings.Count(log.String(), "could not be"); n > 0 {
		t.Errorf("%d times something could not be stored:\n%.2000s", n, log.String())
	}
}
