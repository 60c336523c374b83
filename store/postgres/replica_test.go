//go:build unix

package postgres_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
	"github.com/pleat-dev/pleat/transcript"
)

// The engine on two replicas: both have the same session open through stores of their
// own, as two proxies behind a load balancer have.

var (
	replicaKey     = store.SessionKey{Tenant: "t", Session: "replicated"}
	replicaOptions = pleat.Options{Budget: fold.Budget{Window: 6_000}}
)

func openSession(t *testing.T, st store.Store, key store.SessionKey) *pleat.Session {
	t.Helper()
	s, err := pleat.OpenSession(t.Context(), st, key, &replicaOptions)
	must(t, err)
	return s
}

// round is a round of the conversation that a replica adds: a call and its result, of a
// size that brings on an epoch every few rounds.
func round(name string) []transcript.Message {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "%s line %d: nothing about the limit\n", name, i)
	}
	return []transcript.Message{
		transcript.Assistant(transcript.Call(name, "read_file", `{"path":"src/`+name+`.go"}`)),
		transcript.Results(transcript.Result(name, b.String())),
	}
}

// addRound appends a round after whatever the others have appended, and says how often
// it was too late.
func addRound(ctx context.Context, s *pleat.Session, name string) (late int, err error) {
	for left := round(name); ; {
		err := s.Append(ctx, left...)
		if e, ok := errors.AsType[*pleat.AppendError](err); ok && errors.Is(err, store.ErrConflict) {
			left = left[e.Added:]
			late++ // the session has read what the winner wrote
			continue
		}
		return late, err
	}
}

// viewOf is what the model would be sent, and the number of the entry after which.
func viewOf(ctx context.Context, s *pleat.Session) (last uint64, view string, err error) {
	for {
		v, err := s.View(ctx, pleat.Turn{})
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return 0, "", err
		}
		last := inside.Of(s).LastSeq()
		msgs, err := s.Resolve(ctx, v)
		if err != nil {
			return 0, "", err
		}
		out, err := json.Marshal(msgs)
		return last, string(out), err
	}
}

// checkHistory reads the session and makes sure that every round is there once and that
// its epochs are one line without a fork. It returns how many epochs there are.
func checkHistory(t *testing.T, st store.Store, rounds []string) int {
	t.Helper()
	s := openSession(t, st, replicaKey)
	times := make(map[string]int)
	msgs, err := s.Resolve(t.Context(), transcript.Whole(s.Len()))
	must(t, err)
	for _, m := range msgs {
		for _, b := range m.Blocks().All() {
			if c, ok := b.(transcript.ToolCall); ok {
				times[c.ID]++
			}
		}
	}
	for _, name := range rounds {
		if times[name] != 1 {
			t.Errorf("round %s is there %d times", name, times[name])
		}
	}
	if len(times) != len(rounds) {
		t.Errorf("%d rounds are there, %d were acknowledged", len(times), len(rounds))
	}
	epochs := 0
	for e, err := range st.Scan(t.Context(), replicaKey, 1, store.EntryEpoch) {
		must(t, err)
		var d struct{ Epoch int }
		must(t, json.Unmarshal(e.Data, &d))
		if epochs++; d.Epoch != epochs {
			t.Errorf("entry %d: epoch %d follows epoch %d", e.Seq, d.Epoch, epochs-1)
		}
	}
	return epochs
}

// TestReplicasAlternate: two replicas take turns and get in one another's way. After each
// round both, and one that has only just opened the session, have the same view, byte
// for byte.
func TestReplicasAlternate(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	var stores [2]*postgres.Store
	var sessions [2]*pleat.Session
	for i := range sessions {
		stores[i] = open(t, url, nil)
		sessions[i] = openSession(t, stores[i], replicaKey)
	}
	must(t, sessions[0].Append(t.Context(), transcript.User("Find the limit.")))
	var rounds []string
	late := 0
	for n := range 40 {
		mine, other := sessions[n%2], sessions[(n+1)%2]
		name := fmt.Sprintf("r%d", n)
		again, err := addRound(t.Context(), mine, name)
		must(t, err)
		late += again
		rounds = append(rounds, name)
		last, want, err := viewOf(t.Context(), mine)
		must(t, err)
		if n%3 != 0 { // now and then the other does not look, and is late with its own
			continue
		}
		must(t, other.Refresh(t.Context()))
		fresh := openSession(t, stores[(n+1)%2], replicaKey)
		for who, s := range map[string]*pleat.Session{"the other replica": other, "a new replica": fresh} {
			at, got, err := viewOf(t.Context(), s)
			must(t, err)
			if got != want || at != last {
				t.Fatalf("round %d: %s has another view after entry %d than the first after entry %d", n, who, at, last)
			}
		}
	}
	epochs := checkHistory(t, stores[0], rounds)
	if epochs < 3 || late < 5 {
		t.Errorf("%d epochs and %d conflicts: the test shows little", epochs, late)
	}
	t.Logf("%d rounds, %d conflicts, %d epochs", len(rounds), late, epochs)
}

