package bench_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/bench"
	"github.com/pleat-dev/pleat/internal/viewtest"
)

// TestViewHashes holds the views of made-up sessions to recorded hashes, under every
// policy: folded once, as "pleat compact" does, and turn by turn, as an agent does. It is
// the test of the same name in package pleat, with sessions that look like real ones.
func TestViewHashes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: deterministic, and run without -short by go test work")
	}
	got := map[string]string{}
	for _, made := range bench.SynthSessions(28_000) {
		viewtest.Add(t, got, strings.TrimSuffix(made.Name, "-28k"), made.Messages)
	}
	viewtest.Compare(t, got, func(name string) bool { return strings.HasPrefix(name, "synthetic/") })
}
