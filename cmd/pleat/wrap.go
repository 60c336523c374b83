package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func wrapCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "wrap [flags] CLIENT [ARGUMENTS]",
		Short: "run one agent through a temporary proxy",
		Long: `Starts a proxy on a free port of this machine, runs CLIENT with ARGUMENTS through it, and ends
when the client does. Flags for pleat come before CLIENT. CLIENT is claude, codex, opencode, pi,
gemini, qwen, goose, aider, crush, copilot, or any other program that reads ANTHROPIC_BASE_URL,
OPENAI_BASE_URL or GOOGLE_GEMINI_BASE_URL. It uses its own keys and logins. The proxy forwards
to where these variables point, unless --upstream-anthropic, --upstream-openai or
--upstream-gemini says otherwise. At the end it says what was sent and folded. The exit code is
the client's. "pleat setup" lists all agents, also those that cannot be wrapped, and why.`,
		Example: `pleat wrap claude
pleat wrap claude -p 'Fix the build.'
pleat wrap --window 100k codex exec 'Fix the build.'
pleat wrap python agent.py`,
	}
	fs := c.Flags()
	f := &proxyFlags{store: stores.Declare(fs)}
	f.declare(fs)
	fs.SetInterspersed(false)
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		if len(args) == 0 {
			return term.UsageError("wrap needs a program to run")
		}
		if len(args) > 1 && args[1] == "--" && fs.ArgsLenAtDash() < 0 { // pleat wrap CLIENT -- ARGUMENTS says the same
			args = slices.Delete(args, 1, 2)
		}
		c, err := clients.Wrapped(args[0], p.Getenv)
		if err != nil {
			return err
		}
		if _, err := exec.LookPath(args[0]); errors.Is(err, exec.ErrNotFound) { // before anything is made for it
			return fmt.Errorf("run %s: %w%s: install it, or give its path", args[0], exec.ErrNotFound,
				term.DidYouMean("", args[0], clients.Names()))
		} else if err != nil {
			return fmt.Errorf("run %s: %w", args[0], err)
		}
		// It forwards to where the client would have sent its requests by itself, unless a setting says otherwise. Its
		// keys are for that server only.
		for provider, base := range c.Bases(p.Getenv) {
			if upstream := fs.Lookup("upstream-" + provider); base != "" && !upstream.Changed {
				if err := upstream.Value.Set(base); err != nil {
					return err
				}
			}
		}
		return f.wrap(ctx, p, c, args)
	})
	return c
}

// exitError is the exit code of the client, which becomes pleat's own.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

func (f *proxyFlags) wrap(ctx context.Context, p *term.Console, c clients.Client, args []string) (err error) {
	// Signals are for the client. They are caught, not ignored, because the client would
	// inherit ignored signals.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	ctx = context.WithoutCancel(ctx)
	log := slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	front, l, end, err := f.start(ctx, p, log, "", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: front, ReadHeaderTimeout: 20 * time.Second,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
	}
	go func() { _ = server.Serve(l) }() // ends when it is closed below
	defer func() { err = errors.Join(err, server.Close(), end()) }()
	err = runClient(ctx, p, c, "http://"+l.Addr().String(), args, signals)
	p.Note("pleat: %s\n", cmp.Or(front.Tally.Closing(),
		args[0]+" sent nothing through the proxy (does a setting of its own name another server?)"))
	return err
}

// runClient runs a program through the proxy at base, and passes on the signals that a terminal
// does not send to it anyway.
func runClient(
	ctx context.Context, p *term.Console, c clients.Client, base string, args []string, signals <-chan os.Signal,
) error {
	name := args[0]
	args, env, done, err := c.Through(base, args[1:], p.Getenv)
	if err != nil {
		return err
	}
	defer done()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, p.Stdout, p.Stderr
	cmd.Env = append(stores.ChildEnv(), env...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	return await(cmd, name, signals)
}

func await(cmd *exec.Cmd, name string, signals <-chan os.Signal) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			if sig != os.Interrupt {
				_ = cmd.Process.Signal(sig) // it may have ended meanwhile
			}
		case err := <-ended:
			if e, ok := errors.AsType[*exec.ExitError](err); ok {
				return exitError{exitCode(e)}
			}
			if err != nil {
				return fmt.Errorf("run %s: %w", name, err)
			}
			return nil
		}
	}
}

// exitCode is the exit code of a program that failed. As in shells, it is 128 plus the
// signal's number for a program that a signal killed.
func exitCode(e *exec.ExitError) int {
	if s, ok := e.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return max(e.ExitCode(), 1)
}
