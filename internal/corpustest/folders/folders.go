// Package folders finds the folders with real sessions of other agents. It knows no format of
// theirs, so that the tests of packages that read such formats can use it.
package folders

import (
	"os"
	"path/filepath"
	"testing"
)

// List lists the folders that PLEAT_CORPUS names, which are separated as in PATH. The test
// is skipped if there are none.
func List(t testing.TB) []string {
	t.Helper()
	list := filepath.SplitList(os.Getenv("PLEAT_CORPUS"))
	if len(list) == 0 {
		t.Skip("set PLEAT_CORPUS to folders of session files to run this test")
	}
	return list
}
