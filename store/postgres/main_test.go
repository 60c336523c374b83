//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/killtest"
	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
	"github.com/pleat-dev/pleat/transcript"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childVariable); role != "" {
		if err := child(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if killtest.Played(openURL) {
		os.Exit(0)
	}
	status := m.Run()
	pgtest.RemoveShared()
	os.Exit(status)
}

// open opens a store and closes it with the test.
func open(t testing.TB, url string, opts *postgres.Options) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, opts)
	must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// connect connects to the database of a URL, past any store.
func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func put(t testing.TB, st store.Store, key store.SessionKey, last uint64, entries ...store.Entry) {
	t.Helper()
	if _, err := st.Append(t.Context(), key, last, entries...); err != nil {
		t.Fatal(err)
	}
}

var must = difftest.Must

// isWhole holds a store to having no damage.
func isWhole(t testing.TB, st store.Keeper) {
	t.Helper()
	for damage, err := range st.Verify(t.Context()) {
		t.Errorf("Verify: %+v, %v", damage, err)
	}
}

// run runs a statement in the database of a URL.
func run(t testing.TB, url, text string, args ...any) {
	t.Helper()
	must(t, tryRun(t, url, text, args...))
}

func tryRun(t testing.TB, url, text string, args ...any) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), text, args...)
	return err
}

// childVariable holds what a process that the tests start is to do: some tests need
// processes of their own, to compete.
const childVariable = "PLEAT_POSTGRES_TEST_CHILD"

// startChild prepares this program to run again in a role.
func startChild(t testing.TB, role string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), childVariable+"="+role)
	return cmd
}

func child(role string, args []string) error {
	switch role {
	case "replica":
		return replica(args[0], args[1], args[2])
	case "load":
		return load(args[0], args[1], args[2], args[3], args[4])
	}
	return fmt.Errorf("no such role: %q", role)
}

// numbered is entry number seq of a session: whoever reads it knows what it must be.
func numbered(key store.SessionKey, seq uint64) store.Entry {
	name := fmt.Sprintf("%v entry %d. ", key, seq)
	size := int(transcript.HashOf(name)[0]) * int(transcript.HashOf(name)[1]) // up to 65 KB
	return store.Entry{
		Kind: store.EntryMessage, Label: name, Data: []byte(name),
		Body: []byte(name + strings.Repeat(transcript.HashOf(name).String(), size/64)), Text: name,
	}
}

// checkNumbered reads a session of numbered entries and returns how many it has.
func checkNumbered(t testing.TB, store store.Store, key store.SessionKey) uint64 {
	t.Helper()
	n := uint64(0)
	for e, err := range store.Scan(t.Context(), key, 0) {
		must(t, err)
		n++
		want := numbered(key, n)
		body, err := store.Body(t.Context(), key, e.BodyHash)
		must(t, err)
		if string(e.Data) != string(want.Data) || string(body) != string(want.Body) || e.Seq != n {
			t.Fatalf("%v: entry %d is not what was appended", key, n)
		}
	}
	return n
}
