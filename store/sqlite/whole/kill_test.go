//go:build unix

package whole_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/pleat-dev/pleat/internal/killtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// TestMain lets the test binary play the agent that is killed.
func TestMain(m *testing.M) {
	if !killtest.Played(openFile) {
		os.Exit(m.Run())
	}
}

func openFile(_ context.Context, path string) (store.Store, error) { return sqlite.Open(path, nil) }

func TestKill(t *testing.T) {
	t.Parallel()
	killtest.Test(t, openFile, func() string { return filepath.Join(t.TempDir(), "store") })
}
