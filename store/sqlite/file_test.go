package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/transcript"
)

// Only the owner can read a store, its log and the directories that were made for it.
func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such permissions")
	}
	dir := filepath.Join(t.TempDir(), "made", "here")
	path := filepath.Join(dir, "store.db")
	st := open(t, path)
	put(t, st, store.SessionKey{}, 0, store.Entry{Kind: "k"})
	for name, want := range map[string]os.FileMode{
		path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, dir: 0o700, filepath.Dir(dir): 0o700,
	} {
		info, err := os.Stat(name)
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: mode %o, want %o", name, got, want)
		}
	}
	st.Close()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("a closed store leaves %v, %v; want one file", left, err)
	}
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{"with space", "what?", "100%", "a#b", "ä&b=c", "'quoted'", "%41"} {
		path := filepath.Join(t.TempDir(), name)
		st := open(t, path)
		put(t, st, store.SessionKey{}, 0, store.Entry{Kind: "k"})
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// execute runs SQL on a file behind the store's back.
func execute(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// A file that is no store, or one of another version, is refused and left as it is.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	newer, older := filepath.Join(dir, "newer.db"), filepath.Join(dir, "older.db")
	for path, version := range map[string]int{newer: 1000, older: 2} {
		open(t, path).Close()
		execute(t, path, fmt.Sprint("PRAGMA user_version = ", version))
	}
	other := filepath.Join(dir, "other.db")
	execute(t, other, "CREATE TABLE mine(x); PRAGMA user_version = 1")
	text := filepath.Join(dir, "text")
	must(t, os.WriteFile(text, []byte(strings.Repeat("not a database ", 1000)), 0o600))
	empty := filepath.Join(dir, "empty")
	must(t, os.WriteFile(empty, nil, 0o600))
	damaged := filepath.Join(dir, "damaged.db")
	open(t, damaged).Close()
	execute(t, damaged, "DROP INDEX entry_seq")
	for path, want := range map[string]error{
		newer: store.ErrSchema, older: store.ErrSchema, other: nil, dir: nil,
		text: store.ErrCorrupt, empty: store.ErrCorrupt, damaged: store.ErrCorrupt,
	} {
		before, _ := os.ReadFile(path)
		store, err := sqlite.Open(path, nil)
		if err == nil {
			store.Close()
			t.Errorf("%s was opened", path)
			continue
		}
		if want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %v with the path", path, err, want)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s was changed", path)
		}
	}
	const advice = "schema version 2, this program knows 3: store has another schema: " +
		"export its sessions with the version of pleat that wrote it"
	for _, readOnly := range []bool{false, true} {
		if _, err := sqlite.Open(older, &sqlite.Options{ReadOnly: readOnly}); err == nil ||
			!strings.Contains(err.Error(), advice) {
			t.Errorf("an older store (read-only %t): %v, want %s", readOnly, err, advice)
		}
	}
}

// A store that was opened to be read is left as it is, and says so to who wants to write.
// Others write to it meanwhile.
func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	if _, err := sqlite.Open(path, &sqlite.Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("Open of nothing: %v", err)
	}
	key := store.SessionKey{Session: "s"}
	st := open(t, path)
	put(t, st, key, 0, crashEntry(key, 1))
	st.Close()
	before, err := os.ReadFile(path)
	must(t, err)
	st, err = sqlite.Open(path, &sqlite.Options{ReadOnly: true})
	must(t, err)
	isWhole(t, st)
	_, appended := st.Append(t.Context(), key, 1, crashEntry(key, 2))
	_, searched := st.Search(t.Context(), key, "entry", 1)
	_, _, claimed := st.Claim(t.Context(), key, "digest", time.Hour)
	for name, err := range map[string]error{
		"Append": appended, "Forget": st.Forget(t.Context(), key), "Search": searched, "Claim": claimed,
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: %v, want ErrReadOnly", name, err)
		}
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed (%v)", err)
	}

	writer, reader := open(t, path), openWith(t, path, &sqlite.Options{ReadOnly: true})
	for i := range uint64(3) {
		put(t, writer, key, i+1, crashEntry(key, i+2))
		n := uint64(0)
		for _, err := range reader.Scan(t.Context(), key, 1) {
			must(t, err)
			n++
		}
		if n != i+2 {
			t.Errorf("the reader sees %d entries, want %d", n, i+2)
		}
	}
}

// Nothing of a forgotten session is left in the file.
func TestForgetBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	st := open(t, path)
	secret, kept := store.SessionKey{Session: "secret session"}, store.SessionKey{Session: "kept session"}
	for n, key := range []store.SessionKey{kept, secret} {
		for i := range 50 {
			name := []string{"harmless", "confidential"}[n]
			e := store.Entry{
				Kind: "k", Label: fmt.Sprint(name, "label", i), Data: []byte(name + "data"),
				Body: fmt.Append(nil, name, "body", i), Text: fmt.Sprint(name, "text", i),
			}
			put(t, st, key, uint64(i), e)
		}
		if hits, err := st.Search(t.Context(), key, "harmlesstext7 confidentialtext7", 9); err != nil ||
			len(hits) != 1 {
			t.Fatal(hits, err)
		}
	}
	must(t, st.Forget(t.Context(), secret))
	for _, name := range []string{path, path + "-wal"} {
		file, err := os.ReadFile(name)
		must(t, err)
		// The index cuts what words have in common, so the tails are looked for too.
		for _, word := range []string{"confidential", "secret session", "onfidential", "fidentialtext"} {
			if at := bytes.Index(file, []byte(word)); at >= 0 {
				t.Errorf("%s still has %q at byte %d", name, word, at)
			}
		}
		if name == path && !bytes.Contains(file, []byte("harmless")) {
			t.Error("the other session is not in the file")
		}
	}
	if hits, err := st.Search(t.Context(), kept, "harmlesstext7", 9); err != nil || len(hits) != 1 {
		t.Error(hits, err)
	}
}

