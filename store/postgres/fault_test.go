//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/internal/killtest"
	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
)

// writers append numbered entries to sessions of their own until told to stop, and
// remember what they were told is stored. One session is written by all of them.
type writers struct {
	stores []*postgres.Store
	wg     sync.WaitGroup
	stop   context.CancelFunc
	count  int
	acked  []atomic.Uint64
	total  atomic.Uint64
}

func writerKey(n int) store.SessionKey {
	return store.SessionKey{Tenant: fmt.Sprint("tenant", n%3), Session: fmt.Sprint("writer", n)}
}

func startWriters(t *testing.T, count int, stores ...*postgres.Store) *writers {
	w := &writers{stores: stores, count: count, acked: make([]atomic.Uint64, count)}
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	for n := range count {
		w.wg.Go(func() {
			key, last := writerKey(n), uint64(0)
			for i := 0; ctx.Err() == nil; i++ {
				entries := []store.Entry{numbered(key, last+1)}
				if i%4 == 0 {
					entries = append(entries, numbered(key, last+2))
				}
				now, err := stores[(n+i)%len(stores)].Append(t.Context(), key, last, entries...)
				if err != nil {
					t.Errorf("%v after %d: %v", key, last, err)
					return
				}
				last = now
				w.acked[n].Store(last)
				w.total.Add(uint64(len(entries)))
			}
		})
	}
	return w
}

// finish stops the writers and checks that everything is there once.
func (w *writers) finish(t *testing.T) {
	w.stop()
	w.wg.Wait()
	for n := range w.count {
		if got, want := checkNumbered(t, w.stores[0], writerKey(n)), w.acked[n].Load(); got != want {
			t.Errorf("%v has %d entries, %d were acknowledged", writerKey(n), got, want)
		}
	}
	isWhole(t, w.stores[0])
}

// wait waits until more entries were acknowledged.
func (w *writers) wait(t *testing.T, more uint64) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for until := w.total.Load() + more; w.total.Load() < until; {
		if time.Now().After(deadline) || t.Failed() {
			t.Fatal("no more entries are acknowledged")
		}
		time.Sleep(time.Millisecond) // polls; nothing depends on how long
	}
}

// TestKilledServer kills the server in the middle of writes and starts it again. Nobody
// is told: the stores find it again by themselves, lose nothing and store nothing twice.
func TestKilledServer(t *testing.T) {
	kills := 20
	if testing.Short() {
		kills = 3
	}
	c := pgtest.Own(t, 0)
	url := c.Database(t)
	w := startWriters(t, 6, open(t, url, nil), open(t, url, nil))
	for i := range kills {
		w.wait(t, 20+uint64(i*7%30))
		c.Kill()
		must(t, c.Start())
	}
	w.wait(t, 20)
	w.finish(t)
	t.Logf("%d kills, %d entries acknowledged", kills, w.total.Load())
}

