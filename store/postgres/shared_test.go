//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
	"github.com/pleat-dev/pleat/transcript"
)

// TestTenancy tries to cross from one tenant to another, also with rows that somebody
// has moved in the database.
func TestTenancy(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	st := open(t, url, nil)
	ctx := t.Context()
	alice, bob := store.SessionKey{Tenant: "alice", Session: "s"}, store.SessionKey{Tenant: "bob", Session: "s"}
	secret := store.Entry{Kind: "k", Label: "plans", Body: []byte("alice's secret"), Text: "alice keeps a secret"}
	put(t, st, alice, 0, secret)
	put(t, st, bob, 0, store.Entry{Kind: "k", Label: "lunch", Body: []byte("bob's lunch"), Text: "bob has lunch"})
	hash := transcript.HashOf(secret.Body)
	for _, key := range []store.SessionKey{
		bob,
		{Tenant: "", Session: "alice/s"},
		{Tenant: "alice/s"},
		{Tenant: "alice", Session: "S"},
		{Tenant: "Alice", Session: "s"},
		{Tenant: "alice\x00", Session: "s"},
		{Tenant: "' OR true --", Session: "s"},
		{Tenant: "%", Session: "s"},
	} {
		if _, err := st.Body(ctx, key, hash); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Body through %q: %v, want ErrNotFound", key, err)
		}
		if hits, err := st.Search(ctx, key, "secret alice", 5); err != nil || len(hits) != 0 {
			t.Errorf("Search through %q: %v, %v", key, hits, err)
		}
		if found, err := st.Find(ctx, key.Tenant, "k", "plans"); err != nil ||
			len(found) != 0 && key.Tenant != "alice" {
			t.Errorf("Find through %q: %v, %v", key, found, err)
		}
		for e, err := range st.Scan(ctx, key, 0) {
			if err != nil || e.BodyHash == hash {
				t.Errorf("Scan through %q: %v, %v", key, e, err)
			}
		}
		if key != bob {
			if err := st.Forget(ctx, key); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Forget through %q: %v, want ErrNotFound", key, err)
			}
		}
	}
	for info, err := range st.Sessions(ctx, "bob") {
		if err != nil || info.Key != bob {
			t.Errorf("sessions of bob: %v, %v", info, err)
		}
	}
	// That bob has the same body does not open alice's session, and what bob forgets,
	// alice keeps.
	put(t, st, bob, 1, secret)
	must(t, st.Forget(ctx, bob))
	if body, err := st.Body(ctx, alice, hash); err != nil || string(body) != string(secret.Body) {
		t.Errorf("alice's body after bob was forgotten: %q, %v", body, err)
	}
	// An entry that is put into another session by hand is damage there.
	put(t, st, bob, 0, store.Entry{Kind: "k", Body: []byte("x")})
	run(t, url, `DELETE FROM pleat.entry WHERE session = (SELECT id FROM pleat.session WHERE tenant = 'bob');
		INSERT INTO pleat.entry SELECT (SELECT id FROM pleat.session WHERE tenant = 'bob'),
			seq, moment, prev, time, size, kind, label, body, text, find, sum, data
		FROM pleat.entry WHERE session = (SELECT id FROM pleat.session WHERE tenant = 'alice');`)
	if _, err := st.Body(ctx, bob, hash); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Body through a row put there by hand: %v, want ErrCorrupt", err)
	}
	for e, err := range st.Scan(ctx, bob, 0) {
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Scan of a row put there by hand: %v, %v, want ErrCorrupt", e, err)
		}
	}
}

