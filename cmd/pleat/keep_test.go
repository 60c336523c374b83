package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// Sessions of a proxy keep plain copies in the folder of --dir, and none over another's.
func TestProxyKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	opened := false
	o := &proxy.Options{Session: func(store.SessionKey, *pleat.Options) { opened = true }}
	done, err := keepIn(dir, o)
	must(t, err)
	defer done()
	var names []string
	for _, text := range []string{"one", "two"} {
		var s pleat.Options
		o.Session(store.SessionKey{Session: text}, &s)
		name, err := s.KeepFile(".task_outputs/tool-results/call_1.txt", []byte(text))
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s holds %q, want %q (%v)", name, got, text, err)
		}
		names = append(names, name)
	}
	if names[0] == names[1] || !opened {
		t.Errorf("files %v; the caller's own options were set: %t", names, opened)
	}

	none := &proxy.Options{}
	if _, err := keepIn("", none); err != nil || none.Session != nil {
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
