//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// The first signal ends a command that waits for a pipe to be opened or written to.
func TestSignalEndsWaiting(t *testing.T) {
	dir := t.TempDir()
	pipe, used := filepath.Join(dir, "pipe"), filepath.Join(dir, "used")
	for _, name := range []string{pipe, used} {
		must(t, syscall.Mkfifo(name, 0o600))
	}
	writer, err := os.OpenFile(used, os.O_RDWR, 0)
	must(t, err)
	defer writer.Close()
	store := filepath.Join(dir, "pleat.db")
	for _, args := range [][]string{
		{"show", pipe},
		{"show", used},
		{"show", "-"},
		{"compact", "--store", store, pipe},
		{"store", "import", "--store", store, used},
		{"store", "import", "--store", store, "-"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var told bytes.Buffer
		p := &term.Console{Stdin: writer, Stdout: &told, Stderr: &told, Getenv: func(string) string { return "" }}
		code := make(chan int)
		go func() { code <- execute(ctx, p, args) }()
		cancel()
		select {
		case got := <-code:
			if got != 130 {
				t.Errorf("%v: code %d, %s", args, got, told.String())
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%v: it still waits", args)
		}
	}
}