// TestDamage changes one thing at a time in the tables. Each must be noticed by whoever
// reads it, and by Verify.
func TestDamage(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	st := open(t, url, nil)
	key := func(n int) store.SessionKey { return store.SessionKey{Tenant: "t", Session: fmt.Sprint("s", n)} }
	for i, change := range []string{
		"UPDATE pleat.entry SET data = 'other' WHERE session = $1 AND seq = 2",
		"UPDATE pleat.entry SET kind = 'other' WHERE session = $1 AND seq = 2",
		"UPDATE pleat.entry SET time = time + 1 WHERE session = $1 AND seq = 2",
		"UPDATE pleat.entry SET body = decode(repeat('00', 32), 'hex') WHERE session = $1 AND seq = 2",
		"DELETE FROM pleat.entry WHERE session = $1 AND seq = 2",
		"DELETE FROM pleat.entry WHERE session = $1 AND seq = 3",
		"UPDATE pleat.session SET head = 2 WHERE id = $1",
		"UPDATE pleat.session SET kinds = '' WHERE id = $1",
		"DELETE FROM pleat.blob WHERE hash = (SELECT body FROM pleat.entry WHERE session = $1 AND seq = 2)",
		"UPDATE pleat.blob SET data = set_byte(data, 9, 255 - get_byte(data, 9)) WHERE hash = (SELECT body FROM " +
			"pleat.entry WHERE session = $1 AND seq = 2)",
		"UPDATE pleat.blob SET size = 1 << 30 WHERE hash = (SELECT body FROM pleat.entry WHERE session = $1 AND seq = 2)",
	} {
		key := key(i)
		put(t, st, key, 0, numbered(key, 1), numbered(key, 2), numbered(key, 3))
		run(t, url, change, sessionID(t, url, key))
		noticed := readAll(t.Context(), st, key)
		if !errors.Is(noticed, store.ErrCorrupt) || !strings.Contains(noticed.Error(), "127.0.0.1") {
			t.Errorf("after %s: %v, want ErrCorrupt with the store's name", change, noticed)
		}
		verified := 0
		for damage, err := range st.Verify(t.Context()) {
			must(t, err)
			t.Logf("%s: %+v", change, damage)
			verified++
		}
		if verified == 0 {
			t.Errorf("after %s: Verify found nothing", change)
		}
		if err := st.Forget(t.Context(), key); err != nil {
			t.Errorf("Forget of a damaged session: %v", err)
		}
		run(t, url, "DELETE FROM pleat.blob") // what a damaged entry no longer names
	}
}

// readAll reads a session and its bodies.
func readAll(ctx context.Context, store store.Store, key store.SessionKey) error {
	for e, err := range store.Scan(ctx, key, 0) {
		if err != nil {
			return err
		}
		if _, err := store.Body(ctx, key, e.BodyHash); err != nil {
			return err
		}
	}
	return nil
}