// Another process that keeps the file locked makes a writer wait, and then give up
// with an error that says so.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	st := openWith(t, path, &sqlite.Options{BusyTimeout: 1})
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	key := store.SessionKey{Session: "a"}
	if _, err := st.Append(t.Context(), key, 0, store.Entry{Kind: "k"}); !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("Append to a locked file: %v, want ErrBusy", err)
	}
	if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Append(t.Context(), key, 0, store.Entry{Kind: "k"}); err != nil {
		t.Errorf("Append to the free file: %v", err)
	}
}

// Damage in the middle of a log is told from the torn end that a crash leaves.
func TestLogDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "live.db")
	st := open(t, path)
	key := store.SessionKey{Session: "a"}
	for i := range 20 {
		put(t, st, key, uint64(i), store.Entry{Kind: "k", Data: fmt.Append(nil, "data ", i)})
	}
	file, err := os.ReadFile(path)
	must(t, err)
	log, err := os.ReadFile(path + "-wal")
	must(t, err)
	copyPath := filepath.Join(dir, "copy.db")
	try := func(log []byte) (entries int, err error) {
		t.Helper()
		removeAll(t, copyPath)
		must(t, errors.Join(os.WriteFile(copyPath, file, 0o600), os.WriteFile(copyPath+"-wal", log, 0o600)))
		store, err := sqlite.Open(copyPath, nil)
		if err != nil {
			return 0, err
		}
		defer store.Close()
		for _, err := range store.Scan(t.Context(), key, 0) {
			if err != nil {
				return 0, err
			}
			entries++
		}
		return entries, nil
	}
	if n, err := try(log); err != nil || n != 20 {
		t.Errorf("whole log: %d entries, %v; want 20", n, err)
	}
	if n, err := try(log[:len(log)-5000]); err != nil || n != 19 {
		t.Errorf("log with a torn end: %d entries, %v; want 19", n, err)
	}
	for _, at := range []int{3, 20, 40, 100, 5000, len(log) / 2} {
		damaged := bytes.Clone(log)
		damaged[at] ^= 4
		if n, err := try(damaged); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), copyPath) {
			t.Errorf("log damaged at byte %d: %d entries, %v; want ErrCorrupt with the path", at, n, err)
		}
	}
}

// A store whose file is deleted, moved or replaced under it acknowledges no write.
func TestFileTakenAway(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be taken away")
	}
	for name, take := range map[string]func(path string) error{
		"deleted": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path+".new", data, 0o600)
			}
			if err == nil {
				err = os.Rename(path+".new", path)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			st, key := open(t, path), store.SessionKey{Session: "s"}
			head, err := st.Append(t.Context(), key, 0, store.Entry{Kind: "k"})
			must(t, err)
			must(t, take(path))
			_, err = st.Append(t.Context(), key, head, store.Entry{Kind: "k"})
			if !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "deleted or replaced") {
				t.Errorf("Append: %v", err)
			}
			if _, err := st.Append(t.Context(), key, head); !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("Append of nothing: %v", err)
			}
		})
	}
}

// noise makes a body that does not compress.
func noise(seed string, n int) []byte {
	out := make([]byte, 0, n+32)
	for h := transcript.HashOf(seed); len(out) < n; h = transcript.HashOf(h[:]) {
		out = append(out, h[:]...)
	}
	return out[:n]
}

// fillUp appends until the store is full and returns how many entries it holds.
func fillUp(t testing.TB, store *sqlite.Store, key store.SessionKey) (last uint64, err error) {
	t.Helper()
	for last < 1000 {
		next, err := store.Append(t.Context(), key, last, fullEntry(last+1))
		if err != nil {
			return last, err
		}
		last = next
	}
	return last, nil
}

func fullEntry(seq uint64) store.Entry {
	return store.Entry{Kind: "k", Data: fmt.Append(nil, seq), Body: noise(fmt.Sprint(seq), 50_000), Text: "some text"}
}

// checkFull reads what is there: what was acknowledged, intact, and nothing else.
func checkFull(t testing.TB, store *sqlite.Store, key store.SessionKey, last uint64) {
	t.Helper()
	seq := uint64(0)
	for e, err := range store.Scan(t.Context(), key, 0) {
		must(t, err)
		seq++
		if _, err := store.Body(t.Context(), key, e.BodyHash); err != nil || string(e.Data) != fmt.Sprint(seq) {
			t.Fatalf("entry %d: %q, %v", seq, e.Data, err)
		}
	}
	if seq != last {
		t.Fatalf("%d entries, want %d", seq, last)
	}
}

// A store that has reached its limit says so, loses nothing, and goes on when there is
// room again.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	st := openWith(t, path, &sqlite.Options{MaxBytes: 1 << 20})
	key := store.SessionKey{Session: "a"}
	last, err := fillUp(t, st, key)
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), path) {
		t.Fatalf("after %d entries: %v, want ErrFull with the path", last, err)
	}
	if last == 0 {
		t.Fatal("nothing fit")
	}
	checkFull(t, st, key, last)
	_, err = st.Append(t.Context(), key, last, store.Entry{Kind: "k", Body: noise("more", 200_000)})
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("once more: %v, want ErrFull", err)
	}
	checkFull(t, st, key, last)
	must(t, st.Close())
	st = open(t, path) // without the limit
	checkFull(t, st, key, last)
	put(t, st, key, last, fullEntry(last+1))
	checkFull(t, st, key, last+1)
	isWhole(t, st)
}
