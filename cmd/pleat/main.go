// Pleat keeps LLM agents inside their context window. Run "pleat help" for its commands.
//
// A command is one file and one line. To add one, copy a short file such as policies.go,
// rename its command variable, and add that variable to the list in [commands]. Help,
// completion, the manual page, environment variables and pleat.toml follow from the flags
// that the command declares. Commands that read a session file or the store find what
// they share in pipeline.go.
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

// program is what commands see of the outside world. Tests give them another.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// command is one subcommand.
type command struct {
	name     string
	args     string    // for the usage line
	takes    arguments // how many of them; zero: the command checks them itself
	summary  string
	help     string
	examples string // command lines, each below a "# comment"; help shows them last

	// flags declares the command's flags and returns the function that runs it after they
	// have been read. A command without flags has run instead.
	flags func(fs *flag.FlagSet) runFunc
	run   runFunc
}

// arguments says how many arguments a command takes, in numbers and in words.
type arguments struct {
	least, most int
	words       string
}

var noArguments = arguments{words: "no arguments"}

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

// usageError is a mistake on the command line. The exit code is 2, and a line points to help.
type usageError struct{ msg string }

func (e usageError) Error() string { return e.msg }

// run executes one command line and returns the exit code: 0 if it was done, 1 if that
// failed, 2 if the command line was not understood. For wrap, it is the client's own exit
// code once the client has run.
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