func sessionID(t testing.TB, url string, key store.SessionKey) (id int64) {
	t.Helper()
	conn := connect(t, url)
	if err := conn.QueryRow(
		t.Context(), "SELECT id FROM pleat.session WHERE tenant = $1 AND name = $2", []byte(key.Tenant),
		[]byte(key.Session)).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestMakeTables opens many stores on an empty database at once. Tables of another version are
// refused.
func TestMakeTables(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			st, err := postgres.Open(t.Context(), url+"&pool_max_conns=2", nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer st.Close()
			_, err = st.Append(t.Context(), store.SessionKey{Session: fmt.Sprint(i)}, 0, store.Entry{Kind: "k"})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	run(t, url, `CREATE ROLE plain LOGIN; GRANT USAGE ON SCHEMA pleat TO plain;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pleat TO plain;
		GRANT USAGE ON ALL SEQUENCES IN SCHEMA pleat TO plain`)
	plain := open(t, strings.Replace(url, "pleat@", "plain@", 1), nil) // no right to make tables
	if _, err := plain.Append(t.Context(), store.SessionKey{Session: "plain"}, 0, store.Entry{Kind: "k"}); err != nil {
		t.Error(err)
	}
	for version, advice := range map[int]string{
		1: "export its sessions with the version of pleat that wrote it", 1000: "use a newer version",
	} {
		run(t, url, fmt.Sprint("UPDATE pleat.version SET version = ", version))
		if _, err := postgres.Open(t.Context(), url, nil); !errors.Is(err, store.ErrSchema) ||
			!strings.Contains(err.Error(), advice) {
			t.Errorf("Open of schema version %d: %v, want ErrSchema and %s", version, err, advice)
		}
	}
}

// TestOpenErrors: what cannot be opened says why, and never the password.
func TestOpenErrors(t *testing.T) {
	c := pgtest.Shared(t)
	port, err := pgtest.FreePort()
	must(t, err)
	for name, test := range map[string]struct{ url, want string }{
		"nobody there":   {fmt.Sprintf("postgres://u:hunter2@127.0.0.1:%d/d", port), "is it running"},
		"no database":    {strings.Replace(c.URL("nosuch"), "pleat@", "pleat:hunter2@", 1), "CREATE DATABASE"},
		"no role":        {strings.Replace(c.URL("postgres"), "pleat@", "nobody:hunter2@", 1), "refuses the user"},
		"slash":          {"postgres://u:hunter2/x@127.0.0.1/d", "%XX"},
		"at and slash":   {"postgres://u:hunter2@hunter2/x@127.0.0.1/d", "%XX"},
		"at":             {"postgres://u:p@hunter2@127.0.0.1/d", "%40"},
		"at, no path":    {"postgres://u:p@hunter2@127.0.0.1", "%40"},
		"one slash":      {"postgres:/u:hunter2@127.0.0.1/d", "postgres://"},
		"no slash":       {"postgresql:u:hunter2@127.0.0.1/d", "postgres://"},
		"three slashes":  {"postgres:///u:hunter2@127.0.0.1/d", "postgres://"},
		"percent":        {"postgres://u:hunter2%@127.0.0.1/d", "%XX"},
		"another scheme": {"mysql://u:hunter2@127.0.0.1/d", "postgres://"},
		"bad port":       {"postgres://u:hunter2@127.0.0.1:port/d", "postgres://"},
		"not durable":    {c.URL("postgres") + "&synchronous_commit=off", "synchronous_commit"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := postgres.Open(ctx, test.url, nil)
		cancel()
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q and no password", name, err, test.want)
		}
		if name == "nobody there" && !errors.Is(err, postgres.ErrUnreachable) {
			t.Errorf("%s: %v, want ErrUnreachable", name, err)
		}
	}
}

// TestFull lets the server run into a limit of the size of its files. What does not fit
// is ErrFull and leaves nothing behind; with room again, the store goes on.
func TestFull(t *testing.T) {
	c := pgtest.Own(t, 20<<20) // more than a segment of the log
	url := c.Database(t)
	st := open(t, url, &postgres.Options{})
	random := rand.NewChaCha8([32]byte{})
	key, last := store.SessionKey{Session: "large"}, uint64(0)
	var err error
	for last < 100 && err == nil {
		body := make([]byte, 1<<20)
		random.Read(body)
		var now uint64
		if now, err = st.Append(t.Context(), key, last, store.Entry{Kind: "k", Body: body}); err == nil {
			last = now
		}
	}
	if !errors.Is(err, store.ErrFull) {
		t.Fatalf("after %d entries: %v, want ErrFull", last, err)
	}
	t.Logf("after %d entries of 1 MB: %v", last, err)
	if err := readAll(t.Context(), st, key); err != nil {
		t.Error(err)
	}
	if now, err := st.Append(t.Context(), key, last, store.Entry{Kind: "k"}); err != nil || now != last+1 {
		t.Errorf("Append of something small: %d, %v", now, err)
	}
	isWhole(t, st)
	must(t, st.Forget(t.Context(), key))
	run(t, url, "VACUUM pleat.blob")
	other := store.SessionKey{Session: "other"}
	for i := range uint64(5) { // with room again
		put(t, st, other, i, store.Entry{Kind: "k", Body: fmt.Appendf(make([]byte, 1<<20), "%d", i)})
	}
	if err := readAll(t.Context(), st, other); err != nil {
		t.Error(err)
	}
}

// TestGrants: the role of the example deployment can do all that a proxy does, and
// nothing to the tables themselves.
func TestGrants(t *testing.T) {
	text, err := os.ReadFile("../../deploy/grants.sql")
	must(t, err)
	url := pgtest.Shared(t).Database(t)
	open(t, url, nil)
	run(t, url, "CREATE ROLE proxy LOGIN")
	grants := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "GRANT") || strings.HasPrefix(line, "REVOKE") {
			run(t, url, line)
			grants++
		}
	}
	if grants < 3 {
		t.Fatalf("only %d grants are in the file", grants)
	}
	url = strings.Replace(url, "pleat@", "proxy@", 1)
	st := open(t, url, nil)
	key := store.SessionKey{Tenant: "t", Session: "s"}
	put(t, st, key, 0, numbered(key, 1))
	if hits, err := st.Search(t.Context(), key, "entry", 1); err != nil || len(hits) != 1 {
		t.Errorf("Search: %v, %v", hits, err)
	}
	if _, ok, err := st.Claim(t.Context(), key, "digest", time.Hour); err != nil || !ok {
		t.Errorf("Claim: %v, %v", ok, err)
	}
	isWhole(t, st)
	if err := st.Forget(t.Context(), key); err != nil {
		t.Error(err)
	}
	for _, text := range []string{
		"DROP TABLE pleat.entry", "DELETE FROM pleat.version", "CREATE TABLE pleat.mine(x int)",
		"ALTER TABLE pleat.blob ADD y int",
	} {
		if err := tryRun(t, url, text); err == nil {
			t.Errorf("the role may %s", text)
		}
	}
}
