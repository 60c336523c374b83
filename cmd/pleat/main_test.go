package main

import (
	"context"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/pgtest"
)

// tests ends what the tests share when they are over.
type tests struct{ *testing.M }

func (m tests) Run() int {
	defer pgtest.RemoveShared()
	return m.M.Run()
}

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"pleat": func() {
			p := &term.Console{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			code := execute(ctx, p, os.Args[1:])
			stop()
			tellPeak()
			os.Exit(code)
		},
		"makesession": makeSession, // a long session file; see session_test.go
		"makestore":   makeStore,   // a store with known sessions; see keeping_test.go
		"damage":      damageStore,
		"spoil":       spoilStore,
		"older":       olderStore,
	})
}

// Every file in testdata is a story told on the command line. With PLEAT_UPDATE set the
// expected outputs in them are written anew.
func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of short programs: not in short")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: os.Getenv("PLEAT_UPDATE") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"checkfolds": checkFolds},
	})
}

// TestSharedStoreScripts are stories with a database: DATABASE has the URL of an empty one,
// HOST what the program may call it.
func TestSharedStoreScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("many short programs: not in short")
	}
	cluster := pgtest.Shared(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/postgres", UpdateScripts: os.Getenv("PLEAT_UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			u, err := url.Parse(cluster.Database(t))
			if err != nil {
				return err
			}
			u.User = url.UserPassword("pleat", "hunter2") // nobody asks for it, and nobody may see it
			env.Setenv("DATABASE", u.String())
			env.Setenv("HOST", u.Host+u.Path)
			return nil
		},
	})
}
