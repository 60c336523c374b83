package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
)

// Sessions of a proxy keep plain copies in the folder of --dir, and none over another's.
func TestProxyKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	keep, done, err := keepIn(dir)
	must(t, err)
	defer done()
	var names []string
	for _, text := range []string{"one", "two"} {
		name, err := keep(".task_outputs/tool-results/call_1.txt", []byte(text))
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s holds %q, want %q (%v)", name, got, text, err)
		}
		names = append(names, name)
	}
	if names[0] == names[1] {
		t.Errorf("files %v", names)
	}
	if keep, _, err := keepIn(""); err != nil || keep != nil {
		t.Errorf("without a folder files are kept: %v", err)
	}
}

// The keys of the store are not given to the programs that agents and clients run.
func TestStoreKeyStaysHere(t *testing.T) {
	t.Setenv("PLEAT_STORE_KEY", "secret")
	if env := strings.Join(stores.ChildEnv(), "\n"); strings.Contains(env, "secret") || env == "" {
		t.Errorf("programs get %s", env)
	}
}
