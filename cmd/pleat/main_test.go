package main

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"pleat": func() {
			p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
			os.Exit(p.run(context.Background(), os.Args[1:]))
		},
		"makesession": makeSession, // a long session file; see session_test.go
		"makestore":   makeStore,   // a store with known sessions; see keeping_test.go
		"damage":      damageStore,
	})
}

// Every file in testdata is a story told on the command line. With PLEAT_UPDATE set the
// expected outputs in them are written anew.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: os.Getenv("PLEAT_UPDATE") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"checkfolds": checkFolds},
	})
}