// TestCutConnections ends connections on the server while they are used.
func TestCutConnections(t *testing.T) {
	cuts := 200
	if testing.Short() {
		cuts = 20
	}
	url := pgtest.Shared(t).Database(t)
	w := startWriters(t, 4, open(t, url, nil), open(t, url, nil))
	conn := connect(t, url)
	ended := 0
	for range cuts {
		w.wait(t, 3)
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`).Scan(&n)
		must(t, err)
		ended += n
	}
	w.finish(t)
	t.Logf("%d connections cut, %d entries acknowledged", ended, w.total.Load())
}

// TestPoolExhausted: more callers than connections wait for their turn, and say so when
// it does not come.
func TestPoolExhausted(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	st := open(t, url+"&pool_max_conns=2", nil)
	w := startWriters(t, 20, st)
	w.wait(t, 200)
	w.finish(t)

	// Long enough for two connections to be made on a busy machine, so that only those
	// wait for whom there is none.
	impatient := open(t, url+"&pool_max_conns=2", &postgres.Options{PoolTimeout: time.Second})
	key := store.SessionKey{Session: "held"}
	put(t, impatient, key, 0, store.Entry{Kind: "k"})
	release := holdSession(t, url, key)
	var wg sync.WaitGroup
	var busy atomic.Int32
	for range 6 {
		wg.Go(func() {
			_, err := impatient.Append(t.Context(), key, 1, store.Entry{Kind: "k"})
			if errors.Is(err, postgres.ErrBusy) {
				if busy.Add(1) == 4 {
					release() // the two that have a connection wait for the session
				}
			} else if err != nil && !errors.Is(err, store.ErrConflict) {
				t.Errorf("Append without a connection: %v, want ErrBusy", err)
			}
		})
	}
	wg.Wait()
	if busy.Load() != 4 {
		t.Errorf("%d were told that the store is busy, want 4", busy.Load())
	}
	if _, err := impatient.Append(t.Context(), key, 2, store.Entry{Kind: "k"}); err != nil {
		t.Errorf("Append afterwards: %v", err)
	}
}

// holdSession locks a session's row until it is released.
func holdSession(t *testing.T, url string, key store.SessionKey) (release func()) {
	t.Helper()
	id := sessionID(t, url, key)
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	if _, err := conn.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "SELECT 1 FROM pleat.session WHERE id = $1 FOR UPDATE", id); err != nil {
		t.Fatal(err)
	}
	return func() { _ = conn.Close(context.Background()) }
}

// TestSlowServer: a statement that takes too long is ended by the server, with an error
// that says so; nothing is written, and the store goes on.
func TestSlowServer(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	open(t, url, nil) // makes the tables, which may take longer than what follows allows
	st := open(t, url, &postgres.Options{StatementTimeout: time.Second, RetryTimeout: 300 * time.Millisecond})
	key := store.SessionKey{Session: "slow"}
	put(t, st, key, 0, store.Entry{Kind: "k", Body: []byte("b")})
	release := holdSession(t, url, key)
	if _, err := st.Append(t.Context(), key, 1, store.Entry{Kind: "k"}); !errors.Is(err, postgres.ErrBusy) {
		t.Errorf("Append to a session that another holds: %v, want ErrBusy", err)
	}
	release()
	run(t, url, `CREATE FUNCTION pleat.slow() RETURNS trigger LANGUAGE plpgsql
			AS 'BEGIN PERFORM pg_sleep(5); RETURN NEW; END';
		CREATE TRIGGER slow BEFORE INSERT ON pleat.entry FOR EACH ROW EXECUTE FUNCTION pleat.slow()`)
	if _, err := st.Append(t.Context(), key, 1, store.Entry{Kind: "k"}); !errors.Is(err, postgres.ErrBusy) {
		t.Errorf("Append with a slow statement: %v, want ErrBusy", err)
	}
	run(t, url, "DROP TRIGGER slow ON pleat.entry")
	if now, err := st.Append(t.Context(), key, 1, store.Entry{Kind: "k"}); err != nil || now != 2 {
		t.Errorf("Append afterwards: %d, %v", now, err)
	}
}

// TestServerGone: without a server a call gives up in time, with a hint; and works again
// when the server does.
func TestServerGone(t *testing.T) {
	c := pgtest.Own(t, 0)
	url := c.Database(t)
	st := open(t, url, &postgres.Options{RetryTimeout: 300 * time.Millisecond})
	key := store.SessionKey{Session: "s"}
	put(t, st, key, 0, numbered(key, 1))
	c.Kill()
	if _, err := st.Append(t.Context(), key, 1, numbered(key, 2)); !errors.Is(err, postgres.ErrUnreachable) {
		t.Errorf("Append without a server: %v, want ErrUnreachable", err)
	}
	if err := readAll(t.Context(), st, key); !errors.Is(err, postgres.ErrUnreachable) {
		t.Errorf("Scan without a server: %v, want ErrUnreachable", err)
	}
	must(t, c.Start())
	if _, err := st.Append(t.Context(), key, 1, numbered(key, 2)); err != nil {
		t.Error(err)
	}
	if n := checkNumbered(t, st, key); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

func openURL(ctx context.Context, url string) (store.Store, error) {
	return postgres.Open(ctx, url, nil)
}

func TestKill(t *testing.T) {
	killtest.Test(t, openURL, func() string { return pgtest.Shared(t).Database(t) })
}
