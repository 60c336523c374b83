//go:build unix

package postgres_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

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
