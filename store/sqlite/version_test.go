package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// frozen copies the file of version 3 that is kept for good.
func frozen(t *testing.T) (path string) {
	t.Helper()
	file, err := os.ReadFile("testdata/version3.sqlite")
	must(t, err)
	path = filepath.Join(t.TempDir(), "pleat.db")
	must(t, os.WriteFile(path, file, 0o600))
	return path
}

// frozenKey has encrypted the session "sealed" in it.
var frozenKey = bytes.Repeat([]byte{7}, 32)

// checkFrozen reads all sessions of a store that was frozen, every byte of them.
func checkFrozen(t *testing.T, path string) {
	t.Helper()
	want, err := os.ReadFile("../testdata/frozen.txt")
	must(t, err)
	st := sealed(t, path, frozenKey)
	defer st.Close()
	var b strings.Builder
	tenants, err := st.Tenants(t.Context())
	must(t, err)
	for _, tenant := range tenants {
		for info, err := range st.Sessions(t.Context(), tenant) {
			must(t, err)
			fmt.Fprintf(&b, "%q %q\n", info.Key.Tenant, info.Key.Session)
			for e, err := range st.Scan(t.Context(), info.Key, 1) {
				if err == nil && e.BodySize > 0 {
					e.Body, err = st.Body(t.Context(), info.Key, e.BodyHash)
				}
				must(t, err)
				if len(e.Body) > 1000 {
					e.Body = fmt.Appendf(nil, "%d bytes %v", e.BodySize, transcript.HashOf(e.Body))
				}
				fmt.Fprintf(&b, "%d %q %q %d %q %q\n", e.Seq, e.Kind, e.Label, e.Time.UnixMilli(), e.Data, e.Body)
			}
		}
	}
	difftest.Equal(t, string(want), b.String(), path)
	for damage, err := range st.Verify(t.Context()) {
		t.Errorf("%s: %v, %v", path, damage, err)
	}
}

func version(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	must(t, db.QueryRow("PRAGMA user_version").Scan(&n))
	return n
}

// copies lists the copies that were made before a store was brought up to date. There is nothing else beside it.
func copies(t *testing.T, path string) []string {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	found, err := sqlite.Copies(path) // later: another process may be making one
	must(t, err)
	for _, f := range files {
		name := filepath.Join(filepath.Dir(path), f.Name())
		if !slices.Contains(append(found, path, path+"-wal", path+"-shm"), name) && !strings.Contains(name, ".new-") {
			t.Errorf("%s is no copy", name)
		}
	}
	return found
}

// nextVersion makes up a next version of the schema until restore is called.
func nextVersion(t *testing.T, step string) (restore func()) {
	before := *sqlite.Versions
	sqlite.Versions.Steps = append(before.Steps[:len(before.Steps):len(before.Steps)], step)
	restore = func() { *sqlite.Versions = before }
	t.Cleanup(restore)
	return restore
}

// Stores of every version since the first release are read, searched and written.
func TestFrozen(t *testing.T) {
	path := frozen(t)
	checkFrozen(t, path)
	st, forms := open(t, path), store.SessionKey{Tenant: "team", Session: "forms"}
	for word, want := range map[string]uint64{"ocelot": 9, "walrus": 10, "aardvark": 11, "badgers": 12} {
		if hits, err := st.Search(t.Context(), forms, word, 1); err != nil || len(hits) != 1 || hits[0].Seq != want {
			t.Errorf("Search of %s: %v, %v", word, hits, err)
		}
	}
	found, err := st.Find(t.Context(), "team", "prefix", "twice")
	if err != nil || len(found) != 1 || string(found[0].Entry.Data) != "second" || found[0].Key.Session != "fork" {
		t.Errorf("Find: %v, %v", found, err)
	}
	s, err := pleat.OpenSession(t.Context(), st, store.SessionKey{Session: "folded"},
		&pleat.Options{Wire: anthropic.Messages(model.Model{})})
	must(t, err)
	if s.Len() != 13 || len(s.Folds()) != 3 || len(s.Pins()) != 1 || len(s.Notes()) != 1 {
		t.Errorf("%d messages, %d folds, %q, %v", s.Len(), len(s.Folds()), s.Pins(), s.Notes())
	}
	for _, f := range s.Folds() {
		got, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: f.Handle})
		if err != nil || !strings.Contains(got.Text(), "line 39: the limit is ") {
			t.Errorf("unfold %s: %+v, %v", f.Handle, got, err)
		}
	}
	st = sealed(t, path, frozenKey)
	put(t, st, forms, 12, store.Entry{Kind: "k"})
	must(t, st.Forget(t.Context(), forms))
}

