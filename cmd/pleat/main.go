// Pleat keeps LLM agents inside their context window. Run "pleat help" for its commands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// program is the outside world as the commands see it.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// command is one subcommand. Each lives in a file of its own.
type command struct {
	name    string
	args    string // for the usage line
	summary string
	help    string

	// examples are command lines, each below a "# comment"; shown last in the help.
	examples string
	// flags declares the command's flags and returns what runs it once they are read.
	// Help, completion and the man page are made from the same declarations. A command
	// without flags has run instead.
	flags func(fs *flag.FlagSet) runFunc
	run   runFunc
}

// commands lists the subcommands in the order that help shows them.
func commands() []command {
	return []command{
		runCommand, proxyCommand, wrapCommand,
		showCommand, planCommand, compactCommand, ledgerCommand, searchCommand, diffCommand,
		sessionsCommand, policiesCommand, pricesCommand,
		unfoldCommand, storedCommand, exportCommand, importCommand, verifyCommand, storeCommand, gcCommand, forgetCommand,
		benchCommand,
		configCommand(), completionCommand(), manCommand(), versionCommand,
	}
}

// usageError is a mistake on the command line: exit code 2 and a pointer to help.
type usageError struct{ msg string }

func (e usageError) Error() string { return e.msg }

// run executes one command line and returns the exit code: 0 done, 1 could not do it,
// 2 did not understand it.
func (p *program) run(ctx context.Context, args []string) int {
	err := p.dispatch(ctx, args)
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[exitError](err); ok {
		return e.code
	}
	fmt.Fprintln(p.stderr, "pleat:", err)
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintln(p.stderr, `Run "pleat help" for usage.`)
		return 2
	}
	return 1
}

func (p *program) dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		p.usage(p.stderr)
		return usageError{"no command given"}
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		return p.help(rest)
	case "-version", "--version":
		name = "version"
	}
	c, ok := find(name)
	if !ok {
		return usageError{fmt.Sprintf("unknown command %q", name)}
	}
	for _, a := range rest {
		if a == "--" {
			break
		}
		if a == "-h" || a == "-help" || a == "--help" {
			return p.help([]string{name})
		}
	}
	return c.invoke(ctx, p, rest)
}

func find(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

func (p *program) help(args []string) error {
	if len(args) == 0 {
		p.usage(p.stdout)
		return nil
	}
	c, ok := find(args[0])
	if !ok {
		return usageError{fmt.Sprintf("unknown command %q", args[0])}
	}
	usage := c.name
	if c.args != "" {
		usage += " " + c.args
	}
	fmt.Fprintf(p.stdout, "Usage: pleat %s\n\n%s\n", usage, c.help)
	if flags := c.flagHelp(); flags != "" {
		fmt.Fprintf(p.stdout, "\nFlags:\n%s", flags)
	}
	if c.examples != "" {
		fmt.Fprintf(p.stdout, "\nExamples:\n%s\n", indentBy("  ", c.examples))
	}
	return nil
}

func (p *program) usage(w io.Writer) {
	fmt.Fprint(w, `pleat keeps an LLM agent inside its context window and never loses a byte of what it
folds away.

Usage: pleat COMMAND [ARGUMENTS]

Commands:
`)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
	fmt.Fprintf(w, "  %-10s %s\n", "help", "show this, or the help of a command: pleat help COMMAND")
}
