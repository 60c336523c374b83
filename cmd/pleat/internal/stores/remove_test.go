package stores_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// A store that somebody has open, even if only to read, is not deleted; a damaged one is.
func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	st, err := sqlite.Open(path, nil)
	difftest.Must(t, err)
	if err := stores.Remove(t.Context(), path); !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("Remove while it is open: %v", err)
	}
	read, err := sqlite.Open(path, &sqlite.Options{ReadOnly: true})
	difftest.Must(t, err)
	st.Close()
	if err := stores.Remove(t.Context(), path); !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("Remove while it is read: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	read.Close()
	if err := stores.Remove(t.Context(), path); err != nil {
		t.Error(err)
	}
	difftest.Must(t, os.WriteFile(path, []byte("no database"), 0o600))
	difftest.Must(t, os.WriteFile(path+".v3-20260301T120000.123Z", []byte("a copy"), 0o600))
	if err := stores.Remove(t.Context(), path); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("Remove leaves %v", left)
	}
}
