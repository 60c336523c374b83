package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// TestRunScripts are stories of "pleat run" and "pleat proxy" with a scripted model server:
// MODEL names its model, UPSTREAM is its address, LISTEN an address that is free,
// checkupstream fails if a request broke a rule of the wire, waitfor waits until an address
// answers, get prints what it answers. $FAILING/401/v1 is a server that answers with that status.
func TestRunScripts(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("no awk to run the script's commands with")
	}
	var mu sync.Mutex
	servers := make(map[string]*upstreamtest.Server)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/run", UpdateScripts: os.Getenv("PLEAT_UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			s := newUpstream(upstreamtest.Options{Calls: 12, Bytes: 6000, RecallAt: 9})
			server := httptest.NewServer(s)
			env.Defer(server.Close)
			mu.Lock()
			servers[env.WorkDir] = s
			mu.Unlock()
			env.Setenv("MODEL", server.URL+"/v1#scripted")
			env.Setenv("UPSTREAM", server.URL)
			failing := httptest.NewServer(http.HandlerFunc(fail))
			env.Defer(failing.Close)
			env.Setenv("FAILING", failing.URL)
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Setenv("LISTEN", free.Addr().String())
			if err := free.Close(); err != nil {
				return err
			}
			env.Setenv("PLEAT_STORE", env.WorkDir+"/pleat.db")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"waitfor": waitFor,
			"get":     get,
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

// fail answers like a model server that is broken: with the status that the path begins with.
func fail(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"writer","object":"model"}]}`)
		return
	}
	status := http.StatusNotFound
	_, _ = fmt.Sscanf(r.URL.Path, "/%d/", &status)
	http.Error(w, `{"error":{"message":"the server is out of order"}}`, status)
}

func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for range 3000 {
		if resp, err := http.Get(args[0]); err == nil {
			ts.Check(resp.Body.Close())
			return
		}
		<-again.C
	}
	ts.Fatalf("%s does not answer", args[0])
}

func get(ts *testscript.TestScript, neg bool, args []string) {
	resp, err := http.Get(args[0])
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%s", body)
	if neg != (resp.StatusCode >= 400) {
		ts.Fatalf("%s: %s: %s", args[0], resp.Status, body)
	}
}
