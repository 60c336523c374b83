package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// Several processes on one file: they make it together, append to sessions of their
// own, and compete for one that they share.
func TestProcesses(t *testing.T) {
	const processes, rounds = 3, 40
	path := filepath.Join(t.TempDir(), "new", "store.db")
	var cmds []*exec.Cmd
	var outputs [processes]bytes.Buffer
	for n := range processes {
		cmd := startChild(t, "compete", path, strconv.Itoa(n), strconv.Itoa(rounds))
		cmd.Stdout, cmd.Stderr = &outputs[n], &outputs[n]
		must(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for n, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v\n%s", n, err, &outputs[n])
		}
	}
	st := open(t, path)
	count := func(name string) (entries int) {
		key := store.SessionKey{Session: name}
		for e, err := range st.Scan(t.Context(), key, 0) {
			must(t, err)
			if _, err := st.Body(t.Context(), key, e.BodyHash); err != nil {
				t.Fatal(err)
			}
			entries++
		}
		return entries
	}
	for n := range processes {
		if got := count(strconv.Itoa(n)); got != rounds {
			t.Errorf("session of process %d has %d entries, want %d", n, got, rounds)
		}
	}
	if got := count("shared"); got != processes*rounds {
		t.Errorf("shared session has %d entries, want %d", got, processes*rounds)
	}
	hits, err := st.Search(t.Context(), store.SessionKey{Session: "shared"}, "everybody", 1000)
	if err != nil || len(hits) != processes*rounds {
		t.Errorf("search finds %d entries, %v; want %d", len(hits), err, processes*rounds)
	}
	for damage, err := range st.Verify(t.Context()) {
		t.Errorf("Verify: %+v, %v", damage, err)
	}
}

// compete is one of the processes.
func compete(path, name, times string) error {
	rounds, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	st, err := sqlite.Open(path, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	shared, last := store.SessionKey{Session: "shared"}, uint64(0)
	for i := range rounds {
		e := store.Entry{Kind: "k", Body: fmt.Appendf(nil, "%s %d", name, i), Text: "for everybody"}
		if _, err := st.Append(ctx, store.SessionKey{Session: name}, uint64(i), e); err != nil {
			return err
		}
		for {
			next, err := st.Append(ctx, shared, last, e)
			if err == nil {
				last = next
				break
			}
			if !errors.Is(err, store.ErrConflict) {
				return err
			}
			for e, err := range st.Scan(ctx, shared, last+1) { // what is new
				if err != nil {
					return err
				}
				last = e.Seq
			}
		}
	}
	return st.Close()
}
