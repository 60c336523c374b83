package sqlite_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
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
	isWhole(t, st)
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

// A writer that is killed at any moment loses nothing that it was told is stored: not
// in the file it wrote last, and not in what was there before.
func TestKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs SIGKILL")
	}
	kills := 120
	if testing.Short() {
		kills = 10
	}
	path := filepath.Join(t.TempDir(), "store.db")
	random := rand.New(rand.NewPCG(1, uint64(kills)))
	acknowledged := make(map[store.SessionKey]uint64)
	total := 0
	for run := range kills {
		total += killOne(t, path, strconv.Itoa(run), random, acknowledged)
	}
	store := open(t, path)
	for key, last := range acknowledged {
		checkCrash(t, store, key, last)
	}
	isWhole(t, store)
	t.Logf("%d kills, %d acknowledged appends", kills, total)
}

// killOne runs a writer, kills it after a random number of acknowledgements plus a
// random moment, and checks its sessions. Every few runs the process has hardly begun.
func killOne(t *testing.T, path, run string, random *rand.Rand, acknowledged map[store.SessionKey]uint64) int {
	t.Helper()
	cmd := startChild(t, "write", path, run)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	lives, heard := random.IntN(25), 0
	for ; ; heard++ {
		if heard == lives {
			// From here on the writer runs on for a moment that no clock of ours
			// decides: as long as this loop takes.
			for range random.IntN(1 << 20) {
				runtime.KeepAlive(lives)
			}
			must(t, cmd.Process.Kill())
		}
		if !lines.Scan() {
			break
		}
		var n int
		var last uint64
		if _, err := fmt.Sscan(lines.Text(), &n, &last); err != nil {
			break // the last line may be cut
		}
		acknowledged[crashKey(run, n)] = last
	}
	if err := cmd.Wait(); err == nil || stderr.Len() > 0 {
		t.Fatalf("writer ended by itself: %v\n%s", err, &stderr)
	}
	store, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatalf("after kill %s: %v", run, err)
	}
	defer store.Close()
	for n := range crashSessions {
		checkCrash(t, store, crashKey(run, n), acknowledged[crashKey(run, n)])
	}
	return heard
}

// checkCrash reads a session and everything in it. There may be more than was
// acknowledged: the writer can be killed between the commit and the acknowledgement.
func checkCrash(t *testing.T, st *sqlite.Store, key store.SessionKey, acknowledged uint64) {
	t.Helper()
	seq := uint64(0)
	for e, err := range st.Scan(t.Context(), key, 0) {
		if err != nil {
			t.Fatalf("scan %v: %v", key, err)
		}
		seq++
		want := crashEntry(key, seq)
		body, err := st.Body(t.Context(), key, e.BodyHash)
		if err != nil {
			t.Fatalf("%v entry %d: %v", key, seq, err)
		}
		if e.Seq != seq || e.Label != want.Label || string(e.Data) != string(want.Data) ||
			!bytes.Equal(body, want.Body) {
			t.Fatalf("%v entry %d is not what was appended", key, seq)
		}
	}
	if seq < acknowledged {
		t.Fatalf("%v has %d entries, %d were acknowledged", key, seq, acknowledged)
	}
	if seq == 0 {
		return
	}
	found, err := st.Find(t.Context(), key.Tenant, store.EntryMessage, crashEntry(key, seq).Label)
	if err != nil || len(found) != 1 || found[0].Entry.Seq != seq {
		t.Fatalf("find the newest entry of %v: %v, %v", key, found, err)
	}
	hits, err := st.Search(t.Context(), key, fmt.Sprintf("entry %d", seq), 100)
	var seqs []uint64
	for _, h := range hits {
		if h.Seq == seq {
			seqs = append(seqs, h.Seq)
		}
	}
	if d := difftest.Values([]uint64{seq}, seqs); err != nil || d != "" {
		t.Fatalf("search for entry %d of %v: %v %s", seq, key, err, d)
	}
}
