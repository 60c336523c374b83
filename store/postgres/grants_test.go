//go:build unix

package postgres_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
)

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
	for damage, err := range st.Verify(t.Context()) {
		t.Errorf("Verify: %+v, %v", damage, err)
	}
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