// replica is a process that adds rounds to the session as fast as it can. It prints each
// round that was acknowledged, and the hash of each view with the entry it is after.
func replica(url, name, count string) error {
	ctx := context.Background()
	store, err := postgres.Open(ctx, url, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := pleat.OpenSession(ctx, store, replicaKey, &replicaOptions)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	for i := range n {
		id := fmt.Sprintf("%s-%d", name, i)
		late, err := addRound(ctx, s, id)
		if err != nil {
			return err
		}
		fmt.Println("added", id, late)
		last, view, err := viewOf(ctx, s)
		if err != nil {
			return err
		}
		fmt.Println("view", last, transcript.HashOf(view))
	}
	return nil
}

// TestReplicasCompete lets four processes work on one session at once: every round that
// was acknowledged is there once, the epochs are one line, and who has read as far as
// another has the same view.
func TestReplicasCompete(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	store := open(t, url, nil)
	s := openSession(t, store, replicaKey)
	must(t, s.Append(t.Context(), transcript.User("Find the limit.")))
	const replicas = 4
	count := 12
	if testing.Short() {
		count = 5
	}
	outputs := make([]bytes.Buffer, replicas)
	var wg sync.WaitGroup
	for i := range replicas {
		cmd := startChild(t, "replica", url, fmt.Sprintf("p%d", i), strconv.Itoa(count))
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Errorf("replica %d: %v\n%s", i, err, &outputs[i])
			}
		})
	}
	wg.Wait()
	var rounds []string
	views, shared, late := make(map[string]string), 0, 0
	for i := range outputs {
		for lines := bufio.NewScanner(&outputs[i]); lines.Scan(); {
			f := strings.Fields(lines.Text())
			if len(f) != 3 {
				t.Fatalf("replica %d says %q", i, lines.Text())
			}
			if f[0] == "added" {
				n, _ := strconv.Atoi(f[2])
				late += n
				rounds = append(rounds, f[1])
				continue
			}
			if was, ok := views[f[1]]; ok {
				if shared++; was != f[2] {
					t.Errorf("two replicas have different views after entry %s", f[1])
				}
			}
			views[f[1]] = f[2]
		}
	}
	if len(rounds) != replicas*count {
		t.Errorf("%d rounds were acknowledged, want %d", len(rounds), replicas*count)
	}
	epochs := checkHistory(t, store, rounds)
	t.Logf("%d rounds by %d processes, %d conflicts, %d epochs, %d views that two had",
		len(rounds), replicas, late, epochs, shared)
	checkReplayed(t, store, views)
	if late == 0 || epochs == 0 {
		t.Error("nobody was late, or nothing was folded: the test shows nothing")
	}
}

// checkReplayed compares views that the replicas had with what the stored entries up to
// there give: nobody can have seen anything else. Every sixth will do.
func checkReplayed(t *testing.T, st store.Store, views map[string]string) {
	t.Helper()
	for i, at := range slices.Sorted(maps.Keys(views)) {
		if i%6 != 0 {
			continue
		}
		last, err := strconv.ParseUint(at, 10, 64)
		must(t, err)
		key := store.SessionKey{Tenant: "t", Session: "replayed up to " + at}
		must(t, pleat.Fork(t.Context(), st, replicaKey, last, key, nil))
		s := openSession(t, st, key)
		msgs, err := s.Resolve(t.Context(), inside.Of(s).CurrentView())
		must(t, err)
		out, err := json.Marshal(msgs)
		must(t, err)
		if got := transcript.HashOf(out).String(); got != views[at] {
			t.Errorf("after entry %d a replica had another view than the stored entries give", last)
		}
	}
}
