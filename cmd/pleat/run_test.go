package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pleat-dev/pleat/internal/upstream"
)

// TestRunScripts are stories of "pleat run" with a scripted model server: MODEL names its
// model, checkupstream fails if a request broke a rule of the wire.
func TestRunScripts(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("no awk to run the script's commands with")
	}
	var mu sync.Mutex
	servers := make(map[string]*upstream.Server)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/run", UpdateScripts: os.Getenv("PLEAT_UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			s := upstream.New(upstream.Options{Calls: 12, Bytes: 6000, RecallAt: 9})
			server := httptest.NewServer(s)
			env.Defer(server.Close)
			mu.Lock()
			servers[env.WorkDir] = s
			mu.Unlock()
			env.Setenv("MODEL", server.URL+"/v1#scripted")
			env.Setenv("PLEAT_STORE", env.WorkDir+"/pleat.db")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"checkupstream": func(ts *testscript.TestScript, _ bool, _ []string) {
				mu.Lock()
				s := servers[ts.Getenv("WORK")]
				mu.Unlock()
				recalled := ""
				for i, x := range s.Log() {
					if len(x.Violations) > 0 || x.Status != 200 {
						ts.Fatalf("request %d: %+v", i, x)
					}
					if x.Recalled != "" {
						recalled = x.Recalled
					}
				}
				if recalled != "exact" {
					ts.Fatalf("recalled: %q", recalled)
				}
			},
		},
	})
}
