package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/transcript"
)

// childVariable holds what a process that the tests start is to do: some tests need
// processes of their own, to be killed or to compete.
const childVariable = "PLEAT_SQLITE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVariable); role != "" {
		if err := child(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startChild prepares this program to run again in a role.
func startChild(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), childVariable+"="+role)
	return cmd
}

func child(role string, args []string) error {
	switch role {
	case "write":
		return writeForever(args[0], args[1])
	case "compete":
		return compete(args[0], args[1], args[2])
	case "limited":
		return writeUntilFull(args[0], args[1])
	case "migrate":
		return migrateForever(args[0])
	}
	return fmt.Errorf("no such role: %q", role)
}

// crashSessions is how many sessions a writer has.
const crashSessions = 3

func crashKey(run string, n int) store.SessionKey {
	return store.SessionKey{Tenant: "crash", Session: run + "-" + strconv.Itoa(n)}
}

// crashEntry is entry number seq of a session: whoever reads it knows what it must be.
func crashEntry(key store.SessionKey, seq uint64) store.Entry {
	name := fmt.Sprintf("%v entry %d. ", key, seq)
	size := int(transcript.HashOf(name)[0]) * int(transcript.HashOf(name)[1]) // up to 65 KB
	return store.Entry{
		Kind: store.EntryMessage, Label: name, Data: []byte(name),
		Body: []byte(name + strings.Repeat(transcript.HashOf(name).String(), size/64)), Text: name,
	}
}

// writeForever appends and prints the number of each entry that it was told is stored,
// until it is killed.
func writeForever(path, run string) error {
	st, err := sqlite.Open(path, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	var last [crashSessions]uint64
	for i := 0; ; i++ {
		n := i % crashSessions
		key := crashKey(run, n)
		entries := []store.Entry{crashEntry(key, last[n]+1)}
		if i%4 == 0 {
			entries = append(entries, crashEntry(key, last[n]+2))
		}
		if last[n], err = st.Append(ctx, key, last[n], entries...); err != nil {
			return err
		}
		if _, err := fmt.Printf("%d %d\n", n, last[n]); err != nil {
			return err
		}
	}
}
