//go:build unix

package postgres_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
)

// link stands between a store and the server. Armed, it cuts the connection that sends
// the next commit: before the server gets it, or after the server has carried it out
// but before its answer.
type link struct {
	net.Listener
	server string
	mode   atomic.Int32
	cuts   atomic.Int32
	moved  func() // waits until the server has carried out the commit
}

const (
	cutNothing = iota
	cutRequest
	cutAnswer
	cutThenOther // the request is cut, and then another writer comes first
)

func newLink(t *testing.T, c *pgtest.Cluster) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	k := &link{Listener: l, server: fmt.Sprintf("127.0.0.1:%d", c.Port())}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { k.serve(client) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return k
}

// serve passes bytes on. A commit is known by the entries, which the store sends in the
// same packet.
func (k *link) serve(client net.Conn) {
	server, err := net.Dial("tcp", k.server)
	if err != nil {
		client.Close()
		return
	}
	defer server.Close()
	defer client.Close()
	var deaf, hold atomic.Bool
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				if !hold.Load() {
					client.Close()
				}
				return
			}
			if !deaf.Load() {
				if _, err := client.Write(buf[:n]); err != nil {
					return
				}
			}
		}
	}()
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		if err != nil {
			break
		}
		mode := k.mode.Load()
		if mode != cutNothing && strings.Contains(string(buf[:n]), "entry for the link") &&
			k.mode.CompareAndSwap(mode, cutNothing) {
			k.cuts.Add(1)
			if mode == cutRequest {
				break
			}
			if mode == cutThenOther {
				hold.Store(true) // the store learns of it when the other writer is done
				server.Close()   // ends the transaction
				k.moved()
				break
			}
			deaf.Store(true)
			if _, err := server.Write(buf[:n]); err == nil {
				k.moved()
			}
			break
		}
		if _, err := server.Write(buf[:n]); err != nil {
			break
		}
	}
	server.Close()
	<-answers
}

// TestLostCommit loses the connection around a commit. The store finds out what became
// of it: an entry is there once, and a conflict with another writer stays a conflict.
func TestLostCommit(t *testing.T) {
	c := pgtest.Shared(t)
	direct := c.Database(t)
	k := newLink(t, c)
	url := strings.Replace(direct, fmt.Sprintf(":%d/", c.Port()), fmt.Sprintf(":%d/", k.Addr().(*net.TCPAddr).Port), 1)
	st, other := open(t, url, nil), open(t, direct, nil)
	key := store.SessionKey{Tenant: "t", Session: "s"}
	head := func() (n uint64) {
		for _, err := range other.Scan(t.Context(), key, 0) {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		return n
	}
	entry := func(n uint64) store.Entry {
		return store.Entry{
			Kind: "k",
			Data: fmt.Appendf(nil, "entry for the link %d", n),
			Body: fmt.Appendf(nil, "body %d", n),
		}
	}
	for i := range 12 {
		last := head()
		k.moved = func() {
			for deadline := time.Now().Add(10 * time.Second); head() == last && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond) // polls
			}
		}
		mode := int32(cutRequest + i%2)
		k.mode.Store(mode)
		now, err := st.Append(t.Context(), key, last, entry(last+1), entry(last+2))
		if err != nil || now != last+2 || head() != last+2 {
			t.Fatalf("cut %d: Append = %d, %v; %d entries, want %d", mode, now, err, head(), last+2)
		}
	}
	// Another writer puts the very same entry there before the store can try again.
	last := head()
	k.moved = func() {
		if _, err := other.Append(t.Context(), key, last, entry(last+1)); err != nil {
			t.Error(err)
		}
	}
	k.mode.Store(cutThenOther)
	if _, err := st.Append(t.Context(), key, last, entry(last+1)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Append of what another writer appended: %v, want ErrConflict", err)
	}
	if n := head(); n != last+1 {
		t.Errorf("%d entries, want %d", n, last+1)
	}
	if k.cuts.Load() == 0 {
		t.Error("nothing was cut")
	}
	t.Logf("%d commits cut", k.cuts.Load())
}
