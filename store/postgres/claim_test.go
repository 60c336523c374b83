//go:build unix

package postgres_test

import (
	"bufio"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
)

var claimedKey = store.SessionKey{Tenant: "t", Session: "claimed"}

// claimAndHang is a replica that takes work and never finishes it.
func claimAndHang(url, ttl string) error {
	ctx := context.Background()
	store, err := postgres.Open(ctx, url, nil)
	if err != nil {
		return err
	}
	limit, err := time.ParseDuration(ttl)
	if err != nil {
		return err
	}
	_, ok, err := store.Claim(ctx, claimedKey, "digest", limit)
	if err != nil {
		return err
	}
	fmt.Println(ok)
	select {}
}

// TestClaimOfKilledReplica: while a replica has work nobody else gets it; after it was
// killed its claim falls, and of the others one takes it over.
func TestClaimOfKilledReplica(t *testing.T) {
	url := pgtest.Shared(t).Database(t)
	const ttl = 3 * time.Second
	a, b := open(t, url, nil), open(t, url, nil)
	cmd := startChild(t, "claim", url, ttl.String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	begin := time.Now()
	if err != nil || line != "true\n" {
		t.Fatalf("the replica says %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	given := 0
	for given == 0 {
		for _, store := range []*postgres.Store{a, b} {
			_, ok, err := store.Claim(t.Context(), claimedKey, "digest", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				given++
			}
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("the work of the dead is not given to anybody")
		}
		time.Sleep(5 * time.Millisecond) // polls; nothing depends on how long
	}
	// The claim was made before its line was read, so it may be up earlier, but not by much.
	if passed := time.Since(begin); given != 1 || passed < ttl/3 {
		t.Errorf("given to %d after %v, want 1 after %v", given, passed, ttl)
	}
}