// A store of an older version is brought up to date once, however many open it, and a copy
// of it is kept. Who opened it before writes no more.
func TestMigrate(t *testing.T) {
	path := frozen(t)
	older := sealed(t, path, frozenKey)
	restore := nextVersion(t, "CREATE TABLE extra(x); INSERT INTO extra SELECT count(*) FROM session;")
	if _, err := sqlite.Open(path, &sqlite.Options{ReadOnly: true}); !errors.Is(err, store.ErrSchema) ||
		!strings.Contains(err.Error(), "schema version 3, this program knows 4: store has another schema: "+
			`"pleat store migrate" brings it up to date`) {
		t.Errorf("opened to be read: %v", err)
	}
	if got := copies(t, path); len(got) != 0 {
		t.Errorf("copies before: %q", got)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			st, err := sqlite.Open(path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			st.Close()
		})
	}
	wg.Wait()
	checkFrozen(t, path)
	var rows, sessions int
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	must(t, db.QueryRow("SELECT count(*), max(x) FROM extra").Scan(&rows, &sessions))
	if rows != 1 || sessions != 4 || version(t, path) != 4 {
		t.Errorf("%d rows, %d sessions, version %d; want 1, 4, 4", rows, sessions, version(t, path))
	}
	restore()
	key := store.SessionKey{Session: "folded"}
	if _, err := older.Append(t.Context(), key, 18, store.Entry{Kind: "k"}); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Append by an older program: %v, want ErrSchema", err)
	}
	if err := older.Forget(t.Context(), key); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Forget by an older program: %v, want ErrSchema", err)
	}
	if _, err := sqlite.Open(path, nil); !errors.Is(err, store.ErrSchema) ||
		!strings.Contains(err.Error(), "use a newer version of pleat") {
		t.Errorf("opened by an older program: %v", err)
	}
	older.Close()
	db.Close()
	kept := copies(t, path)
	if len(kept) != 1 || !strings.HasPrefix(kept[0], path+".v3-") {
		t.Fatalf("copies: %q", kept)
	}
	if info, err := os.Stat(kept[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the copy: %v, %v", info.Mode(), err)
	}
	if got := version(t, kept[0]); got != 3 {
		t.Errorf("the copy has version %d", got)
	}
	checkFrozen(t, kept[0])
}

// A migration that fails, or is killed, leaves the store as it was.
func TestMigrateFails(t *testing.T) {
	path := frozen(t)
	for range 2 {
		restore := nextVersion(t, "CREATE TABLE extra(x); DELETE FROM entry; INSERT INTO nowhere VALUES(1);")
		if _, err := sqlite.Open(path, nil); err == nil || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("a wrong step: %v", err)
		}
		restore()
		if got := copies(t, path); len(got) != 0 || version(t, path) != 3 {
			t.Errorf("left %q, version %d", got, version(t, path))
		}
		checkFrozen(t, path)
	}
	cmd := startChild(t, "migrate", path)
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for len(copies(t, path)) == 0 || strings.Contains(strings.Join(copies(t, path), " "), ".new-") {
		select { // until it has its copy, and is at the step that has no end
		case err := <-ended:
			t.Fatal(err)
		default:
			runtime.Gosched()
		}
	}
	must(t, cmd.Process.Kill())
	<-ended
	kept := copies(t, path)
	checkFrozen(t, path)
	checkFrozen(t, kept[0])
	nextVersion(t, "CREATE TABLE extra(x);")
	checkFrozen(t, path)
	if got := copies(t, path); len(got) != 2 || version(t, path) != 4 {
		t.Errorf("copies %q, version %d; want another copy and 4", got, version(t, path))
	}
}

// migrateForever is at a migration until it is killed.
func migrateForever(path string) error {
	sqlite.Versions.Steps = append(sqlite.Versions.Steps, `CREATE TABLE extra(x); DELETE FROM entry;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO extra SELECT max(i) FROM n;`)
	_, err := sqlite.Open(path, nil)
	return err
}
